"""kortex_api 2.6 as far as it is used: its names, types, units and ways to fail; none of its code.

It speaks over TCP, in a format of its own, to the arm of `support.loopback_arm`, so that what a
connection can do to a client happens: it breaks, it is late, it outlives the process that opened
it. Importing this module fills in all the modules that users of the vendor's package import.
"""

from __future__ import annotations

import concurrent.futures
import itertools
import json
import socket
import sys
import threading
from types import ModuleType, SimpleNamespace

ACTION_END, ACTION_ABORT, ACTION_PREPROCESS_ABORT = 1, 2, 6
JOINT_CONSTRAINT_DURATION = 1
CONNECT_TIMEOUT_S = 5.0


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


class TCPTransport:
    def __init__(self):
        self.received = None
        self._socket = None

    def connect(self, ip, port):
        self._socket = socket.create_connection((ip, port), timeout=CONNECT_TIMEOUT_S)
        self._socket.settimeout(None)
        threading.Thread(target=self._receive, args=(self._socket,), daemon=True).start()

    def send(self, line):
        self._socket.sendall(line)

    def disconnect(self):
        """As the vendor's: raises Errno 107 where the other end has gone."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        finally:
            self._socket.close()

    def _receive(self, connection):
        try:
            for line in connection.makefile("rb"):
                self.received(json.loads(line))
        except (OSError, ValueError):
            return


class RouterClient:
    """Matches answers to calls, and hands notifications on."""

    def __init__(self, transport, error_callback):
        self.listeners = {}
        self._transport = transport
        self._numbers = itertools.count(1)
        self._pending = {}
        self._lock = threading.Lock()
        transport.received = self._take

    def call(self, name, arguments, options):
        assert options.timeout_ms <= 10_000
        number, future = next(self._numbers), concurrent.futures.Future()
        self._pending[number] = future
        with self._lock:
            self._transport.send(json.dumps([number, name, arguments]).encode() + b"\n")
        try:
            answer = future.result(options.timeout_ms / 1000)
        finally:
            self._pending.pop(number, None)
        if isinstance(answer, dict) and "error" in answer:
            raise KServerException(*answer["error"])
        return answer

    def _take(self, message):
        number, answer = message
        if number == 0:
            event = SimpleNamespace(action_event=answer[0], abort_details=answer[1])
            for listener in list(self.listeners.values()):
                listener(event)
        elif (future := self._pending.get(number)) is not None:
            future.set_result(answer)


DEFAULT = RouterClientSendOptions()


class SessionManager:
    """Sends keep-alives from a thread of its own, as the vendor's."""

    def __init__(self, router):
        self._router = router
        self._ended = threading.Event()

    def CreateSession(self, info, deviceId=0, options=DEFAULT):  # noqa: N802, N803
        self._router.call("CreateSession", vars(info), options)
        interval_s = 0.4 * info.connection_inactivity_timeout / 1000
        threading.Thread(target=self._keep_alive, args=(interval_s,), daemon=True).start()

    def CloseSession(self, deviceId=0, options=DEFAULT):  # noqa: N802, N803
        self._ended.set()
        self._router.call("CloseSession", None, options)

    def _keep_alive(self, interval_s):
        while not self._ended.wait(interval_s):
            try:
                self._router.call("KeepAlive", None, DEFAULT)
            except (OSError, KException, concurrent.futures.TimeoutError):
                continue


