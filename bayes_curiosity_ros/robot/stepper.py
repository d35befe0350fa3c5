"""Rows in, rows out: many cells advanced by one control step on a pool of threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from mujoco.batch import Batch

from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.robot.limits import limit_targets, require_finite_command
from bayes_curiosity_ros.robot.rows import RowLayout
from bayes_curiosity_ros.robot.world import World


class PhysicsError(BayesCuriosityError):
    """The simulation diverged."""


class Stepper:
    """Advances rows of state and keeps none: equal rows give equal results at any thread count.

    Args:
        worlds: one world, or variants of it that rows refer to by index.
        threads: threads to step on; 0 for one per core.
        extra: columns a row has for the task.

    Attributes:
        max_delta_rad: (J,) largest commanded change of each joint in one control step.
    """

    def __init__(self, worlds: World | Sequence[World], threads: int = 0, extra: int = 0) -> None:
        self.worlds = (worlds,) if isinstance(worlds, World) else tuple(worlds)
        self.world = self.worlds[0]
        self.layout = RowLayout.of(self.world, extra)
        self.threads = threads
        config = self.world.config
        self._dt = config.world.control_step_s
        self._ramp = np.arange(1, config.world.substeps + 1) / config.world.substeps
        # A critically damped servo lags a ramp by 2 / ω. Leading by half of that makes its
        # response first order: no overshoot in speed, a lag of 1 / ω.
        self._lead_s = 1.0 / config.arm.servo_rad_s
        self.max_delta_rad = self.world.max_delta_rad
        margin = config.safety.joint_margin_rad
        self._lower, self._upper = self.world.lower_rad + margin, self.world.upper_rad - margin
        self._bound: Bound | None = None
        self._links = mujoco.MjData(self.world.model)
        self._rest = self._at_rest()
        sensors = self.world.contact_sensors
        self._sensed = np.flatnonzero(sensors >= 0)
        self._sensors = sensors[self._sensed]

    def initial(
        self, joints: np.ndarray, objects: np.ndarray, variants: np.ndarray | None = None
    ) -> np.ndarray:
        """Rows at rest.

        Args:
            joints: (N, J) joint angles in [rad].
            objects: (N, 3) positions of the object's centre in [m].
            variants: (N,) index of the world of each row; 0 when None.
        """
        layout = self.layout
        rows = np.empty((len(objects), layout.size))
        rows[:] = self._rest
        rows[:, layout.joint_columns] = joints
        rows[:, layout.object_columns] = objects
        rows[:, layout.target] = joints
        if variants is not None:
            rows[:, layout.variant] = variants
        return rows

    def _at_rest(self) -> np.ndarray:
        """A row, (S,), of the first world with its hand open."""
        layout, world, row = self.layout, self.world, np.zeros(self.layout.size)
        qpos, gripper = row[layout.qpos], world.config.arm.gripper
        qpos[:] = world.model.qpos0
        if gripper is not None:
            qpos[world.gripper_qpos[: len(gripper.fingers)]] = gripper.open_rad
            row[layout.grip] = gripper.open_rad
        return row

    def advance(self, rows: np.ndarray, deltas: np.ndarray, grips: np.ndarray) -> np.ndarray:
        """The rows one control step later.

        Args:
            rows: (N, S).
            deltas: (N, J) requested changes of the joint targets in [rad]; clipped to the
                velocity limit and the joint limits.
            grips: (N,) from 0, open, to 1, closed; fingers follow at their own speed.

        Raises:
            InputError: a command is not finite.
            PhysicsError: the simulation diverged.
        """
        return self.trace(rows, deltas, grips)[0]

    def trace(
        self, rows: np.ndarray, deltas: np.ndarray, grips: np.ndarray, *fields: str
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """As `advance`, with what these fields of MuJoCo's data were after every physics step.

        Returns:
            The rows, and (N, substeps, …) per field.
        """
        layout, rows = self.layout, rows.copy()
        before, after = self.targets(rows, deltas)
        grip_before, grip_after = rows[:, layout.grip], self.fingers_after(rows, grips)
        bound, n = self._load(rows), len(rows)
        controls = self._controls(before, after, grip_before, grip_after)
        record = ("sensordata", *fields)
        seen = bound.batch.rollout(len(self._ramp), controls, record=record, ids=bound.first(n))
        _raise_warnings(bound.warnings[:n, :, 1])
        self._store(rows, bound)
        rows[:, layout.contacts] = self._found(seen["sensordata"].max(axis=1))
        rows[:, layout.target] = after
        rows[:, layout.grip] = grip_after
        return rows, seen

    def _controls(
        self,
        before: np.ndarray,
        after: np.ndarray,
        grip_before: np.ndarray,
        grip_after: np.ndarray,
    ) -> np.ndarray:
        """Targets per physics step, (N, substeps, servos): a ramp, a little ahead of itself."""
        joints, fingers = len(self.world.joints), len(self.world.fingers)
        controls = np.zeros((len(before), len(self._ramp), self.world.model.nu))
        shares = self._ramp[:, None] + self._lead_s / self._dt
        controls[..., :joints] = before[:, None] + shares * (after - before)[:, None]
        grip = grip_before[:, None] + self._ramp * (grip_after - grip_before)[:, None]
        controls[..., joints : joints + fingers] = grip[..., None]
        return controls

    def hands(self, rows: np.ndarray) -> np.ndarray:
        """Positions of the end effector in [m]: (N, 3)."""
        links, layout, hand = self._links, self.layout, self.world.end_effector_body
        found = np.empty((len(rows), 3))
        for place, row in zip(found, rows, strict=True):
            links.qpos = row[layout.qpos]
            mujoco.mj_kinematics(self.worlds[int(row[layout.variant])].model, links)
            place[:] = links.xpos[hand]
        return found

    def contacts(self, rows: np.ndarray) -> np.ndarray:
        """Whether each of `CONTACT_CLASSES` occurs at these poses: (N, classes) bool."""
        bound, count = self._load(rows), len(rows)
        bound.batch.forward(ids=bound.first(count), stage=mujoco.mjtStage.mjSTAGE_POS)
        return self._found(bound.sensors[:count])

    def targets(self, rows: np.ndarray, deltas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Joint targets, (N, J) in [rad], before and after a control step with these changes.

        Raises:
            InputError: a change is not finite.
        """
        require_finite_command("joint delta", deltas)
        before = self.base_targets(rows)
        return before, limit_targets(
            before, before + deltas, self.max_delta_rad, self._lower, self._upper
        )

    def base_targets(self, rows: np.ndarray) -> np.ndarray:
        """Joint targets, (N, J), that the next changes add to.

        They are the last ones, on a leash of half a step: a blocked arm does not wind up.
        """
        measured, lead = self.layout.joints(rows), self.max_delta_rad / 2
        return rows[:, self.layout.target].clip(measured - lead, measured + lead)

    def fingers_after(self, rows: np.ndarray, grips: np.ndarray) -> np.ndarray:
        """Finger angles in [rad], (N,), that gripper commands from 0 to 1 lead to in one step.

        Raises:
            InputError: a command is not finite.
        """
        require_finite_command("gripper command", grips)
        before, gripper = rows[:, self.layout.grip], self.world.config.arm.gripper
        if gripper is None:
            return before
        wanted = gripper.open_rad + gripper.travel_rad * grips.clip(0.0, 1.0)
        step = self.world.fingers[0].max_velocity_rad_s * self._dt
        return before + (wanted - before).clip(-step, step)

    def _load(self, rows: np.ndarray) -> Bound:
        bound, layout, n = self._sized(len(rows)), self.layout, len(rows)
        bound.qpos[:n] = rows[:, layout.qpos]
        bound.qvel[:n] = rows[:, layout.qvel]
        bound.warmstart[:n] = rows[:, layout.warmstart]
        bound.warnings[:n] = 0
        if self.world.object_qpos is None:
            bound.markers[:n, 0] = rows[:, layout.marker]
        if len(self.worlds) > 1:
            models = [self.worlds[int(i)].model for i in rows[:, layout.variant]]
            models += [self.world.model] * (bound.batch.nsim - n)
            bound.batch.set_models(models)
        return bound

    def _store(self, rows: np.ndarray, bound: Bound) -> None:
        layout, n = self.layout, len(rows)
        rows[:, layout.qpos] = bound.qpos[:n]
        rows[:, layout.qvel] = bound.qvel[:n]
        rows[:, layout.warmstart] = bound.warmstart[:n]

    def _found(self, sensordata: np.ndarray) -> np.ndarray:
        """Whether each class of contact was sensed, (N, classes), from (N, sensors)."""
        seen = np.zeros((len(sensordata), len(self.world.contact_sensors)), dtype=bool)
        seen[:, self._sensed] = sensordata[:, self._sensors] > 0
        return seen

    def _sized(self, count: int) -> Bound:
        if self._bound is None or self._bound.batch.nsim < count:
            self._bound = Bound.of(Batch(self.world.model, count, self.threads))
        return self._bound


