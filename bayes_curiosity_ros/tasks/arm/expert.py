"""Scripted experts: inverse kinematics, one step at a time, from what the policy sees.

They keep no memory, so that a policy with the same observation can imitate them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayes_curiosity_ros.configuration.settings import require_positive
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.kinematics import DOWN, Kinematics, Pose


class ReachExpert:
    """Hand pointing down, straight to the cylinder's centre."""

    def __init__(self, robot: RobotConfig) -> None:
        self._kinematics = Kinematics(robot)
        self._dt = robot.world.control_step_s
        self._max_delta = self._kinematics.world.max_delta_rad

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        """Actions, (N, J), at joint angles and object positions, (N, J + 3)."""
        return np.array([self._act(row[:-3], row[-3:]) for row in observations])

    def _act(self, joints: np.ndarray, target: np.ndarray) -> np.ndarray:
        step = self._kinematics.step(joints, Pose.pointing(target, DOWN), self._dt)
        return np.clip(step / self._max_delta, -1.0, 1.0)


@dataclass(frozen=True)
class GraspPlan:
    """Distances of a grasp from above, in [m]; heights are the hand's, above the grasp.

    Attributes:
        palm_m: from the end effector back to the palm.
        gap_m: between palm and cylinder when it is held.
        hover_m: height from which the hand comes down.
        centered_m: sideways offset within which the hand may be all the way down.
        funnel: height allowed per metre of offset beyond that: the hand comes down a funnel.
        closing_m: height at which the fingers start to close.
        nearly_closed: how far they close on the way down, 1 being all the way: just not
            touching, or the hand would press the cylinder into the table.
        grip_m: height below which they close all the way, while the hand rises slowly. It
            should take as many steps to leave as the fingers need to close.
        fast_m: descent per control step before the fingers close.
        slow_m: descent per control step while they do.
        rise_m: ascent per control step while they grip.
        lift_m: ascent per control step with the cylinder in the hand.
        lifted_m: the cylinder counts as in the hand when it is this much above the table.
    """

    palm_m: float = 0.039
    gap_m: float = 0.010
    hover_m: float = 0.10
    centered_m: float = 0.004
    funnel: float = 4.0
    closing_m: float = 0.055
    nearly_closed: float = 0.65
    grip_m: float = 0.014
    fast_m: float = 0.025
    slow_m: float = 0.006
    rise_m: float = 0.003
    lift_m: float = 0.012
    lifted_m: float = 0.004

    def __post_init__(self) -> None:
        require_positive(self, *self.__dataclass_fields__)


class GraspExpert:
    """From above: over the cylinder, down a funnel while closing the fingers, and up."""

    def __init__(self, robot: RobotConfig, plan: GraspPlan | None = None) -> None:
        self.plan = plan or GraspPlan()
        self._kinematics = Kinematics(robot)
        self._dt = robot.world.control_step_s
        self._max_delta = self._kinematics.world.max_delta_rad
        self._half_height = robot.world.object.height_m / 2

    def __call__(
        self, observations: np.ndarray, half_heights: np.ndarray | None = None
    ) -> np.ndarray:
        """Actions, (N, J + 1), at joint angles and object positions, (N, J + 3).

        Args:
            half_heights: (N,) of the cylinders in [m], where they are not the configured one.
        """
        if half_heights is None:
            half_heights = np.full(len(observations), self._half_height)
        pairs = zip(observations, half_heights, strict=True)
        return np.array([self._act(row[:-3], row[-3:], half) for row, half in pairs])

    def _act(self, joints: np.ndarray, cylinder: np.ndarray, half_height: float) -> np.ndarray:
        hand = self._kinematics.forward(joints).position
        target, grip = self.aim(hand, cylinder, half_height)
        step = self._kinematics.step(joints, Pose.pointing(target, DOWN), self._dt)
        return np.append(np.clip(step / self._max_delta, -1.0, 1.0), grip)

    def aim(
        self, hand: np.ndarray, cylinder: np.ndarray, half_height: float
    ) -> tuple[np.ndarray, float]:
        """Where the hand should be next, and how closed: -1 open, 1 closed."""
        plan = self.plan
        grasp_z = cylinder[2] + half_height + plan.gap_m - plan.palm_m
        offset = float(np.linalg.norm(hand[:2] - cylinder[:2]))
        height = float(hand[2] - grasp_z)
        if cylinder[2] - half_height > plan.lifted_m:
            return np.array([*hand[:2], hand[2] + plan.lift_m]), 1.0
        centered = offset < 5 * plan.centered_m
        if centered and height < plan.grip_m:
            return np.array([*cylinder[:2], hand[2] + plan.rise_m]), 1.0
        allowed = min(plan.hover_m, plan.funnel * max(0.0, offset - plan.centered_m))
        target = np.array([*cylinder[:2], grasp_z + max(allowed, self._descend(height))])
        closing = plan.nearly_closed * max(0.0, 1.0 - height / plan.closing_m)
        return target, 2.0 * closing * centered - 1.0

    def _descend(self, height: float) -> float:
        """The next height on the way down; the last step goes all the way."""
        plan = self.plan
        below = height - (plan.slow_m if height < plan.closing_m else plan.fast_m)
        return below if below > plan.grip_m else 0.0
