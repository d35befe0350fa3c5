"""A process beside the arm node that ends a stream of velocities when the node can not.

A forward velocity controller executes the last velocities for ever, over the death of whoever sent
them. The guard hears the same topic; where a stream falls silent with the joints in motion, it
sends the zeros that are missing.
"""

from __future__ import annotations

import math
import select
import sys
import time

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import Float64MultiArray

from bayes_curiosity_ros.robot.arms.guard_process import READY, GuardProcess, outlive, say

# Velocities that are not renewed for so long are ended, in [s]; they come every hundredth.
SILENCE_S = 0.1
LOOK_S = 0.01
# How long a guard whose node has gone stays, in [s]: at least, for what is still under way to it
# and from it, and at most, where zeros do not end what it hears.
LINGER_S, DUTY_S = 0.5, 10.0
MET = b"met\n"  # the guard has heard the node, and the controller would hear the guard


def stream_guard(topic: str) -> GuardProcess:
    """The guard of a controller's topic, which is given by its whole name."""
    return GuardProcess(__name__, topic)


class Watch:
    """What was last heard on a topic, and when."""

    def __init__(self, node: Node, topic: str) -> None:
        self._heard_s, self._values = 0.0, [0.0]
        self._hears = False
        self._publisher = node.create_publisher(Float64MultiArray, topic, 10)
        node.create_subscription(Float64MultiArray, topic, self._hear, 10)

    @property
    def moves(self) -> bool:
        """Whether the last that was heard sets joints in motion."""
        return any(self._values)

    @property
    def met(self) -> bool:
        """Whether we have heard the node, and the controller would hear us."""
        return self._hears and self.is_heard

    @property
    def is_heard(self) -> bool:
        """Whether zeros would reach anybody but ourselves."""
        return self._publisher.get_subscription_count() > 1

    def look(self) -> None:
        """Send zeros where a stream fell silent in motion; again, where nobody heard them."""
        if self.moves and self._silent():
            self._publisher.publish(Float64MultiArray(data=[0.0] * len(self._values)))
            if self.is_heard:
                self._values = [0.0]

    def _hear(self, message: Float64MultiArray) -> None:
        """Zeros after a silence are our own, or the node's greeting."""
        self._hears = True
        if any(message.data) or not self._silent():
            self._heard_s, self._values = time.monotonic(), list(message.data)

    def _silent(self) -> bool:
        return time.monotonic() - self._heard_s > SILENCE_S


def main(topic: str) -> None:
    """Watch until the node that started us is gone, and a little longer."""
    outlive()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("stream_guard")
    watch = Watch(node, topic)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    say(READY)
    met, gone_s = False, math.inf
    while (alone_s := time.monotonic() - gone_s) < (DUTY_S if watch.moves else LINGER_S):
        executor.spin_once(timeout_sec=LOOK_S)
        watch.look()
        if not met and watch.met:
            met = True
            say(MET)
        if alone_s < 0.0 and _gone():
            gone_s = time.monotonic()
    rclpy.try_shutdown()


def _gone() -> bool:
    """Whether the other end of our standard input was closed: nothing is ever written to it."""
    return bool(select.select([sys.stdin], [], [], 0.0)[0])


if __name__ == "__main__":
    main(sys.argv[1])
