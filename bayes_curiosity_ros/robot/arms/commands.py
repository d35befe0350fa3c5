"""How a driver is told where to go: trajectories by topic or by action, or a stream."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from builtin_interfaces.msg import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from bayes_curiosity_ros.robot.arms.goals import CONTROL_MSGS, Goals, interface

if TYPE_CHECKING:
    from rclpy.node import Node

    from bayes_curiosity_ros.robot.arms.trajectory_config import TrajectoryConfig

HALT_S = 0.05
ENDING = 5  # ticks in which a driver may still be busy with a trajectory that came a little late


@dataclass(frozen=True)
class Step:
    """One control step.

    Attributes:
        start: (J,) where the joints are when it begins, in [rad].
        target: (J,) where they shall be when it ends, in [rad].
        velocity: (J,) with which they go, and are going at its end, in [rad/s].
        duration_s: how long it takes.
    """

    start: np.ndarray
    target: np.ndarray
    velocity: np.ndarray
    duration_s: float


class Commands(ABC):
    """One way to move a driver's joints, in the driver's own order and count of turns."""

    @abstractmethod
    def absent(self) -> str:
        """What nobody listens to; empty when the driver is there."""

    def open(self) -> None:
        """Make ready what a driver needs before anything moves."""
        return

    def close(self) -> None:
        """Let go of it."""
        return

    @abstractmethod
    def step(self, step: Step) -> None:
        """Begin one control step, after which the arm stands still by itself."""

    @abstractmethod
    def hold(self, positions: np.ndarray | None) -> None:
        """Stand still now, at (J,) positions in [rad], None if nobody knows; from any thread."""

    @property
    def busy_s(self) -> float:
        """How long until the driver hears the next step, in [s]; a hold it always hears."""
        return 0.0

    def fault(self) -> str:
        """Why the driver refused or gave up the newest command; empty if it did not."""
        return ""


class TrajectoryTopic(Commands):
    """Trajectories published on a topic; each replaces the one before."""

    def __init__(self, node: Node, config: TrajectoryConfig, names: tuple[str, ...]) -> None:
        self._points = Points(config, names)
        self._publisher = node.create_publisher(JointTrajectory, config.command_topic, 10)

    def absent(self) -> str:
        heard = self._publisher.get_subscription_count()
        return "" if heard else str(self._publisher.topic_name)

    def step(self, step: Step) -> None:
        self._publisher.publish(self._points.of_step(step))

    def hold(self, positions: np.ndarray | None) -> None:
        trajectory = self._points.of_hold(positions)
        if trajectory is not None:
            self._publisher.publish(trajectory)

    @property
    def busy_s(self) -> float:
        return self._points.busy_s


class TrajectoryAction(Commands):
    """Trajectories as goals of FollowJointTrajectory; each replaces the one before."""

    def __init__(self, node: Node, config: TrajectoryConfig, names: tuple[str, ...]) -> None:
        action = interface("control_msgs.action", "FollowJointTrajectory", CONTROL_MSGS)
        self._goals = Goals(node, action, config.command_topic)
        self._points = Points(config, names)
        self._fault = ""

    def absent(self) -> str:
        return self._goals.absent()

    def step(self, step: Step) -> None:
        self._send(self._points.of_step(step))

    def hold(self, positions: np.ndarray | None) -> None:
        trajectory = self._points.of_hold(positions)
        if trajectory is not None:
            self._send(trajectory)

    @property
    def busy_s(self) -> float:
        return self._points.busy_s

    def fault(self) -> str:
        return self._fault

    def _send(self, trajectory: JointTrajectory) -> None:
        self._fault = ""
        self._goals.send(self._goals.action.Goal(trajectory=trajectory), self._ended)

    def _ended(self, result: Any) -> None:
        name = self._goals.name
        if result is None:
            self._fault = f"{name} rejected a trajectory; are trajectory.driver_joints its names?"
        elif result.error_code:
            words = result.error_string or "no reason given"
            self._fault = f"{name} gave up a trajectory (error {result.error_code}): {words}"


class Points:
    """Makes trajectories as a driver executes them.

    A driver that works in ticks forgets what comes in the tick after a trajectory's end.

    Args:
        names: the driver's names of the joints.
    """

    def __init__(self, config: TrajectoryConfig, names: tuple[str, ...]) -> None:
        self._config = config
        self._names = list(names)
        self._free_s = 0.0

    @property
    def busy_s(self) -> float:
        """How long until the driver hears again, in [s]."""
        return max(self._free_s - time.monotonic(), 0.0)

    def of_step(self, step: Step) -> JointTrajectory:
        """A trajectory that ends at rest, by itself or by a point after its end."""
        overlap_s, still = self._config.overlap_s, np.zeros(len(self._names))
        if self._config.executes == "velocities":
            # Half a tick less, so that a late or early tick does not change their number.
            seconds = step.duration_s - self._config.tick_s / 2
            return self._made((step.target, step.velocity, seconds))
        if not overlap_s:
            return self._made((step.target, still, step.duration_s))
        end = step.target + step.velocity * overlap_s / 2
        return self._made(
            (step.target, step.velocity, step.duration_s),
            (end, still, step.duration_s + overlap_s),
        )

    def of_hold(self, positions: np.ndarray | None) -> JointTrajectory | None:
        """A trajectory that stays where the arm is; None where it would go to some other place."""
        still = np.zeros(len(self._names))
        if positions is None:
            if self._config.executes == "positions":
                return None
            positions = still  # not executed, but a driver may ask for as many as it has joints
        return self._made((positions, still, HALT_S))

    def _made(self, *points: tuple[np.ndarray, np.ndarray, float]) -> JointTrajectory:
        if self._config.tick_s:
            self._free_s = time.monotonic() + points[-1][2] + ENDING * self._config.tick_s
        return JointTrajectory(
            joint_names=self._names,
            points=[
                JointTrajectoryPoint(
                    positions=positions.tolist(),
                    velocities=velocities.tolist(),
                    time_from_start=_duration(seconds),
                )
                for positions, velocities, seconds in points
            ],
        )


def _duration(seconds: float) -> Duration:
    whole = int(seconds)
    return Duration(sec=whole, nanosec=round((seconds - whole) * 1e9))
