"""Lift the cylinder and hold it. Sparse reward: 1 for that, 0 for everything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayes_curiosity_ros.configuration.settings import require_positive
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.tasks.arm.expert import GraspExpert
from bayes_curiosity_ros.tasks.arm.task import ArmTask, register_arm_task


@dataclass(frozen=True)
class GraspConfig:
    """What counts as a grasp.

    Attributes:
        lift_m: the cylinder hangs at least this high above where it stood, in the hand,
        hold_steps: for this many control steps in a row.
        max_tilt_rad: tilted further, it counts as knocked over.
    """

    lift_m: float = 0.05
    hold_steps: int = 5
    max_tilt_rad: float = 0.8

    def __post_init__(self) -> None:
        require_positive(self, "lift_m", "hold_steps", "max_tilt_rad")


@register_arm_task("Cartesian grasp", "visuomotor grasp")
class Grasp(ArmTask):
    """Own columns of a row: the height the cylinder started at, and for how long it is held."""

    name = "grasp"
    horizon = 80
    grips = True
    extra_columns = 2

    def __init__(
        self, robot: RobotConfig | None = None, config: GraspConfig | None = None, **options: Any
    ) -> None:
        super().__init__(robot, **options)
        self.config = config or GraspConfig()
        self._expert: GraspExpert | None = None

    def begin(self, states: np.ndarray) -> None:
        rest, held = self._columns()
        states[:, rest] = self.layout.object_position(states)[:, 2]
        states[:, held] = 0.0

    def account(self, states: np.ndarray) -> None:
        held = self._columns()[1]
        lifted = self.lift(states) >= self.config.lift_m
        in_hand = self.layout.touching(states, "object")
        states[:, held] = np.where(lifted & in_hand, states[:, held] + 1, 0)

    def lift(self, states: np.ndarray) -> np.ndarray:
        """How far the cylinder is above where it stood, in [m]: (N,)."""
        return self.layout.object_position(states)[:, 2] - states[:, self._columns()[0]]

    def reward(self, states: np.ndarray) -> np.ndarray:
        return self.successful(states).astype(float)

    def successful(self, states: np.ndarray) -> np.ndarray:
        long_enough = states[:, self._columns()[1]] >= self.config.hold_steps
        return long_enough & ~self.failed(states)

    def failed(self, states: np.ndarray) -> np.ndarray:
        return self.collided(states) | self._knocked_over(states)

    def failure_reasons(self, states: np.ndarray) -> Sequence[str]:
        over = self._knocked_over(states)
        reasons = super().failure_reasons(states)
        return [
            reason or ("knocked over" if fell else "")
            for reason, fell in zip(reasons, over, strict=True)
        ]

    def act(self, observations: np.ndarray) -> np.ndarray:
        return self._expert_policy()(observations)

    def expert_at(self, states: np.ndarray) -> np.ndarray:
        # A cylinder stands on the table at first: it is as high as where it started from.
        half_heights = states[:, self._columns()[0]]
        return self._expert_policy()(self.full_observation(states), half_heights)

    def _expert_policy(self) -> GraspExpert:
        if self._expert is None:
            self._expert = GraspExpert(self.robot)
        return self._expert

    def _knocked_over(self, states: np.ndarray) -> np.ndarray:
        return self.layout.object_tilt(states) > self.config.max_tilt_rad

    def _columns(self) -> tuple[int, int]:
        return self.layout.extra.start, self.layout.extra.start + 1
