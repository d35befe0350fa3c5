"""From joint angles that a person makes to observations and actions that a learner would have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayes_curiosity_ros.errors import ConfigError, InputError


@dataclass(frozen=True)
class MotionConfig:
    """How a hand-guided motion becomes steps.

    Attributes:
        joints: names of the arm's joints, in the order of actions and observations.
        period_s: duration of a step, in [s]; the task's control step.
        still_rad: a step in which no joint moves further than this is left out, in [rad]: a
            person who thinks teaches nothing.
        gripper_joint: name of the joint whose angle is the gripper's; empty for none.
        gripper_open_rad: its angle when open, in [rad].
        gripper_closed_rad: its angle when closed, in [rad].
        with_object: whether to add the object's position to the observation, as the Cartesian
            tasks do.
    """

    joints: tuple[str, ...] = tuple(f"joint_{i}" for i in range(1, 7))
    period_s: float = 0.1
    still_rad: float = 0.002
    gripper_joint: str = ""
    gripper_open_rad: float = 0.0
    gripper_closed_rad: float = 1.0
    with_object: bool = True

    def __post_init__(self) -> None:
        if not self.joints:
            raise ConfigError("joints is empty; name the arm's joints")
        if not 0 < self.period_s < 10:
            raise ConfigError(f"period_s = {self.period_s}; it must be in (0, 10)")
        if not 0 <= self.still_rad < 1:
            raise ConfigError(f"still_rad = {self.still_rad}; it must be in [0, 1)")
        if self.gripper_open_rad == self.gripper_closed_rad:
            raise ConfigError("gripper_open_rad and gripper_closed_rad are equal")


@dataclass(frozen=True)
class DemonstratedStep:
    """One more step.

    Attributes:
        step: number k + 1, or 0 for the first.
        vector: observation reached.
        deltas: action k that led there, in [rad]; None at the first.
        gripper: part of action k, 0 open … 1 closed.
    """

    step: int
    vector: np.ndarray
    deltas: np.ndarray | None
    gripper: float


class Demonstrator:
    """Samples joint angles at the control rate while an episode runs."""

    def __init__(self, config: MotionConfig) -> None:
        self.config = config
        self._joints: np.ndarray | None = None
        self._gripper = 0.0
        self._object: np.ndarray | None = None
        self._before: np.ndarray | None = None
        self._gripper_before = 0.0
        self.step = 0

    def take_joints(self, names: Sequence[str], positions: Sequence[float]) -> None:
        """The newest joint angles.

        Raises:
            InputError: a joint is missing or not finite.
        """
        angles = dict(zip(names, positions, strict=False))
        missing = [name for name in self.config.joints if name not in angles]
        if missing:
            raise InputError(f"joint_states lacks {', '.join(missing)}; it has {', '.join(names)}")
        joints = np.array([angles[name] for name in self.config.joints])
        finger = angles.get(self.config.gripper_joint, self.config.gripper_open_rad)
        if not np.isfinite([*joints, finger]).all():
            raise InputError(f"joint_states has an angle that is not finite: {joints}, {finger}")
        self._joints = joints
        if self.config.gripper_joint in angles:
            opened, closed = self.config.gripper_open_rad, self.config.gripper_closed_rad
            self._gripper = float(np.clip((finger - opened) / (closed - opened), 0.0, 1.0))

    def take_object(self, position: np.ndarray) -> None:
        """Where the object is, in [m]."""
        if np.isfinite(position).all():
            self._object = np.asarray(position, dtype=np.float64)

    def begin(self) -> DemonstratedStep:
        """An episode starts here.

        Raises:
            InputError: nothing is known yet of the arm, or of the object.
        """
        if self._joints is None:
            raise InputError("no joint_states yet; is the arm's driver running?")
        if self.config.with_object and self._object is None:
            raise InputError("no object_pose yet; start the detector, or set with_object to false")
        self.step = 0
        self._before, self._gripper_before = self._joints, self._gripper
        return DemonstratedStep(0, self._vector(), None, self._gripper)

    def sample(self) -> DemonstratedStep | None:
        """To be asked once a period; None while nothing moves."""
        if self._before is None or self._joints is None:
            return None
        deltas = self._joints - self._before
        still = np.abs(deltas).max() <= self.config.still_rad
        if still and abs(self._gripper - self._gripper_before) < 0.02:
            return None
        self.step += 1
        self._before, self._gripper_before = self._joints, self._gripper
        return DemonstratedStep(self.step, self._vector(), deltas, self._gripper)

    def end(self) -> int:
        """The episode is over; its steps."""
        self._before = None
        return self.step

    def _vector(self) -> np.ndarray:
        assert self._joints is not None
        if not self.config.with_object or self._object is None:
            return self._joints
        return np.concatenate([self._joints, self._object])
