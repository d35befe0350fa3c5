"""How a driver is told where to go: trajectories by topic or by action, or a stream."""

from __future__ import annotations

import importlib
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from builtin_interfaces.msg import Duration
from rclpy.action import ActionClient
from rclpy.callback_groups import ReentrantCallbackGroup
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from bayes_curiosity_ros.robot.arms.arm import ArmError

if TYPE_CHECKING:
    from rclpy.node import Node
    from rclpy.task import Future

    from bayes_curiosity_ros.robot.arms.trajectory_config import TrajectoryConfig

HALT_S = 0.05
INSTALL = "`sudo apt install ros-jazzy-control-msgs`, or `make setup` without a ROS install"


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

    @abstractmethod
    def step(self, step: Step) -> None:
        """Begin one control step, after which the arm stands still by itself."""

    @abstractmethod
    def hold(self, positions: np.ndarray) -> None:
        """Stand still now, at (J,) positions in [rad]; from any thread."""

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

    def hold(self, positions: np.ndarray) -> None:
        self._publisher.publish(self._points.of_hold(positions))

    @property
    def busy_s(self) -> float:
        return self._points.busy_s


class TrajectoryAction(Commands):
    """Trajectories as goals of FollowJointTrajectory; each replaces the one before."""

    def __init__(self, node: Node, config: TrajectoryConfig, names: tuple[str, ...]) -> None:
        self._action = interface("control_msgs.action", "FollowJointTrajectory", INSTALL)
        self._points = Points(config, names)
        self._name = config.command_topic
        self._client = ActionClient(
            node, self._action, self._name, callback_group=ReentrantCallbackGroup()
        )
        self._sent = 0
        self._fault = ""

    def absent(self) -> str:
        return "" if self._client.server_is_ready() else f"action {self._name}"

    def step(self, step: Step) -> None:
        self._send(self._points.of_step(step))

    def hold(self, positions: np.ndarray) -> None:
        self._send(self._points.of_hold(positions))

    @property
    def busy_s(self) -> float:
        return self._points.busy_s

    def fault(self) -> str:
        return self._fault

    def _send(self, trajectory: JointTrajectory) -> None:
        self._sent += 1
        self._fault, number = "", self._sent
        future = self._client.send_goal_async(self._action.Goal(trajectory=trajectory))
        future.add_done_callback(lambda done: self._answered(number, done))

    def _answered(self, number: int, future: Future) -> None:
        goal = future.result()
        if goal.accepted:
            goal.get_result_async().add_done_callback(lambda done: self._ended(number, done))
        elif number == self._sent:
            self._fault = f"{self._name} rejected a trajectory; are trajectory.driver_joints its?"

    def _ended(self, number: int, future: Future) -> None:
        """Only the newest goal counts: the others end by being replaced."""
        result = future.result().result
        if number == self._sent and result.error_code != self._action.Result.SUCCESSFUL:
            words = result.error_string or "no reason given"
            self._fault = f"{self._name} gave up (error {result.error_code}): {words}"


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

    def of_hold(self, positions: np.ndarray) -> JointTrajectory:
        """A trajectory that stays where it is."""
        return self._made((positions, np.zeros(len(positions)), HALT_S))

    def _made(self, *points: tuple[np.ndarray, np.ndarray, float]) -> JointTrajectory:
        if self._config.tick_s:
            self._free_s = time.monotonic() + points[-1][2] + 2 * self._config.tick_s
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


def interface(module: str, name: str, install: str) -> Any:
    """An interface type that not every installation has.

    Raises:
        ArmError: it is not there; the message says how to get it.
    """
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ArmError(f"{package} is not installed: {install} ({error})") from error


def _duration(seconds: float) -> Duration:
    whole = int(seconds)
    return Duration(sec=whole, nanosec=round((seconds - whole) * 1e9))