class BaseClient:
    def __init__(self, router):
        self._router = router

    def SetServoingMode(self, mode, deviceId=0, options=DEFAULT):  # noqa: N802, N803
        self._router.call("SetServoingMode", mode.servoing_mode, options)

    def SendJointSpeedsCommand(self, message, deviceId=0, options=DEFAULT):  # noqa: N802, N803
        assert [joint.joint_identifier for joint in message.joint_speeds] == list(range(6))
        speeds = [joint.value for joint in message.joint_speeds]
        self._router.call("SendJointSpeedsCommand", speeds, options)

    def OnNotificationActionTopic(self, callback, notification, deviceId=0, options=DEFAULT):  # noqa: N802, N803
        assert isinstance(notification, NotificationOptions)
        handle = object()
        self._router.call("OnNotificationActionTopic", None, options)
        self._router.listeners[handle] = callback
        return handle

    def Unsubscribe(self, handle, deviceId=0, options=DEFAULT):  # noqa: N802, N803
        self._router.listeners.pop(handle, None)
        self._router.call("Unsubscribe", None, options)

    def ExecuteAction(self, action, deviceId=0, options=DEFAULT):  # noqa: N802, N803
        assert self._router.listeners, "a short motion would end before anybody listens"
        goal = action.reach_joint_angles
        joints = goal.joint_angles.joint_angles
        assert [joint.joint_identifier for joint in joints] == list(range(6))
        assert all(0.0 <= joint.value < 360.0 for joint in joints)
        assert goal.constraint.type == JOINT_CONSTRAINT_DURATION
        angles = [joint.value for joint in joints]
        self._router.call("ExecuteAction", [angles, goal.constraint.value], options)

    def SendGripperCommand(self, message, deviceId=0, options=DEFAULT):  # noqa: N802, N803
        (finger,) = message.gripper.finger
        self._router.call("SendGripperCommand", finger.value, options)

    def Stop(self, deviceId=0, options=DEFAULT):  # noqa: N802, N803
        self._router.call("Stop", None, options)

    def ClearFaults(self, deviceId=0, options=DEFAULT):  # noqa: N802, N803
        self._router.call("ClearFaults", None, options)


class BaseCyclicClient:
    def __init__(self, router):
        self._router = router

    def RefreshFeedback(self, deviceId=0, options=DEFAULT):  # noqa: N802, N803
        answer = self._router.call("RefreshFeedback", None, options)
        actuators = [
            SimpleNamespace(
                position=position,
                velocity=velocity,
                torque=torque,
                fault_bank_a=0,
                fault_bank_b=0,
            )
            for position, velocity, torque in answer["actuators"]
        ]
        motors = [SimpleNamespace(position=position) for position in answer["gripper"]]
        return SimpleNamespace(
            actuators=actuators,
            base=SimpleNamespace(fault_bank_a=answer["fault"], fault_bank_b=0, active_state=1),
            interconnect=SimpleNamespace(gripper_feedback=SimpleNamespace(motor=motors)),
        )


def _fill_in() -> None:
    stubs, messages = f"{__name__}.autogen.client_stubs", f"{__name__}.autogen.messages"
    contents = {
        f"{stubs}.BaseClientRpc": (BaseClient,),
        f"{stubs}.BaseCyclicClientRpc": (BaseCyclicClient,),
        f"{messages}.Base_pb2": (
            Action,
            GripperCommand,
            JointSpeeds,
            NotificationOptions,
            ServoingModeInformation,
        ),
        f"{messages}.Session_pb2": (CreateSessionInfo,),
        f"{__name__}.RouterClient": (RouterClient, RouterClientSendOptions),
        f"{__name__}.SessionManager": (SessionManager,),
        f"{__name__}.TCPTransport": (TCPTransport,),
        f"{__name__}.Exceptions.KException": (KException,),
    }
    for path, kinds in contents.items():
        parts = path.split(".")
        for length in range(2, len(parts) + 1):
            parent = ".".join(parts[:length])
            sys.modules.setdefault(parent, ModuleType(parent))
        vars(sys.modules[path]).update({kind.__name__: kind for kind in kinds})
    vars(sys.modules[f"{messages}.Base_pb2"]).update(
        ACTION_ABORT=ACTION_ABORT,
        ACTION_END=ACTION_END,
        ACTION_PREPROCESS_ABORT=ACTION_PREPROCESS_ABORT,
        JOINT_CONSTRAINT_DURATION=JOINT_CONSTRAINT_DURATION,
        SINGLE_LEVEL_SERVOING=2,
        GRIPPER_POSITION=3,
    )


_fill_in()
