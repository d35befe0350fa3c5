"""Bring the hand to the cylinder, which is only a marker here.

From the ready pose with a dense reward, or from where the arm is parked with a sparse one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayes_curiosity_ros.configuration.settings import (
    adjusted,
    require_finite,
    require_nonnegative,
    require_positive,
)
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.tasks.arm.expert import ReachExpert
from bayes_curiosity_ros.tasks.arm.task import ArmTask, Placement, register_arm_task


@dataclass(frozen=True)
class ReachConfig:
    """Reward and success.

    Attributes:
        success_m: the hand has arrived within this distance of the cylinder's centre.
        reward_per_m: for every metre that the hand came closer in a step.
        success_reward: on arrival.
        collision_reward: on touching the table or the arm itself.
    """

    success_m: float = 0.05
    reward_per_m: float = 10.0
    success_reward: float = 5.0
    collision_reward: float = -5.0

    def __post_init__(self) -> None:
        require_positive(self, "success_m")
        require_nonnegative(self, "reward_per_m", "success_reward")
        require_finite(self, "collision_reward")

    @staticmethod
    def sparse(success_m: float = 0.05, success_reward: float = 1.0) -> ReachConfig:
        """Nothing but arrival pays."""
        return ReachConfig(success_m, 0.0, success_reward, 0.0)


@register_arm_task("Cartesian reach", "visuomotor reach")
class Reach(ArmTask):
    """Own columns of a row: the distance to the target now, and one step before."""

    name = "reach"
    horizon = 50
    grips = False
    extra_columns = 2
    usual_config = ReachConfig()

    def __init__(
        self,
        robot: RobotConfig | None = None,
        config: ReachConfig | Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(robot, **options)
        self.config = adjusted(self.usual_config, config)
        self._expert: ReachExpert | None = None

    def begin(self, states: np.ndarray) -> None:
        states[:, self.layout.extra] = self._measure(states)[:, None]

    def account(self, states: np.ndarray) -> None:
        now, before = self._columns()
        states[:, before] = states[:, now]
        states[:, now] = self._measure(states)

    def distance(self, states: np.ndarray) -> np.ndarray:
        """From the hand to the cylinder's centre in [m]: (N,)."""
        return states[:, self._columns()[0]]

    def reward(self, states: np.ndarray) -> np.ndarray:
        config, (now, before) = self.config, self._columns()
        closer = config.reward_per_m * (states[:, before] - states[:, now])
        collided = config.collision_reward * self.collided(states)
        return closer + collided + config.success_reward * self.successful(states)

    def marked_reward(self, success: bool) -> float:
        return self.config.success_reward if success else self.config.collision_reward

    def achieved(self, states: np.ndarray) -> np.ndarray:
        return self.distance(states) <= self.config.success_m

    def act(self, observations: np.ndarray) -> np.ndarray:
        if self._expert is None:
            self._expert = ReachExpert(self.robot)
        return self._expert(observations)

    def _columns(self) -> tuple[int, int]:
        return self.layout.extra.start, self.layout.extra.start + 1

    def _measure(self, states: np.ndarray) -> np.ndarray:
        away = self.stepper.hands(states) - self.layout.object_position(states)
        # What np.linalg.norm gives, for one row at half its cost.
        return np.sqrt(np.add.reduce(away * away, axis=1))


@register_arm_task("parked reach", "visuomotor parked reach")
class ParkedReach(Reach):
    """Reach from an arm parked aside, where nothing but arrival pays."""

    name = "parked_reach"
    horizon = 60
    embedding_from = "reach"
    usual_placement = Placement(turn_rad=1.0)
    usual_config = ReachConfig.sparse()


@register_arm_task("parked reach, further aside", "visuomotor parked reach, further aside")
class ParkedReachFar(ParkedReach):
    """As parked reach, from further away."""

    name = "parked_reach_far"
    horizon = 80
    usual_placement = Placement(turn_rad=1.5)
