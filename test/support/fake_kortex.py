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
ACTION_END, ACTION_ABORT, ACTION_PREPROCESS_ABORT = 1, 2, 6
JOINT_CONSTRAINT_DURATION = 1


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


class Action:
    def __init__(self):
        self.name = ""
        self.reach_joint_angles = SimpleNamespace(
            joint_angles=SimpleNamespace(joint_angles=Repeated(SimpleNamespace)),
            constraint=SimpleNamespace(type=0, value=0.0),
        )


class NotificationOptions:
    pass


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
        self.gripper_percent = 0.0
        self.gripper_commands = []
        self.listeners = {}
        self.goal = self.goal_timer = None
        self.durations = []
        self.under_way = threading.Event()
        self.abort_code, self.never_ends = 0, False
        self._last = time.monotonic()

    def advance(self):
        now = time.monotonic()
        elapsed, self._last = now - self._last, now
        self.positions = [
            (position + speed * elapsed) % 360.0
            for position, speed in zip(self.positions, self.speeds, strict=True)
        ]

    def reach(self, angles, duration_s):
        """Go there in a straight line, then say so; or abort, or never say anything."""
        ways = [
            (a - b + 180.0) % 360.0 - 180.0 for a, b in zip(angles, self.positions, strict=True)
        ]
        self.durations.append(duration_s)
        if self.abort_code:
            self.later(0.01, self.notify, ACTION_ABORT, self.abort_code)
            return
        self.goal, self.speeds = list(angles), [way / duration_s for way in ways]
        self.under_way.set()
        if not self.never_ends:
            self.later(duration_s, self.arrive)

    def later(self, delay_s, call, *arguments):
        """On another thread, as the API's receiver is."""
        self.goal_timer = threading.Timer(delay_s, call, arguments)
        self.goal_timer.start()

    def arrive(self):
        with self.lock:
            self.advance()
            self.positions, self.speeds, self.goal = self.goal, [0.0] * 6, None
        self.notify(ACTION_END, 0)

    def abandon(self):
        """`Stop` aborts a motion under way."""
        if self.goal is not None:
            if self.goal_timer is not None:
                self.goal_timer.cancel()
            self.goal = None
            self.later(0.0, self.notify, ACTION_ABORT, 0)

    def notify(self, event, details):
        for listener in list(self.listeners.values()):
            listener(SimpleNamespace(action_event=event, abort_details=details))

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

        # Takes its options by place, and none of the router's.
        def OnNotificationActionTopic(self, callback, notificationOptions, deviceId=0):  # noqa: N802, N803
            assert isinstance(notificationOptions, NotificationOptions)
            handle = object()
            robot.listeners[handle] = callback
            return handle

        def Unsubscribe(self, handle, deviceId=0, options=None):  # noqa: N802, N803
            del robot.listeners[handle]

        def ExecuteAction(self, action, deviceId=0, options=None):  # noqa: N802, N803
            robot.answer(options)
            if robot.emergency:
                raise KServerException(3, 25)
            assert robot.listeners, "a short motion would end before anybody listens"
            goal = action.reach_joint_angles
            joints = goal.joint_angles.joint_angles
            assert [joint.joint_identifier for joint in joints] == list(range(6))
            assert all(0.0 <= joint.value < 360.0 for joint in joints)
            assert goal.constraint.type == JOINT_CONSTRAINT_DURATION
            with robot.lock:
                robot.advance()
                robot.reach([joint.value for joint in joints], goal.constraint.value)

        def SendGripperCommand(self, message, deviceId=0, options=None):  # noqa: N802, N803
            (finger,) = message.gripper.finger
            robot.gripper_commands.append(finger.value)

        def Stop(self, deviceId=0, options=None):  # noqa: N802, N803
            with robot.lock:
                robot.advance()
                robot.speeds = [0.0] * 6
                robot.stops += 1
                robot.abandon()

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
            motor = SimpleNamespace(position=robot.gripper_percent)
            gripper = SimpleNamespace(gripper_feedback=SimpleNamespace(motor=[motor]))
            base = SimpleNamespace(fault_bank_a=robot.fault, fault_bank_b=0, active_state=1)
            return SimpleNamespace(actuators=actuators, base=base, interconnect=gripper)

    stubs, messages = "kortex_api.autogen.client_stubs", "kortex_api.autogen.messages"
    contents = {
        f"{stubs}.BaseClientRpc": {"BaseClient": BaseClient},
        f"{stubs}.BaseCyclicClientRpc": {"BaseCyclicClient": BaseCyclicClient},
        f"{messages}.Base_pb2": {
            "ACTION_ABORT": ACTION_ABORT,
            "ACTION_END": ACTION_END,
            "ACTION_PREPROCESS_ABORT": ACTION_PREPROCESS_ABORT,
            "Action": Action,
            "JOINT_CONSTRAINT_DURATION": JOINT_CONSTRAINT_DURATION,
            "JointSpeeds": JointSpeeds,
            "NotificationOptions": NotificationOptions,
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
