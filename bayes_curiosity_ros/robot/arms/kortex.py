"""A Kinova Gen3 class arm with six joints, over the vendor's Kortex API.

The Jaco gen 2 of the paper does not speak Kortex: it has the `trajectory` arm.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayes_curiosity_ros.configuration.settings import require_positive, secret
from bayes_curiosity_ros.errors import unknown_name
from bayes_curiosity_ros.robot.arms.arm import ARMS, ArmError, ArmInputs, ArmState
from bayes_curiosity_ros.robot.arms.kortex_calls import (
    ConnectionLostError,
    KortexCalls,
    load_api,
)
from bayes_curiosity_ros.robot.arms.kortex_guard import Guard
from bayes_curiosity_ros.robot.arms.kortex_link import PASSWORD_VARIABLE, KortexLink, LinkConfig
from bayes_curiosity_ros.robot.arms.kortex_reach import ReachAction
from bayes_curiosity_ros.robot.arms.real import HOMED_RAD, HOMING_SHARE, RealArm
from bayes_curiosity_ros.robot.arms.standstill import Sample, wrapped
from bayes_curiosity_ros.robot.config import RobotConfig

MODES = ("joint_speeds", "reach_angles")
# The way home is checked as a straight line in joint space; the arm's own trajectory keeps to
# it the better the shorter it is.
HOME_PIECE_RAD = 0.2
# A connection on which nothing was answered for so long is opened anew, in [s].
DEAD_S = 1.0
# Longest wait for a connection and for what is said once, before anything moves, and for a
# connection over which to stop an arm, in [s].
OPEN_S, REOPEN_S = 2.0, 0.4


@dataclass(frozen=True)
class KortexConfig:
    """How to reach the arm, and how hard it may push.

    Attributes:
        ip: network address of the arm.
        port: port of its TCP interface.
        username: user of the arm's web application.
        password: better left empty: then the environment variable KORTEX_PASSWORD counts. From a
            parameter file only; it cannot be read back.
        mode: joint_speeds renews speeds every control step, and moves smoothly. reach_angles
            sends a joint goal, and waits until the arm says that it is there: slower, and at
            rest between steps.
        max_torque_nm: largest torque of any joint; more stops the arm.
        call_timeout_s: longest wait for an answer of the arm; after that it is stopped.
        inactivity_s: the arm itself stops when it has heard nothing of us for so long, in steps
            of a millisecond.
        guard: have a process beside this one that stops the arm when this one dies or hangs.
        gripper_closed: what the vendor's number, 0 open … 1 closed, is when the fingers are where
            the robot file calls them closed; 0.425 for gen3_robotiq.yaml.
        reach_timeout_s: how much later than due a motion may end in the mode reach_angles.
    """

    ip: str = ""
    port: int = 10_000
    username: str = "admin"
    password: str = secret()
    mode: str = "joint_speeds"
    max_torque_nm: float = 25.0
    call_timeout_s: float = 0.15
    inactivity_s: float = 0.25
    guard: bool = True
    gripper_closed: float = 1.0
    reach_timeout_s: float = 3.0

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise unknown_name("kortex.mode", self.mode, MODES)
        require_positive(
            self, "max_torque_nm", "call_timeout_s", "gripper_closed", "reach_timeout_s"
        )

    def link(self) -> LinkConfig:
        """Where the arm is.

        Raises:
            ConfigError: no address or no password.
        """
        return LinkConfig.checked(
            self.ip, self.port, self.username, self.password, self.inactivity_s
        )


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
        self._where = config.link()
        self._api = load_api()
        self._vendor = KortexCalls(self._api, config.call_timeout_s)
        self._motion: ReachAction | None = None
        self._link: KortexLink | None = None
        self._guard = Guard(self._where) if config.guard else None
        self._answered_s = 0.0
        self._linking = threading.Lock()

    def open(self, timeout_s: float) -> None:
        self._open_link(OPEN_S)
        mode = self._api.base_messages.ServoingModeInformation()
        mode.servoing_mode = self._api.base_messages.SINGLE_LEVEL_SERVOING
        self._vendor(self._client.SetServoingMode, mode, timeout_s=OPEN_S)
        self._require_known_hand()
        if self._guard is not None:
            self._guard.start()

    def close(self) -> None:
        if self._guard is not None:
            self._guard.end()
        self._close_link()

    def keep_alive(self) -> None:
        if self._guard is not None:
            with contextlib.suppress(ArmError):  # `measure` tells of it
                self._guard.beat()

    def measure(self, timeout_s: float) -> ArmState:
        self._beat()
        feedback = self._feedback()
        actuators = feedback.actuators[: len(self.joint_names)]
        self._check_faults(feedback.base, actuators)
        self._received_s = time.monotonic()
        motors = feedback.interconnect.gripper_feedback.motor
        return ArmState(
            stamp_s=time.time(),
            joints=_angles(actuators),
            velocities=np.radians([actuator.velocity for actuator in actuators]),
            fingers=np.zeros(0),
            gripper=self._share(motors[0].position) if len(motors) else 0.0,
            contacts=frozenset(),
        )

    def sample(self) -> Sample:
        asked_s = time.monotonic()
        actuators = self._feedback().actuators[: len(self.joint_names)]
        return Sample(asked_s, time.monotonic(), _angles(actuators))

    def command(self, target: np.ndarray, measured: np.ndarray, gripper: float) -> None:
        self._beat(moves=True)
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
        """Stop; over a new connection where the old one is broken."""
        self._open_link(REOPEN_S)
        self._call(self._client.Stop)
        if self._guard is not None:
            with contextlib.suppress(ArmError):
                self._guard.beat(moves=False)

    def clear_faults(self) -> None:
        self._call(self._client.ClearFaults)
        if self._guard is not None:
            self._guard.start()

    def _share(self, percent: float) -> float:
        """How closed the fingers are as the robot file counts it, 0 … 1."""
        return min(percent / 100.0 / self.config.gripper_closed, 1.0)

    def _require_known_hand(self) -> None:
        """A hand that the robot file does not have would be driven into the table."""
        mounted = len(self._feedback().interconnect.gripper_feedback.motor)
        if mounted and self.robot.arm.gripper is None:
            raise ArmError(
                "a gripper is mounted, but the robot file has none: choose one that does "
                "(robot:=gen3_robotiq.yaml), or take the gripper off"
            )

    @property
    def _client(self) -> Any:
        """The vendor's BaseClient."""
        if self._link is None:
            raise ConnectionLostError("the connection to the arm is broken")
        return self._link.base

    def _open_link(self, timeout_s: float) -> None:
        """Connect, unless there is a connection."""
        with self._linking:
            if self._link is None:
                self._link = KortexLink(self._api, self._vendor, self._where, timeout_s)
                self._answered_s = time.monotonic()

    def _close_link(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def _call(self, stub: Callable[..., Any], *arguments: Any) -> Any:
        """Call the arm; a connection that turns out to be broken is closed."""
        try:
            answer = self._vendor(stub, *arguments)
        except ConnectionLostError:
            self._close_link()
            raise
        except ArmError:
            if time.monotonic() - self._answered_s > DEAD_S:
                self._close_link()
            raise
        self._answered_s = time.monotonic()
        return answer

    def _feedback(self) -> Any:
        if self._link is None:
            raise ConnectionLostError("the connection to the arm is broken")
        return self._call(self._link.cyclic.RefreshFeedback)

    def _beat(self, moves: bool | None = None) -> None:
        if self._guard is not None:
            self._guard.beat(moves)

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
        self._beat(moves=True)
        self._motion = ReachAction(self._vendor, self._client, target, duration_s)

    def _send_speeds(self, speeds_deg_s: np.ndarray) -> None:
        limit = self._max_speed_deg_s
        message = self._api.base_messages.JointSpeeds()
        for index, speed in enumerate(np.clip(speeds_deg_s, -limit, limit)):
            joint = message.joint_speeds.add()
            joint.joint_identifier, joint.value, joint.duration = index, float(speed), 0
        self._call(self._client.SendJointSpeedsCommand, message)

    def _send_gripper(self, value: float) -> None:
        message = self._api.base_messages.GripperCommand()
        message.mode = self._api.base_messages.GRIPPER_POSITION
        finger = message.gripper.finger.add()
        finger.finger_identifier, finger.value = 1, value * self.config.gripper_closed
        self._call(self._client.SendGripperCommand, message)

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


@ARMS.register(
    "kortex",
    robot="gen3.yaml",
    needs=("robot_ip",),
    parameters={"robot_ip": "kortex.ip"},
    secrets=(PASSWORD_VARIABLE,),
)
def _make(inputs: ArmInputs) -> KortexArm:
    config = inputs.declare(KortexConfig(), "kortex.")
    return KortexArm(inputs.robot, config, inputs.max_speed_deg_s)


def _largest(angles: np.ndarray) -> str:
    return f"{np.abs(angles).max():.3f}"


def _angles(actuators: Any) -> np.ndarray:
    """Joint angles around zero, where limits are given; Kortex counts 0…360°."""
    return wrapped(np.radians([actuator.position for actuator in actuators]))
