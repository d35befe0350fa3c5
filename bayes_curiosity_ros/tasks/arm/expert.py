"""Scripted experts: inverse kinematics, one step at a time, from what the policy sees.

They keep no memory, so that a policy with the same observation can imitate them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.kinematics import DOWN, Kinematics, Pose
from bayes_curiosity_ros.robot.settings import require_positive


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
    """Distances of a grasp from above, in [m], measured from the end effector's frame.

    Attributes:
        palm_m: from the end effector back to the palm.
        gap_m: between palm and cylinder when it is held.
        hover_m: height above the grasp from which the hand comes down.
        centered_m: sideways offset within which the hand may be all the way down.
        funnel: height allowed per metre of offset beyond that: the hand comes down a funnel.
        closing_m: height above the grasp at which the fingers start to close.
        slow_m: descent per control step while they do.
        lift_m: ascent per control step with the cylinder in the hand.
        lifted_m: the cylinder counts as in the hand when it is this much above the table.
    """

    palm_m: float = 0.039
    gap_m: float = 0.010
    hover_m: float = 0.10
    centered_m: float = 0.004
    funnel: float = 4.0
    closing_m: float = 0.05
    slow_m: float = 0.005
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

    def __call__(self, observations: np.ndarray) -> np.ndarray:
        """Actions, (N, J + 1), at joint angles and object positions, (N, J + 3)."""
        return np.array([self._act(row[:-3], row[-3:]) for row in observations])

    def _act(self, joints: np.ndarray, cylinder: np.ndarray) -> np.ndarray:
        hand = self._kinematics.forward(joints).position
        target, grip = self.aim(hand, cylinder)
        step = self._kinematics.step(joints, Pose.pointing(target, DOWN), self._dt)
        return np.append(np.clip(step / self._max_delta, -1.0, 1.0), grip)

    def aim(self, hand: np.ndarray, cylinder: np.ndarray) -> tuple[np.ndarray, float]:
        """Where the hand should be next, and how closed: -1 open, 1 closed."""
        plan = self.plan
        grasp_z = cylinder[2] + self._half_height + plan.gap_m - plan.palm_m
        offset = float(np.linalg.norm(hand[:2] - cylinder[:2]))
        height = float(hand[2] - grasp_z)
        lifted = cylinder[2] - self._half_height > plan.lifted_m
        if lifted or (height < plan.slow_m and offset < 5 * plan.centered_m):
            return np.array([*hand[:2], hand[2] + plan.lift_m]), 1.0
        wanted = min(plan.hover_m, plan.funnel * max(0.0, offset - plan.centered_m))
        if height < plan.closing_m:
            wanted = max(wanted, height - plan.slow_m)
        closing = 1.0 - np.clip(height / plan.closing_m, 0.0, 1.0)
        grip = -1.0 if offset > 5 * plan.centered_m else 2.0 * closing - 1.0
        return np.array([*cylinder[:2], grasp_z + wanted]), float(grip)
