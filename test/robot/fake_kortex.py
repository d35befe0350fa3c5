"""kortex_api 2.6 as far as it is used: its names, types, units and ways to fail.

Installed into `sys.modules`; no code of the vendor's.
"""

from __future__ import annotations

import concurrent.futures
import sys
import threading
import time
from types import ModuleType, SimpleNamespace

PASSWORD = "right"


class Repeated(list):
    """A repeated field: `add()` makes an element."""

    def __init__(self, kind):
        super().__init__()
        self._kind = kind

    def add(self):
        self.append(self._kind())
        return self[-1]


class JointSpeed:
    joint_identifier = 0
    value = 0.0
    duration = 0


class JointSpeeds:
    def __init__(self):
        self.joint_speeds = Repeated(JointSpeed)


class ServoingModeInformation:
    servoing_mode = 0


class CreateSessionInfo:
    username = ""
    password = ""
    session_inactivity_timeout = 0
    connection_inactivity_timeout = 0


class GripperCommand:
    def __init__(self):
        self.mode = 0
        self.gripper = SimpleNamespace(finger=Repeated(SimpleNamespace))


class RouterClientSendOptions:
    timeout_ms = 10_000


class KException(Exception):  # noqa: N818
    pass


class KServerException(KException):
    def __init__(self, code: int, sub_code: int) -> None:
        super().__init__(f"server error {code}/{sub_code}")
        self._codes = code, sub_code

    def get_error_code(self):
        return self._codes[0]

    def get_error_sub_code(self):
        return self._codes[1]


class FakeRobot:
    """Six joints whose speeds persist until they are replaced or stopped; degrees."""

    def __init__(self, positions_deg):
        self.lock = threading.RLock()
        self.positions = list(positions_deg)
        self.speeds = [0.0] * 6
        self.torques = [0.0] * 6
        self.fault = 0
        self.emergency = self.silent = self.unreachable = False
        self.sessions = 0
        self.mode = None
        self.stops = 0
        self._last = time.monotonic()

    def advance(self):
        now = time.monotonic()
        elapsed, self._last = now - self._last, now
        self.positions = [
            (position + speed * elapsed) % 360.0
            for position, speed in zip(self.positions, self.speeds, strict=True)
        ]

    def answer(self, options):
        if self.silent:
            raise concurrent.futures.TimeoutError
        assert options.timeout_ms <= 1000


def install(monkeypatch, robot: FakeRobot) -> None:
    """Put the fake where `import kortex_api…` finds it."""

    class TCPTransport:
        def connect(self, ip, port):
            if robot.unreachable:
                raise OSError("No route to host")

        def disconnect(self):
            pass

    class RouterClient:
        def __init__(self, transport, error_callback):
            pass

    class SessionManager:
        def __init__(self, router):
            pass

        def CreateSession(self, info, deviceId=0, options=None):  # noqa: N802, N803
            robot.answer(options)
            if info.password != PASSWORD:
                raise KServerException(3, 15)
            robot.sessions += 1

        def CloseSession(self, deviceId=0, options=None):  # noqa: N802, N803
            robot.sessions -= 1

    class BaseClient:
        def __init__(self, router):
            pass

        def SetServoingMode(self, mode, deviceId=0, options=None):  # noqa: N802, N803
            robot.mode = mode.servoing_mode

        def SendJointSpeedsCommand(self, message, deviceId=0, options=None):  # noqa: N802, N803
            robot.answer(options)
            if robot.emergency:
                raise KServerException(3, 25)
            assert [joint.joint_identifier for joint in message.joint_speeds] == list(range(6))
            with robot.lock:
                robot.advance()
                robot.speeds = [joint.value for joint in message.joint_speeds]

        def Stop(self, deviceId=0, options=None):  # noqa: N802, N803
            with robot.lock:
                robot.advance()
                robot.speeds = [0.0] * 6
                robot.stops += 1

        def ClearFaults(self, deviceId=0, options=None):  # noqa: N802, N803
            robot.fault = 0

    class BaseCyclicClient:
        def __init__(self, router):
            pass

        def RefreshFeedback(self, deviceId=0, options=None):  # noqa: N802, N803
            robot.answer(options)
            with robot.lock:
                robot.advance()
                actuators = [
                    SimpleNamespace(
                        position=position,
                        velocity=speed,
                        torque=torque,
                        fault_bank_a=0,
                        fault_bank_b=0,
                    )
                    for position, speed, torque in zip(
                        robot.positions, robot.speeds, robot.torques, strict=True
                    )
                ]
            gripper = SimpleNamespace(gripper_feedback=SimpleNamespace(motor=[]))
            base = SimpleNamespace(fault_bank_a=robot.fault, fault_bank_b=0, active_state=1)
            return SimpleNamespace(actuators=actuators, base=base, interconnect=gripper)

    stubs, messages = "kortex_api.autogen.client_stubs", "kortex_api.autogen.messages"
    contents = {
        f"{stubs}.BaseClientRpc": {"BaseClient": BaseClient},
        f"{stubs}.BaseCyclicClientRpc": {"BaseCyclicClient": BaseCyclicClient},
        f"{messages}.Base_pb2": {
            "JointSpeeds": JointSpeeds,
            "ServoingModeInformation": ServoingModeInformation,
            "SINGLE_LEVEL_SERVOING": 2,
            "GripperCommand": GripperCommand,
            "GRIPPER_POSITION": 3,
        },
        f"{messages}.Session_pb2": {"CreateSessionInfo": CreateSessionInfo},
        "kortex_api.RouterClient": {
            "RouterClient": RouterClient,
            "RouterClientSendOptions": RouterClientSendOptions,
        },
        "kortex_api.SessionManager": {"SessionManager": SessionManager},
        "kortex_api.TCPTransport": {"TCPTransport": TCPTransport},
        "kortex_api.Exceptions.KException": {"KException": KException},
    }
    for path, names in contents.items():
        parts = path.split(".")
        for length in range(1, len(parts)):
            parent = ".".join(parts[:length])
            monkeypatch.setitem(sys.modules, parent, sys.modules.get(parent, ModuleType(parent)))
        module = ModuleType(path)
        vars(module).update(names)
        monkeypatch.setitem(sys.modules, path, module)
