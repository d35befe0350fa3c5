"""A driver of an arm, as ros2_control's: takes trajectories, tells of its joints, and can fail."""

from __future__ import annotations

import collections
import threading
import time

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

PERIOD_S = 0.01


class JointDriver:
    """Follows the newest trajectory's last point in a straight line, and stays there.

    Attributes:
        silent: says nothing more.
        repeating: says its last message again and again.
        stuck: goes on with new stamps, but with the joint angles of when this was set.
        delay_s: how much later than they were measured states are sent.
        deaf: takes no command any more.
        fingers: angles of joints that never move, by name; in the same messages.
        track: (steady time, joint angles) of the arm itself, whatever the driver says.
        target: where the joints were last told to go, in [rad].
        received: number of commands that were taken.
    """

    def __init__(self, background, start_rad, names, commands, states):
        self.silent = self.repeating = self.stuck = self.deaf = False
        self.delay_s = 0.0
        self.fingers = {}
        self.names = list(names)
        self.position = np.array(start_rad, dtype=float)
        self.velocity = np.zeros(len(self.names))
        self.track = collections.deque(maxlen=3000)
        self.received = 0
        self.target, self._left_s = self.position.copy(), 0.0
        self._lock = threading.Lock()
        self._outbox = collections.deque()
        self._said = None
        self._last_s = time.monotonic()
        self._node = background.node
        self._states = self._node.create_publisher(JointState, states, 10)
        self._listen(commands)
        self._node.create_timer(PERIOD_S, self._tick)

    def stands(self):
        """Whether nothing moves, or is about to."""
        with self._lock:
            return not self._left_s and not self.velocity.any()

    def put(self, position):
        """Be somewhere else at once."""
        with self._lock:
            self.position, self.target = np.array(position), np.array(position)

    def _listen(self, topic):
        self._node.create_subscription(JointTrajectory, topic, self._follow, 10)

    def _follow(self, message):
        if self.deaf:
            return
        with self._lock:
            point = message.points[-1]
            order = [message.joint_names.index(name) for name in self.names]
            self.target = np.array(point.positions)[order]
            self._left_s = point.time_from_start.sec + point.time_from_start.nanosec * 1e-9
            self.received += 1

    def _tick(self):
        with self._lock:
            self._advance()
            self._outbox.append((time.monotonic() + self.delay_s, self._message()))
        while self._outbox and self._outbox[0][0] <= time.monotonic():
            self._said = self._outbox.popleft()[1] if not self.repeating else self._drop()
            if not self.silent:
                self._states.publish(self._said)

    def _drop(self):
        self._outbox.popleft()
        return self._said

    def _advance(self):
        now_s = time.monotonic()
        elapsed_s, self._last_s = now_s - self._last_s, now_s
        share = min(elapsed_s / self._left_s, 1.0) if self._left_s > 0 else 1.0
        step = (self.target - self.position) * share
        self.position, self.velocity = self.position + step, step / max(elapsed_s, 1e-6)
        self._left_s = max(self._left_s - elapsed_s, 0.0)
        self.track.append((now_s, self.position))

    def _message(self):
        now_s = time.time()
        stamp = Time(sec=int(now_s), nanosec=int(now_s % 1 * 1e9))
        message = JointState(name=[*self.fingers, *self.names])
        message.header.stamp = stamp
        if not self.stuck:
            self._frozen = self.position.tolist()
        message.position = [*self.fingers.values(), *self._frozen]
        message.velocity = [0.0] * len(self.fingers) + self.velocity.tolist()
        return message


class StreamedDriver(JointDriver):
    """A forward controller: executes the last positions or velocities that it heard, for ever.

    Args:
        velocities: whether it is told velocities.
    """

    MAX_RAD_S = 1.0

    def __init__(self, background, start_rad, names, commands, states, velocities):
        self._streams = velocities
        self._told = None
        super().__init__(background, start_rad, names, commands, states)

    def _listen(self, topic):
        self._node.create_subscription(Float64MultiArray, topic, self._hear, 10)

    def _hear(self, message):
        if not self.deaf:
            with self._lock:
                self._told = np.array(message.data)
                self.received += 1

    def _advance(self):
        now_s = time.monotonic()
        elapsed_s, self._last_s = now_s - self._last_s, now_s
        wanted = np.zeros(len(self.names))
        if self._told is not None:
            wanted = self._told if self._streams else (self._told - self.position) / elapsed_s
        self.velocity = np.clip(wanted, -self.MAX_RAD_S, self.MAX_RAD_S)
        self.position = self.position + self.velocity * elapsed_s
        self.track.append((now_s, self.position))
