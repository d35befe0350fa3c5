"""The arm in simulation, with the interface of a real one."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import compress

import numpy as np

from bayes_curiosity_ros.errors import InputError
from bayes_curiosity_ros.robot.arms.arm import (
    ARMS,
    ArmError,
    ArmInputs,
    ArmState,
    ArmStoppedError,
    Executed,
)
from bayes_curiosity_ros.robot.composition import CONTACT_CLASSES
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.decisions import Change, Commanded
from bayes_curiosity_ros.robot.device import Device
from bayes_curiosity_ros.robot.kinematic import make_stepper
from bayes_curiosity_ros.robot.safety import SafetyFilter
from bayes_curiosity_ros.robot.stepper import Stepper
from bayes_curiosity_ros.robot.world import build_world

HOMED_RAD = 0.01
UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


class SimulatedArm(Device):
    """One row of a stepper, moved step by step.

    With `robot.safety.collisions` every command passes the safety filter, as on a real arm.
    Without, only speed and joint limits hold, and a collision is an outcome: the arm then
    moves exactly as in the tasks of `tasks.arm`.

    Args:
        robot: the cell.
        stepper: a task's stepper, to share its rows; a new one for `robot` when None.
        start: the row at which the episode of a seed begins; when None, the ready pose with the
            object in the middle of the table.
    """

    def __init__(
        self,
        robot: RobotConfig,
        stepper: Stepper | None = None,
        start: Callable[[int], np.ndarray] | None = None,
    ) -> None:
        self.robot = robot
        self.stepper = stepper or make_stepper([build_world(robot)], threads=1)
        self._start = start or (lambda seed: self._ready())
        self.filter = SafetyFilter(robot) if robot.safety.collisions else None
        self._row: np.ndarray | None = None
        self._velocity = np.zeros(len(robot.arm.joints))
        self._steps = 0
        self._stopped = ""

    @property
    def joint_names(self) -> tuple[str, ...]:
        return self.robot.arm.joints

    @property
    def state_topic(self) -> str:
        return ""

    @property
    def row(self) -> np.ndarray:
        """The simulation's state; see `robot.rows`."""
        if self._row is None:
            raise ArmError("the simulated arm is not connected; call connect() first")
        return self._row

    def connect(self, timeout_s: float) -> None:
        self.place(self._ready())

    def disconnect(self) -> None:
        self._row = None

    def begin(self, seed: int) -> None:
        self.place(self._start(seed))

    def place(self, row: np.ndarray) -> None:
        """Begin an episode at this row: arm and object stand where it says."""
        self._row = row.copy()
        self._steps += 1  # a new place is a new time: no frame of the old one has this stamp
        self._velocity = np.zeros(len(self.joint_names))

    def state(self, timeout_s: float) -> ArmState:
        row, layout, world = self.row, self.stepper.layout, self.stepper.world
        rows, qpos = row[None], row[layout.qpos]
        axis = layout.object_axis_columns
        return ArmState(
            stamp_s=self._steps * self.robot.world.control_step_s,
            joints=layout.joints(rows)[0],
            # Simulated time stands still while the arm is stopped.
            velocities=row[layout.qvel][world.joint_dof] * (not self._stopped),
            fingers=qpos[world.gripper_qpos],
            gripper=self._gripper(qpos),
            contacts=frozenset(compress(CONTACT_CLASSES, row[layout.contacts].tolist())),
            object_position=layout.object_position(rows)[0],
            object_orientation=UPRIGHT if axis is None else row[axis],
        )

    def move(self, deltas: np.ndarray, gripper: float, timeout_s: float) -> Executed:
        if self._stopped:
            raise ArmStoppedError(f"the arm was stopped ({self._stopped}); release() it first")
        deltas = np.asarray(deltas, dtype=float)
        if not math.isfinite(gripper):
            raise InputError(f"gripper command {gripper}; must be between 0 and 1")
        before = self.stepper.layout.joints(self.row[None])[0]
        permitted, gripper, changes, explanation = self._permit(deltas, gripper)
        rows = self.stepper.advance(self.row[None], permitted[None], np.array([gripper]))
        self._row, self._steps = rows[0], self._steps + 1
        state = self.state(timeout_s)
        moved = state.joints - before
        if self.filter is not None and (too_fast := self.filter.overspeed(moved, 0.0)):
            raise ArmError(too_fast)
        return Executed(moved, changes, explanation, state)

    def rehearse(self, deltas: np.ndarray, gripper: float, timeout_s: float) -> Executed:
        velocity = self._velocity
        _, _, changes, explanation = self._permit(np.asarray(deltas, dtype=float), gripper)
        self._velocity = velocity
        nothing = np.zeros(len(self.joint_names))
        return Executed(nothing, changes, explanation, self.state(timeout_s))

    def home(self, timeout_s: float) -> ArmState:
        ready = np.array(self.robot.arm.ready_rad)
        for _ in range(int(timeout_s / self.robot.world.control_step_s)):
            away = ready - self.state(timeout_s).joints
            if np.abs(away).max() < HOMED_RAD:
                return self.state(timeout_s)
            # Half the permitted speed: homing is nothing to hurry.
            half = self.stepper.world.max_delta_rad / 2
            self.move(np.clip(away, -half, half), 0.0, timeout_s)
        raise ArmError(
            f"not home after {timeout_s} s: {np.abs(away).max():.3f} rad away, something blocks it"
        )

    def stop(self, reason: str) -> None:
        self._stopped = reason or "no reason given"
        self._velocity = np.zeros(len(self.joint_names))

    def keep_alive(self) -> None:
        """Nothing depends on it."""

    def is_still(self) -> bool:
        """Always: simulated time passes in `move` alone."""
        return True

    def release(self) -> None:
        self._stopped = ""

    def clear_faults(self) -> None:
        """Nothing to clear: a simulated driver has no faults."""

    def _ready(self) -> np.ndarray:
        """The ready pose, with the object in the middle of the table."""
        world = self.robot.world
        spot = [*world.table.center_m, world.object.height_m / 2]
        return self.stepper.initial(np.array([self.robot.arm.ready_rad]), np.array([spot]))[0]

    def _permit(self, deltas: np.ndarray, gripper: float) -> tuple[np.ndarray, float, Change, str]:
        joints = len(self.joint_names)
        if self.filter is None:
            if deltas.shape != (joints,):
                raise InputError(f"{deltas.size} joint deltas for {joints} joints")
            return deltas, gripper, Change.NONE, ""
        rows = self.row[None]
        base = self.stepper.base_targets(rows)[0]
        asked = base + deltas if deltas.shape == (joints,) else deltas
        fingers = self.robot.arm.gripper
        finger = after = None
        if fingers is not None:
            finger = float(rows[0, self.stepper.layout.grip])
            after = float(self.stepper.fingers_after(rows, np.array([gripper]))[0])
        decision = self.filter.permit(Commanded(base, self._velocity, finger), asked, after)
        self._velocity = decision.commanded.velocity
        if decision.refused and fingers is not None and finger is not None:
            gripper = (finger - fingers.open_rad) / fingers.travel_rad
        return decision.commanded.position - base, gripper, decision.changes, decision.explanation

    def _gripper(self, qpos: np.ndarray) -> float:
        gripper, world = self.robot.arm.gripper, self.stepper.world
        if gripper is None:
            return 0.0
        angles = qpos[world.gripper_qpos[: len(gripper.fingers)]].tolist()
        angle = sum(angles) / len(angles)
        return min(max((angle - gripper.open_rad) / gripper.travel_rad, 0.0), 1.0)


@ARMS.register("sim", real=False)
def _make(inputs: ArmInputs) -> SimulatedArm:
    """An arm in the task's own cell: it moves exactly as the task does in process."""
    cell = inputs.cell()
    return SimulatedArm(cell.robot, cell.stepper, cell.start)
