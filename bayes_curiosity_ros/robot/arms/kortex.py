"""A Kinova Gen3 class arm with six joints, over the vendor's Kortex API.

The Jaco gen 2 of the paper does not speak Kortex: it has the `trajectory` arm.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayes_curiosity_ros.configuration.settings import require_positive
from bayes_curiosity_ros.errors import ConfigError, unknown_name
from bayes_curiosity_ros.robot.arms.arm import ARMS, ArmError, ArmInputs, ArmState
from bayes_curiosity_ros.robot.arms.kortex_calls import KortexCalls, load_api
from bayes_curiosity_ros.robot.arms.kortex_reach import ReachAction
from bayes_curiosity_ros.robot.arms.real import HOMED_RAD, HOMING_SHARE, RealArm
from bayes_curiosity_ros.robot.config import RobotConfig

PASSWORD_VARIABLE = "KORTEX_PASSWORD"
SESSION_TIMEOUT_MS = 10_000
CONNECTION_TIMEOUT_MS = 2_000
MODES = ("joint_speeds", "reach_angles")
# The way home is checked as a straight line in joint space; the arm's own trajectory keeps to
# it the better the shorter it is.
HOME_PIECE_RAD = 0.2


@dataclass(frozen=True)
class KortexConfig:
    """How to reach the arm, and how hard it may push.

    Attributes:
        ip: network address of the arm.
        port: port of its TCP interface.
        username: user of the arm's web application.
        password: better left empty: then the environment variable KORTEX_PASSWORD counts.
        mode: joint_speeds renews speeds every control step, and moves smoothly. reach_angles
            sends a joint goal, and waits until the arm says that it is there: slower, and at
            rest between steps.
        max_torque_nm: largest torque of any joint; more stops the arm.
        call_timeout_s: longest wait for an answer of the arm.
        reach_timeout_s: how much later than due a motion may end in the mode reach_angles.
    """

    ip: str = ""
    port: int = 10_000
    username: str = "admin"
    password: str = ""
    mode: str = "joint_speeds"
    max_torque_nm: float = 25.0
    call_timeout_s: float = 0.5
    reach_timeout_s: float = 3.0

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise unknown_name("kortex.mode", self.mode, MODES)
        require_positive(self, "max_torque_nm", "call_timeout_s", "reach_timeout_s")

    def require_credentials(self) -> str:
        """The password, from the parameter or the environment."""
        password = self.password or os.environ.get(PASSWORD_VARIABLE, "")
        if not self.ip:
            raise ConfigError("kortex.ip is empty; give robot_ip:=…")
        if not password:
            raise ConfigError(f"no password: set {PASSWORD_VARIABLE} in the environment")
        return password


class KortexArm(RealArm):
    """Joint speeds persist, so `halt` must be called; a joint goal ends by itself.

    Args:
        robot: which arm on which table.
        config: how to reach it.
        max_speed_deg_s: largest speed of any joint.
    """

    def __init__(self, robot: RobotConfig, config: KortexConfig, max_speed_deg_s: float) -> None:
        super().__init__(robot)
        self.config = config
        self._max_speed_deg_s = max_speed_deg_s
        self._password = config.require_credentials()
        self._api = load_api()
        self._calls = KortexCalls(self._api, config.call_timeout_s)
        self._motion: ReachAction | None = None
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
        self._calls(self._session.CreateSession, info)
        self._robot_client, self._feedback_client = (
            api.base.BaseClient(router),
            api.cyclic.BaseCyclicClient(router),
        )
        mode = api.base_messages.ServoingModeInformation()
        mode.servoing_mode = api.base_messages.SINGLE_LEVEL_SERVOING
        self._calls(self._robot_client.SetServoingMode, mode)

    def close(self) -> None:
        if self._session is not None:
            with contextlib.suppress(ArmError):
                self._calls(self._session.CloseSession)
        if self._transport is not None:
            self._transport.disconnect()
        self._session = self._transport = self._robot_client = self._feedback_client = None

    def measure(self, timeout_s: float) -> ArmState:
        feedback = self._calls(self._feedback_client.RefreshFeedback)
        actuators = feedback.actuators[: len(self.joint_names)]
        self._check_faults(feedback.base, actuators)
        self._received_s = time.monotonic()
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
        if self.robot.arm.gripper is not None:
            self._send_gripper(gripper)
        if self.config.mode == "reach_angles":
            self._begin_reach(target, measured, self._dt)
        else:
            self._send_speeds(np.degrees(target - measured) / self._dt)

    def finish(self) -> None:
        motion, self._motion = self._motion, None
        if motion is None:
            super().finish()
            return
        try:
            motion.wait(self._interrupt, self.config.reach_timeout_s)
        except ArmError:
            self.halt()  # it may still be moving
            raise

    def home(self, timeout_s: float) -> ArmState:
        if self.config.mode != "reach_angles":
            return super().home(timeout_s)
        self._require_free()
        deadline = time.monotonic() + timeout_s
        while np.abs(away := self._way_home(timeout_s)).max() >= HOMED_RAD:
            if time.monotonic() > deadline:
                raise ArmError(f"not home after {timeout_s} s; {_largest(away)} rad are left")
            self._home_piece(away)
        self._commanded = None
        return self.state(timeout_s)

    def halt(self) -> None:
        if self._robot_client is not None:
            self._calls(self._robot_client.Stop)

    def clear_faults(self) -> None:
        self._calls(self._robot_client.ClearFaults)

    def _home_piece(self, away: np.ndarray) -> None:
        here = self._last
        target = here + away * min(1.0, HOME_PIECE_RAD / np.abs(away).max())
        blocked = self.filter.obstacles(here, target, self._finger_rad(self._gripper))
        if blocked:
            raise ArmError(f"the way home is blocked: {'; '.join(blocked)}")
        self._begin_reach(target, here, 0.0, HOMING_SHARE)
        self.finish()
        self._require_free()

    def _begin_reach(
        self, target: np.ndarray, measured: np.ndarray, least_s: float, share: float = 1.0
    ) -> None:
        """Begin a motion in no less than `least_s`, at most at a share of the speed limit."""
        way = float(np.degrees(np.abs(target - measured)).max())
        duration_s = max(least_s, way / (share * self._max_speed_deg_s))
        self._motion = ReachAction(self._calls, self._robot_client, target, duration_s)

    def _send_speeds(self, speeds_deg_s: np.ndarray) -> None:
        limit = self._max_speed_deg_s
        message = self._api.base_messages.JointSpeeds()
        for index, speed in enumerate(np.clip(speeds_deg_s, -limit, limit)):
            joint = message.joint_speeds.add()
            joint.joint_identifier, joint.value, joint.duration = index, float(speed), 0
        self._calls(self._robot_client.SendJointSpeedsCommand, message)

    def _send_gripper(self, value: float) -> None:
        message = self._api.base_messages.GripperCommand()
        message.mode = self._api.base_messages.GRIPPER_POSITION
        finger = message.gripper.finger.add()
        finger.finger_identifier, finger.value = 1, float(value)
        self._calls(self._robot_client.SendGripperCommand, message)

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

    def _report(self, error: Any) -> None:
        """The transport lost its other end; the next call says so."""


@ARMS.register(
    "kortex", robot="gen3.yaml", needs=("robot_ip",), parameters={"robot_ip": "kortex.ip"}
)
def _make(inputs: ArmInputs) -> KortexArm:
    config = inputs.declare(KortexConfig(), "kortex.")
    return KortexArm(inputs.robot, config, inputs.max_speed_deg_s)


def _largest(angles: np.ndarray) -> str:
    return f"{np.abs(angles).max():.3f}"


def _signed(angles: np.ndarray) -> np.ndarray:
    """Kortex counts 0…360°; limits are given around zero."""
    return (angles + np.pi) % (2 * np.pi) - np.pi
