"""Lift the cylinder and hold it. Sparse reward: 1 for that, 0 for everything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayes_curiosity_ros.configuration.settings import (
    adjusted,
    require_nonnegative,
    require_positive,
)
from bayes_curiosity_ros.errors import InputError
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.tasks.arm.expert import GraspExpert
from bayes_curiosity_ros.tasks.arm.task import ArmTask, Placement, register_arm_task


@dataclass(frozen=True)
class GraspConfig:
    """What counts as a grasp.

    Attributes:
        lift_m: the cylinder hangs at least this high above where it stood, in the hand,
        hold_steps: for this many control steps in a row.
        max_tilt_rad: tilted further, it counts as knocked over.
        closes_itself: whether the hand closes by itself when the cylinder is between its
            fingers; actions are then joint-angle changes alone, as in the paper.
        between_m: the cylinder is between the fingers when the middle of the hand is within
            this of its axis,
        below_top_m: and at least this far below its top.
    """

    lift_m: float = 0.05
    hold_steps: int = 5
    max_tilt_rad: float = 0.8
    closes_itself: bool = False
    between_m: float = 0.025
    below_top_m: float = 0.0

    def __post_init__(self) -> None:
        require_positive(self, "lift_m", "hold_steps", "max_tilt_rad", "between_m")
        require_nonnegative(self, "below_top_m")


@register_arm_task("Cartesian grasp", "visuomotor grasp")
class Grasp(ArmTask):
    """Own columns of a row: the height the cylinder started at, and for how long it is held."""

    name = "grasp"
    horizon = 80
    grips = True
    extra_columns = 2
    usual_config = GraspConfig()

    def __init__(
        self,
        robot: RobotConfig | None = None,
        config: GraspConfig | Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.config = adjusted(self.usual_config, config)
        super().__init__(robot, **options)
        self._expert: GraspExpert | None = None

    @property
    def commands_gripper(self) -> bool:
        return not self.config.closes_itself

    def reflex(self, count: int, states: np.ndarray | None) -> np.ndarray:
        if states is None:
            raise InputError(
                f"the hand of {self.name} closes by itself where the cylinder is between its "
                "fingers; pass the states to commands()"
            )
        return self.between_fingers(states).astype(float)

    def between_fingers(self, states: np.ndarray) -> np.ndarray:
        """Whether the cylinder stands or hangs between the fingers: (N,) bool."""
        away = self.stepper.hands(states) - self.layout.object_position(states)
        half_heights = states[:, self._columns()[0]]  # it stood on the table at first
        inside = np.abs(away[:, 2]) <= half_heights - self.config.below_top_m
        return inside & (np.linalg.norm(away[:, :2], axis=1) <= self.config.between_m)

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

    def achieved(self, states: np.ndarray) -> np.ndarray:
        return states[:, self._columns()[1]] >= self.config.hold_steps

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
        return self._expert_policy()(observations)[:, : self.action_size]

    def expert_at(self, states: np.ndarray) -> np.ndarray:
        # A cylinder stands on the table at first: it is as high as where it started from.
        half_heights = states[:, self._columns()[0]]
        actions = self._expert_policy()(self.full_observation(states), half_heights)
        return actions[:, : self.action_size]

    def _expert_policy(self) -> GraspExpert:
        if self._expert is None:
            self._expert = GraspExpert(self.robot)
        return self._expert

    def _knocked_over(self, states: np.ndarray) -> np.ndarray:
        return self.layout.object_tilt(states) > self.config.max_tilt_rad

    def _columns(self) -> tuple[int, int]:
        return self.layout.extra.start, self.layout.extra.start + 1


@register_arm_task("few-shot grasp", "visuomotor few-shot grasp")
class FewShotGrasp(Grasp):
    """Grasp from an arm parked aside, with a hand that closes by itself.

    Observations and actions are those of reach, so demonstrations of reaching alone serve it.
    """

    name = "few_shot_grasp"
    horizon = 100
    usual_placement = Placement(turn_rad=0.5)
    usual_config = GraspConfig(closes_itself=True)