@dataclass(frozen=True)
class Bound:
    """A batch, and the arrays of it that rows are copied to and from."""

    batch: Batch
    qpos: np.ndarray
    qvel: np.ndarray
    warmstart: np.ndarray
    markers: np.ndarray
    positions: np.ndarray
    sensors: np.ndarray
    warnings: np.ndarray

    @staticmethod
    def of(batch: Batch) -> Bound:
        return Bound(
            batch,
            qpos=batch.bind("qpos"),
            qvel=batch.bind("qvel"),
            warmstart=batch.bind("qacc_warmstart"),
            markers=batch.bind("mocap_pos"),
            positions=batch.bind("xpos"),
            sensors=batch.bind("sensordata"),
            warnings=batch.warning,
        )

    def first(self, count: int) -> np.ndarray | None:
        """The simulations that `count` rows take up; None for all."""
        return None if count == self.batch.nsim else np.arange(count)


def _raise_warnings(counts: np.ndarray) -> None:
    """MuJoCo resets a cell that diverges, and stops it: never go on as if nothing had happened."""
    if counts.any():
        cells = np.flatnonzero(counts.any(axis=1)).tolist()
        kinds = [mujoco.mjtWarning(int(kind)).name for kind in np.flatnonzero(counts.any(axis=0))]
        raise PhysicsError(
            f"MuJoCo warned of {', '.join(kinds)} in cells {cells}; lower world.physics_step_s"
        )
