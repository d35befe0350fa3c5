"""Cells without forces: joints go where their servos would bring them, contacts are looked for.

For tasks whose outcome needs no forces, because the first contact of the arm ends an episode and
the object is only a marker.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayes_curiosity_ros.errors import ConfigError, InputError
from bayes_curiosity_ros.robot.stepper import Stepper
from bayes_curiosity_ros.robot.world import World


class KinematicStepper(Stepper):
    """Advances rows as `Stepper` does, by geometry alone.

    A servo that follows a ramp stays behind it by the same time in every control step, so the
    joints end that much of the step's change before their targets. Contacts are looked for once,
    at the end of the control step. An arm that touches something goes through it.

    Raises:
        ConfigError: the object can be touched; to move it takes forces.
    """

    def __init__(self, worlds: World | Sequence[World], threads: int = 0, extra: int = 0) -> None:
        super().__init__(worlds, threads, extra)
        if self.world.object_qpos is not None:
            raise ConfigError(
                "world.dynamics = 'kinematic' cannot move an object that can be touched; use "
                "'physics', or world.object.tangible = false"
            )
        config = self.world.config
        # Each physics step already aims at the end of its part of the ramp.
        lag_s = 1.0 / config.arm.servo_rad_s - config.world.physics_step_s
        self._behind = float(np.clip(lag_s / config.world.control_step_s, 0.0, 0.5))
        layout, world = self.layout, self.world
        self._speed_columns = layout.qvel.start + world.joint_dof
        self._finger_columns = layout.qpos.start + world.gripper_qpos[: len(world.fingers)]
        self._posed_rows = 0

    def trace(
        self, rows: np.ndarray, deltas: np.ndarray, grips: np.ndarray, *fields: str
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        if fields:
            raise InputError(
                f"{', '.join(fields)}: a kinematic cell has no physics steps to look into; use "
                "world.dynamics = 'physics'"
            )
        layout, rows = self.layout, rows.copy()
        before, after = self.targets(rows, deltas)
        change = after - before
        rows[:, self._speed_columns] = change / self._dt
        rows[:, layout.joint_columns] = after - self._behind * change
        rows[:, layout.target] = after
        rows[:, layout.grip] = grip = self.fingers_after(rows, grips)
        rows[:, self._finger_columns] = grip[:, None]
        rows[:, layout.contacts] = self.contacts(rows)
        return rows, {}

    def hands(self, rows: np.ndarray) -> np.ndarray:
        """As of every stepper; many rows are not posed again after their contacts."""
        count = len(rows)
        if count == 1 or count != self._posed_rows:
            return super().hands(rows)
        bound = self._sized(count)
        if not np.array_equal(bound.qpos[:count], rows[:, self.layout.qpos]):
            return super().hands(rows)
        return bound.positions[:count, self.world.end_effector_body].copy()

    def contacts(self, rows: np.ndarray) -> np.ndarray:
        self._posed_rows = 0
        found = super().contacts(rows)
        self._posed_rows = len(rows)
        return found


def make_stepper(worlds: Sequence[World], threads: int = 0, extra: int = 0) -> Stepper:
    """The stepper for the `dynamics` that these worlds are configured with.

    Args:
        worlds: one, or variants of it that rows refer to by index.
        threads: threads to step on; 0 for one per core.
        extra: columns a row has for the task.

    Raises:
        ConfigError: the dynamics cannot move what there is in the world.
    """
    kinds = {"physics": Stepper, "kinematic": KinematicStepper}
    return kinds[worlds[0].config.world.dynamics](worlds, threads, extra)
