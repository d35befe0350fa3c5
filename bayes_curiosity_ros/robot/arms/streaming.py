"""Streams for ros2_control's forward command controllers, which execute the last thing they heard.

They know no end of a command, so the end is ours: positions stay where a step ends, velocities
return to zero, in a thread of their own that needs neither the node's callbacks nor its clock.
"""

from __future__ import annotations

import math
import threading
import time
import uuid
from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from std_msgs.msg import Float64MultiArray

from bayes_curiosity_ros.robot.arms.arm import ArmError
from bayes_curiosity_ros.robot.arms.commands import Commands, Step
from bayes_curiosity_ros.robot.arms.guard_process import GUARD_DIED
from bayes_curiosity_ros.robot.arms.stream_guard import (
    MET,
    has_listeners,
    marked_zeros,
    stream_guard,
)

if TYPE_CHECKING:
    from rclpy.node import Node

    from bayes_curiosity_ros.robot.arms.trajectory_config import TrajectoryConfig

LEASH_RAD = 0.05
# A stream that was held up for longer does not go on with its step.
HELD_UP_S = 0.3


class Stream(Commands):
    """Publishes setpoints while a step is under way, and those at rest for a while after it.

    Attributes:
        longest_s: by so much the step goes on from one setpoint to the next at the most, however
            long that took.
    """

    longest_s = math.inf

    def __init__(self, node: Node, config: TrajectoryConfig, names: tuple[str, ...]) -> None:
        self._publisher = node.create_publisher(Float64MultiArray, config.command_topic, 10)
        self._period_s = 1.0 / config.stream_hz
        self._overlap_s = config.overlap_s
        self._count = len(names)
        self._lock = threading.Lock()
        self._work = threading.Event()
        self._step: Step | None = None
        self._elapsed_s = self._sent_s = 0.0
        threading.Thread(target=self._run, daemon=True, name="command stream").start()

    def absent(self) -> str:
        heard = self._publisher.get_subscription_count()
        return "" if heard else str(self._publisher.topic_name)

    def step(self, step: Step) -> None:
        with self._lock:
            self._step, self._elapsed_s = self._joined(step), 0.0
            self._send(self.setpoint(self._step, 0.0))
        self._work.set()

    def hold(self, positions: np.ndarray | None) -> None:
        with self._lock:
            self._rest(positions)

    @abstractmethod
    def setpoint(self, step: Step, elapsed_s: float) -> np.ndarray:
        """(J,) what the controller is told so long after the step began."""

    @abstractmethod
    def rest(self, positions: np.ndarray | None) -> np.ndarray | None:
        """(J,) what the controller is told to stand still; None if it does so by itself."""

    def _joined(self, step: Step) -> Step:
        """The step as it follows on what was sent last."""
        return step

    def _run(self) -> None:
        while self._work.wait():
            self._work.clear()
            while self._stream():
                time.sleep(self._period_s)

    def _stream(self) -> bool:
        """Send the next setpoint; whether there are more."""
        with self._lock:
            if self._step is None:
                return False
            now_s = time.monotonic()
            if now_s - self._sent_s > HELD_UP_S:
                self._rest(None)
                return False
            self._elapsed_s += min(now_s - self._sent_s, self.longest_s)
            self._send(self.setpoint(self._step, self._elapsed_s))
            over = self._elapsed_s > self._step.duration_s + self._overlap_s + 3 * self._period_s
            if over:
                self._step = None
            return not over

    def _rest(self, positions: np.ndarray | None) -> None:
        self._step = None
        told = self.rest(positions)
        if told is not None:
            self._send(told)

    def _send(self, values: np.ndarray) -> None:
        self._sent_s = time.monotonic()
        self._publisher.publish(Float64MultiArray(data=values.tolist()))


class ForwardPosition(Stream):
    """Positions on the straight way from here to the target; a controller that hears no more
    stays where it is, and goes on from there."""

    def __init__(self, node: Node, config: TrajectoryConfig, names: tuple[str, ...]) -> None:
        self._told: np.ndarray | None = None
        self.longest_s = 2.0 / config.stream_hz
        super().__init__(node, config, names)

    def setpoint(self, step: Step, elapsed_s: float) -> np.ndarray:
        late_s = min(max(elapsed_s - step.duration_s, 0.0), self._overlap_s)
        share = min(elapsed_s / step.duration_s, 1.0)
        told = step.start + share * (step.target - step.start)
        if late_s:
            told = told + step.velocity * (late_s - late_s**2 / (2 * self._overlap_s))
        self._told = told
        return told

    def rest(self, positions: np.ndarray | None) -> np.ndarray | None:
        """Where it was last told to be, ahead of where it is by the servo's lag; nothing where
        nobody knows where it is: it may not have heard what it was told."""
        if positions is None or self._told is None or self._far(positions):
            self._told = positions
        return self._told

    def _joined(self, step: Step) -> Step:
        if self._told is None or self._far(step.start):
            return step
        return Step(self._told, step.target, step.velocity, step.duration_s)

    def _far(self, positions: np.ndarray) -> bool:
        """Whether somebody else moved the arm since."""
        assert self._told is not None
        return bool(np.abs(self._told - positions).max() > LEASH_RAD)


class ForwardVelocity(Stream):
    """Velocities that end in zeros, whether or not the next step comes.

    A guard beside this process sends the zeros that it can not.
    """

    def __init__(self, node: Node, config: TrajectoryConfig, names: tuple[str, ...]) -> None:
        super().__init__(node, config, names)
        self._node, self._mark = node, uuid.uuid4().hex
        self._guard = stream_guard(str(self._publisher.topic_name), self._mark)
        self._met = False

    def absent(self) -> str:
        """The guard hears the topic, too: alone, it is no driver. Nothing may move before it has
        heard us, so it is sent zeros until it says so."""
        self._met |= MET in self._guard.heard(0.0)
        if not self._met:
            self._publisher.publish(marked_zeros(self._count, self._mark))
        there = self._met and has_listeners(self._node, self._publisher)
        return "" if there else str(self._publisher.topic_name)

    def open(self) -> None:
        self._met &= self._guard.lives
        self._guard.start()

    def step(self, step: Step) -> None:
        if not self._guard.lives:
            raise ArmError(GUARD_DIED)
        super().step(step)

    def close(self) -> None:
        self._guard.end()

    def setpoint(self, step: Step, elapsed_s: float) -> np.ndarray:
        late_s = elapsed_s - step.duration_s
        if late_s <= 0.0:
            return step.velocity
        left = 1.0 - late_s / self._overlap_s if self._overlap_s else 0.0
        return step.velocity * max(left, 0.0)

    def rest(self, positions: np.ndarray | None) -> np.ndarray | None:
        return np.zeros(self._count)
