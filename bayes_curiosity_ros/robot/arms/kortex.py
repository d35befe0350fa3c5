"""A Kinova Gen3 class arm with six joints, over the vendor's Kortex API.

The Jaco gen 2 of the paper does not speak Kortex: it has the `trajectory` arm.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import importlib
import math
import os
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.arms.arm import ArmError, ArmState
from bayes_curiosity_ros.robot.arms.real import RealArm
from bayes_curiosity_ros.robot.config import RobotConfig

PASSWORD_VARIABLE = "KORTEX_PASSWORD"
INSTALL = (
    "kortex_api is not installed. It is Kinova's wheel, not on PyPI: get kortex_api 2.6 from "
    "Kinova, then `pip install --no-deps kortex_api-2.6*.whl && pip install deprecated protobuf`"
)
MODULES = {
    "base": "kortex_api.autogen.client_stubs.BaseClientRpc",
    "cyclic": "kortex_api.autogen.client_stubs.BaseCyclicClientRpc",
    "base_messages": "kortex_api.autogen.messages.Base_pb2",
    "session_messages": "kortex_api.autogen.messages.Session_pb2",
    "router": "kortex_api.RouterClient",
    "sessions": "kortex_api.SessionManager",
    "transport": "kortex_api.TCPTransport",
    "exceptions": "kortex_api.Exceptions.KException",
}
SUB_CODES = {
    15: "the password is wrong",
    21: "the robot is not ready",
    22: "the robot is in fault",
    25: "the emergency stop is pressed",
    65: "a joint position limit forbids it",
    75: "wrong servoing mode",
    130: "another session is in control",
}
SESSION_TIMEOUT_MS = 10_000
CONNECTION_TIMEOUT_MS = 2_000


@dataclass(frozen=True)
class KortexConfig:
    """How to reach the arm, and how hard it may push.

    Attributes:
        ip: address of the arm.
        port: of its TCP interface.
        username: of the arm's web application.
        password: better left empty: then the environment variable KORTEX_PASSWORD counts.
        max_speed_deg_s: of any joint.
        max_torque_nm: of any joint; more stops the arm.
        call_timeout_s: longest wait for an answer of the arm.
    """

    ip: str = ""
    port: int = 10_000
    username: str = "admin"
    password: str = ""
    max_speed_deg_s: float = 10.0
    max_torque_nm: float = 25.0
    call_timeout_s: float = 0.5

    def __post_init__(self) -> None:
        for name in ("max_speed_deg_s", "max_torque_nm", "call_timeout_s"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ConfigError(f"kortex.{name} = {value}; it must be above 0")

    def require_credentials(self) -> str:
        """The password, from the parameter or the environment."""
        password = self.password or os.environ.get(PASSWORD_VARIABLE, "")
        if not self.ip:
            raise ConfigError("kortex.ip is empty; give robot_ip:=…")
        if not password:
            raise ConfigError(f"no password: set {PASSWORD_VARIABLE} in the environment")
        return password


def load_api() -> SimpleNamespace:
    """The vendor's modules.

    Raises:
        ArmError: not installed; the message says how to install them.
    """
    # The generated code is older than protobuf's C++ implementation accepts.
    os.environ.setdefault("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "python")
    try:
        modules = {name: importlib.import_module(path) for name, path in MODULES.items()}
    except ImportError as error:
        raise ArmError(f"{INSTALL} ({error})") from error
    return SimpleNamespace(**modules)


class KortexArm(RealArm):
    """Joint speeds, renewed every control step; they persist, so `halt` must be called."""

    def __init__(self, robot: RobotConfig, config: KortexConfig) -> None:
        super().__init__(robot)
        self.config = config
        self._password = config.require_credentials()
        self._api = load_api()
        self._transport: Any = None
        self._session: Any = None
        self._robot_client: Any = None
        self._feedback_client: Any = None

    def open(self, timeout_s: float) -> None:
        api, config = self._api, self.config
        self._transport = api.transport.TCPTransport()
        router = api.router.RouterClient(self._transport, self._report)
        try:
            self._transport.connect(config.ip, config.port)
        except OSError as error:
            raise ArmError(
                f"no connection to {config.ip}:{config.port} ({error}); is the arm on, and this "
                "computer in its network?"
            ) from error
        info = api.session_messages.CreateSessionInfo()
        info.username, info.password = config.username, self._password
        info.session_inactivity_timeout = SESSION_TIMEOUT_MS
        info.connection_inactivity_timeout = CONNECTION_TIMEOUT_MS
        self._session = api.sessions.SessionManager(router)
        self._call(self._session.CreateSession, info)
        self._robot_client, self._feedback_client = (
            api.base.BaseClient(router),
            api.cyclic.BaseCyclicClient(router),
        )
        mode = api.base_messages.ServoingModeInformation()
        mode.servoing_mode = api.base_messages.SINGLE_LEVEL_SERVOING
        self._call(self._robot_client.SetServoingMode, mode)

    def close(self) -> None:
        if self._session is not None:
            with contextlib.suppress(ArmError):
                self._call(self._session.CloseSession)
        if self._transport is not None:
            self._transport.disconnect()
        self._session = self._transport = self._robot_client = self._feedback_client = None

    def measure(self, timeout_s: float) -> ArmState:
        feedback = self._call(self._feedback_client.RefreshFeedback)
        actuators = feedback.actuators[: len(self.joint_names)]
        self._check_faults(feedback.base, actuators)
        motors = feedback.interconnect.gripper_feedback.motor
        return ArmState(
            stamp_s=time.time(),
            joints=_signed(np.radians([actuator.position for actuator in actuators])),
            velocities=np.radians([actuator.velocity for actuator in actuators]),
            fingers=np.zeros(0),
            gripper=motors[0].position / 100.0 if len(motors) else 0.0,
            contacts=frozenset(),
        )

    def command(self, target: np.ndarray, measured: np.ndarray, gripper: float) -> None:
        limit = self.config.max_speed_deg_s
        speeds = np.clip(np.degrees(target - measured) / self._dt, -limit, limit)
        message = self._api.base_messages.JointSpeeds()
        for index, speed in enumerate(speeds):
            joint = message.joint_speeds.add()
            joint.joint_identifier, joint.value, joint.duration = index, float(speed), 0
        self._call(self._robot_client.SendJointSpeedsCommand, message)
        if self.robot.arm.gripper is not None:
            self._send_gripper(gripper)

    def halt(self) -> None:
        if self._robot_client is not None:
            self._call(self._robot_client.Stop)

    def clear_faults(self) -> None:
        """On the operator's request only."""
        self._call(self._robot_client.ClearFaults)

    def _send_gripper(self, value: float) -> None:
        message = self._api.base_messages.GripperCommand()
        message.mode = self._api.base_messages.GRIPPER_POSITION
        finger = message.gripper.finger.add()
        finger.finger_identifier, finger.value = 1, float(value)
        self._call(self._robot_client.SendGripperCommand, message)

    def _check_faults(self, base: Any, actuators: Any) -> None:
        banks = [(base.fault_bank_a, base.fault_bank_b)]
        banks += [(actuator.fault_bank_a, actuator.fault_bank_b) for actuator in actuators]
        for index, (first, second) in enumerate(banks):
            if first or second:
                where = "the base" if index == 0 else self.joint_names[index - 1]
                raise ArmError(f"fault in {where}: banks {first:#x}, {second:#x}")
        for name, actuator in zip(self.joint_names, actuators, strict=True):
            if abs(actuator.torque) > self.config.max_torque_nm:
                raise ArmError(
                    f"{name} has {actuator.torque:.1f} Nm, above {self.config.max_torque_nm}: "
                    "something is in the way"
                )

    def _call(self, stub: Any, *arguments: Any) -> Any:
        """One call of the arm, with a limit, its errors in words."""
        options = self._api.router.RouterClientSendOptions()
        options.timeout_ms = round(1000 * self.config.call_timeout_s)
        try:
            return stub(*arguments, options=options)
        except concurrent.futures.TimeoutError as error:
            raise ArmError(
                f"the arm did not answer within {self.config.call_timeout_s} s"
            ) from error
        except self._api.exceptions.KException as error:
            raise ArmError(_words(error)) from error

    def _report(self, error: Any) -> None:
        """The transport lost its other end; the next call says so."""


def _signed(angles: np.ndarray) -> np.ndarray:
    """Kortex counts 0…360°; limits are given around zero."""
    return (angles + np.pi) % (2 * np.pi) - np.pi


def _words(error: Any) -> str:
    code = getattr(error, "get_error_sub_code", lambda: None)()
    if code in SUB_CODES:
        return f"{SUB_CODES[code]} (Kortex sub-code {code})"
    return f"Kortex: {error}"
