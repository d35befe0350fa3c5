"""The state of one simulated cell as a row of numbers, so that N cells are an (N, S) array.

A row holds all there is: two runs from equal rows with equal commands are equal bit for bit,
and a checkpoint is a copy of the array.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayes_curiosity_ros.robot.composition import CONTACT_CLASSES
from bayes_curiosity_ros.robot.world import World


@dataclass(frozen=True)
class RowLayout:
    """Where each quantity sits in a row.

    Attributes:
        qpos, qvel, warmstart: MuJoCo's state; the last is the solver's first guess.
        marker: position of an intangible object in [m].
        target: joint angles last commanded, in [rad].
        grip: finger angle last commanded, in [rad].
        variant: index of the world the row lives in (see `robot.randomization`).
        contacts: whether the arm touched itself, the scene, the object in the last control step.
        extra: free for the task.
        size: S.
    """

    qpos: slice
    qvel: slice
    warmstart: slice
    marker: slice
    target: slice
    grip: int
    variant: int
    contacts: slice
    extra: slice
    size: int
    joint_columns: np.ndarray
    object_columns: np.ndarray
    object_axis_columns: np.ndarray | None

    @staticmethod
    def of(world: World, extra: int = 0) -> RowLayout:
        """The layout for a world, with `extra` columns for a task."""
        model, take = world.model, _Columns()
        qpos, qvel, warmstart = (take(n) for n in (model.nq, model.nv, model.nv))
        marker, target = take(3), take(len(world.joints))
        grip, variant = take(1).start, take(1).start
        contacts, extras = take(len(CONTACT_CLASSES)), take(extra)
        free = world.object_qpos
        return RowLayout(
            qpos, qvel, warmstart, marker, target, grip, variant, contacts, extras,
            size=extras.stop,
            joint_columns=qpos.start + world.joint_qpos,
            object_columns=np.arange(3) + (marker.start if free is None else qpos.start + free),
            object_axis_columns=None if free is None else np.arange(4) + qpos.start + free + 3,
        )  # fmt: skip

    def joints(self, rows: np.ndarray) -> np.ndarray:
        """Measured joint angles in [rad]: (N, J)."""
        return rows[:, self.joint_columns]

    def object_position(self, rows: np.ndarray) -> np.ndarray:
        """Centre of the object in [m]: (N, 3)."""
        return rows[:, self.object_columns]

    def object_tilt(self, rows: np.ndarray) -> np.ndarray:
        """Angle between the object's axis and the vertical in [rad]: (N,)."""
        if self.object_axis_columns is None:
            return np.zeros(len(rows))
        _, x, y, _ = rows[:, self.object_axis_columns].T
        return np.arccos(np.clip(1.0 - 2.0 * (x * x + y * y), -1.0, 1.0))

    def touching(self, rows: np.ndarray, kind: str) -> np.ndarray:
        """Whether the arm touched "self", "scene" or "object" in the last control step: (N,)."""
        return rows[:, self.contacts.start + CONTACT_CLASSES.index(kind)] > 0

    def collided(self, rows: np.ndarray) -> np.ndarray:
        """Whether the arm touched itself or the scene in the last control step: (N,)."""
        own = self.contacts.start  # the first two of CONTACT_CLASSES
        # For one row a reduction over two columns would cost ten times as much.
        return (rows[:, own] > 0) | (rows[:, own + 1] > 0)


class _Columns:
    """Hands out consecutive slices."""

    def __init__(self) -> None:
        self.end = 0

    def __call__(self, length: int) -> slice:
        start, self.end = self.end, self.end + length
        return slice(start, self.end)
