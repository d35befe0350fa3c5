"""What all real arms share: the safety filter, the latched stop, slow homing.

A driver says how to measure, how to command one step, and how to halt.
"""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from dataclasses import replace

import numpy as np

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.arms.arm import ArmError, ArmState, ArmStoppedError, Executed
from bayes_curiosity_ros.robot.arms.standstill import Sample, Standstill, wrapped
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.device import Device
from bayes_curiosity_ros.robot.safety import Change, Commanded, Decision, SafetyFilter

HOMED_RAD = 0.02
HOMING_SHARE = 0.5
# Joint angles that stay the same to the last bit while this much motion was commanded, and for so
# long, are no measurements.
FROZEN_RAD, FROZEN_S = 0.02, 0.15
SAMPLE_S = 0.5


class RealArm(Device):
    """An arm of metal. `stop` may come from any thread, in the middle of a motion.

    A command that the filter refuses because it would touch something moves nothing, and is
    reported as the contact that it would have been: the task ends as it does in simulation,
    the arm stays whole.
    """

    def __init__(self, robot: RobotConfig) -> None:
        if not robot.safety.collisions:
            raise ConfigError("safety.collisions = false; a real arm always checks")
        self.robot = robot
        self.filter = SafetyFilter(robot)
        self._dt = robot.world.control_step_s
        world = self.filter.checker.world
        self._max_delta = world.max_delta_rad
        self._turns_freely = np.isinf(world.upper_rad)
        self._last = np.array(robot.arm.ready_rad)
        self._gripper = 0.0
        self._commanded: Commanded | None = None
        self._connected = False
        self._stopped = ""
        self._interrupt = threading.Event()
        self._rest = Standstill()
        self._unseen_rad, self._seen_s = 0.0, time.monotonic()
        self._received_s = 0.0  # when `measure` got its newest state, in steady time

    @property
    def joint_names(self) -> tuple[str, ...]:
        return self.robot.arm.joints

    @property
    def state_topic(self) -> str:
        """None, unless a driver is heard on a topic."""
        return ""

    def connect(self, timeout_s: float) -> None:
        """Reach the arm; whatever was opened is closed again where that fails."""
        try:
            self.open(timeout_s)
            self._connected = True
            self._require_safe_start(self.state(timeout_s))
        except BaseException:
            self._connected = False
            self.close()
            raise

    def disconnect(self) -> None:
        if self._connected:
            self._connected = False
            try:
                self.halt()
            finally:
                self.close()

    def state(self, timeout_s: float) -> ArmState:
        self._require_connected()
        state = self.measure(timeout_s)
        # The shortest way round from where a continuous joint was.
        joints = np.where(
            self._turns_freely, self._last + wrapped(state.joints - self._last), state.joints
        )
        self._last, self._gripper = joints, state.gripper
        return replace(state, joints=joints)

    def move(self, deltas: np.ndarray, gripper: float, timeout_s: float) -> Executed:
        self._require_connected()
        self._require_free()
        asked_s = time.monotonic()
        before, known_s = self.state(timeout_s), self._received_s
        decision = self._decide(before, deltas, gripper)
        # Fingers that would touch something stay where they are, as the arm does.
        self._execute(decision, before.joints, before.gripper if decision.refused else gripper)
        after = self.state(timeout_s)
        if self._received_s != known_s:
            self._require_thawed(decision, before.joints, after.joints)
        elapsed_s = time.monotonic() - (known_s or asked_s)
        if too_fast := self.filter.overspeed(after.joints - before.joints, elapsed_s):
            raise ArmError(too_fast)
        return Executed(
            self.covered(before, after),
            decision.changes,
            decision.explanation,
            replace(after, contacts=after.contacts | _averted(decision.changes)),
        )

    def rehearse(self, deltas: np.ndarray, gripper: float, timeout_s: float) -> Executed:
        state = self.state(timeout_s)
        decision = self._decide(state, deltas, gripper)
        return Executed(
            np.zeros(len(self.joint_names)),
            decision.changes,
            decision.explanation,
            replace(state, contacts=state.contacts | _averted(decision.changes)),
        )

    def home(self, timeout_s: float) -> ArmState:
        deadline = time.monotonic() + timeout_s
        step = self._max_delta * HOMING_SHARE
        while time.monotonic() < deadline:
            away = self._way_home(timeout_s)
            if np.abs(away).max() < HOMED_RAD:
                self.halt()
                self._commanded = None
                return self.state(timeout_s)
            executed = self.move(np.clip(away, -step, step), 0.0, timeout_s)
            if executed.state.contacts:
                raise ArmError(f"the way home is blocked: {executed.explanation}")
        raise ArmError(f"not home after {timeout_s} s; {np.abs(away).max():.3f} rad are left")

    def stop(self, reason: str) -> None:
        if not self._stopped:
            self._rest.forget()
        self._stopped = reason or "no reason given"
        self._interrupt.set()
        self._commanded = None
        if self._connected:
            self.halt()

    def keep_alive(self) -> None:
        """Nothing, unless a driver reckons with our death."""

    def is_still(self) -> bool:
        self._require_connected()
        self._rest.add(self.sample())
        return self._rest.measured

    def release(self) -> None:
        self._stopped = ""
        self._interrupt.clear()

    def clear_faults(self) -> None:
        """Nothing to clear, unless a driver that keeps faults says how."""

    @abstractmethod
    def open(self, timeout_s: float) -> None:
        """Reach the driver; raise ArmError with what to check."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the driver, as far as it was reached; never raises."""

    @abstractmethod
    def measure(self, timeout_s: float) -> ArmState:
        """The newest state; raise ArmError where it is too old or the arm has a fault."""

    def sample(self) -> Sample:
        """Joint angles, and between which times they were measured; faults or not.

        Raises:
            ArmError: none came in time.
        """
        asked_s = time.monotonic()
        joints = self.measure(SAMPLE_S).joints
        return Sample(asked_s, time.monotonic(), joints)

    @abstractmethod
    def command(self, target: np.ndarray, measured: np.ndarray, gripper: float) -> None:
        """Begin to move to (J,) joint angles, to be there after one control step."""

    def finish(self) -> None:
        """Wait until the step is over, or the arm is stopped."""
        self._interrupt.wait(self._dt)

    def covered(self, before: ArmState, after: ArmState) -> np.ndarray:
        """(J,) by how much the joints moved in the step between two states, in [rad]."""
        return after.joints - before.joints

    @abstractmethod
    def halt(self) -> None:
        """Stand still now; from any thread."""

    def gripper_way(self, reported: float, asked: float) -> tuple[float, float]:
        """Between which ends, 0 open … 1 closed, the fingers can be during a step."""
        return reported, asked

    def _finger_rad(self, gripper: float) -> float | None:
        """Angle of the fingers, None without fingers."""
        fingers = self.robot.arm.gripper
        if fingers is None:
            return None
        return fingers.open_rad + fingers.travel_rad * min(max(gripper, 0.0), 1.0)

    def _way_home(self, timeout_s: float) -> np.ndarray:
        """(J,) angles that are left to the ready pose, the shortest way round."""
        away = np.array(self.robot.arm.ready_rad) - self.state(timeout_s).joints
        return np.where(self._turns_freely, wrapped(away), away)

    def _start_from(self, measured: np.ndarray, finger_rad: float | None) -> Commanded:
        """What the next change adds to: the last target, on a leash of half a step."""
        if self._commanded is None:
            return Commanded.at_rest(measured, finger_rad)
        leash = self._max_delta / 2
        position = np.clip(self._commanded.position, measured - leash, measured + leash)
        return Commanded(position, self._commanded.velocity, finger_rad)

    def _decide(self, state: ArmState, deltas: np.ndarray, gripper: float) -> Decision:
        first, last = self.gripper_way(state.gripper, gripper)
        base = self._start_from(state.joints, self._finger_rad(first))
        asked = np.asarray(deltas, dtype=float)
        wanted = base.position + asked if asked.shape == base.position.shape else asked
        return self.filter.permit(base, wanted, self._finger_rad(last))

    def _execute(self, decision: Decision, measured: np.ndarray, gripper: float) -> None:
        self._commanded = decision.commanded
        self._rest.forget()
        self.command(decision.commanded.position, measured, gripper)
        self.finish()
        if self._stopped:
            self.halt()  # a stop that came before the command was sent did not stop it
        self._require_free()

    def _require_safe_start(self, state: ArmState) -> None:
        first, last = self.gripper_way(state.gripper, state.gripper)
        start = Commanded.at_rest(state.joints, self._finger_rad(first))
        decision = self.filter.permit(start, state.joints, self._finger_rad(last))
        if decision.refused:
            raise ArmError(
                f"no start from here: {decision.explanation}. And is this the file of the arm "
                f"that is there? (robot:=…; now {self.robot.arm.urdf})"
            )

    def _require_thawed(self, decision: Decision, before: np.ndarray, after: np.ndarray) -> None:
        """Motion that was commanded must be seen."""
        now_s = time.monotonic()
        if not np.array_equal(before, after) or self._commanded is None:
            self._unseen_rad, self._seen_s = 0.0, now_s
            return
        if not self._unseen_rad:
            self._seen_s = now_s - self._dt
        self._unseen_rad += float(np.abs(decision.commanded.position - before).max())
        if self._unseen_rad > FROZEN_RAD and now_s - self._seen_s > FROZEN_S:
            unseen, self._unseen_rad = self._unseen_rad, 0.0
            raise ArmError(
                f"the joint states are frozen: not one has changed while {unseen:.3f} rad were "
                "commanded; does the driver still read its encoders?"
            )

    def _require_connected(self) -> None:
        if not self._connected:
            raise ArmError("the arm is not connected; activate the node first")

    def _require_free(self) -> None:
        if self._stopped:
            raise ArmStoppedError(
                f"the arm was stopped ({self._stopped}); call arm/release to go on"
            )


def _averted(changes: Change) -> frozenset[str]:
    """The contact that a refused command would have been."""
    averted = set()
    if changes & Change.COLLISION:
        averted.add("self")
    if changes & (Change.TABLE | Change.WORKSPACE):
        averted.add("scene")
    return frozenset(averted)
