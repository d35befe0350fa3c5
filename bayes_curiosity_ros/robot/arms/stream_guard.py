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
from rclpy.publisher import Publisher
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

from bayes_curiosity_ros.robot.arms.guard_process import READY, GuardProcess, outlive, say

# Velocities that are not renewed for so long are ended, in [s]; they come every hundredth.
SILENCE_S = 0.1
LOOK_S = 0.01
# How long a guard whose node has gone stays at least, in [s], for what is still under way to it.
LINGER_S = 0.5
# How long zeros are sent, in [s], whether or not the node is gone. Anybody may hear the first,
# a recorder or a person's echo: the controller itself may be met a moment later.
DUTY_S = 10.0
MET = b"met\n"  # the guard has heard the node, and the controller would hear the guard
NAME = "stream_guard"  # of a guard's node, and the mark of its zeros
UNKNOWN = "_NODE_NAME_UNKNOWN_"  # of a node that is only half discovered


def stream_guard(topic: str, mark: str) -> GuardProcess:
    """The guard of a controller's topic.

    Args:
        topic: by its whole name.
        mark: of what its own node sends as a greeting; other senders have others.
    """
    return GuardProcess(__name__, topic, mark)


def marked_zeros(count: int, mark: str) -> Float64MultiArray:
    """Zeros as any others to a controller, which has no use for a layout."""
    dimension = MultiArrayDimension(label=mark, size=count, stride=count)
    return Float64MultiArray(layout=MultiArrayLayout(dim=[dimension]), data=[0.0] * count)


def has_listeners(node: Node, publisher: Publisher) -> bool:
    """Whether anybody but guards hears a publisher: those of other nodes may linger, too."""
    found = node.get_subscriptions_info_by_topic(publisher.topic_name)
    none = sum(each.node_name in (NAME, UNKNOWN) for each in found)
    return publisher.get_subscription_count() > none


class Watch:
    """What was last heard on a topic, and when.

    Args:
        node: of the guard.
        topic: that is watched.
        mark: of the greetings that are meant for this guard.
    """

    def __init__(self, node: Node, topic: str, mark: str) -> None:
        self._node, self._mark = node, mark
        self._heard_s, self._values = 0.0, [0.0]
        self._greeted = False
        self._publisher = node.create_publisher(Float64MultiArray, topic, 10)
        node.create_subscription(Float64MultiArray, topic, self._hear, 10)

    @property
    def moves(self) -> bool:
        """Whether the last that was heard sets joints in motion."""
        return any(self._values)

    @property
    def met(self) -> bool:
        """Whether we have heard our node, and the controller would hear us."""
        return self._greeted and has_listeners(self._node, self._publisher)

    def look(self) -> None:
        """Send zeros where a stream fell silent in motion; for longer, where nobody hears them."""
        if self.moves and self._silent():
            self._publisher.publish(marked_zeros(len(self._values), NAME))
            if self._silent(DUTY_S) and has_listeners(self._node, self._publisher):
                self._values = [0.0]

    def _hear(self, message: Float64MultiArray) -> None:
        """A guard's zeros say nothing of our stream, and those after a silence are a greeting."""
        mark = message.layout.dim[0].label if message.layout.dim else ""
        if mark == NAME:
            return
        self._greeted |= mark == self._mark
        if any(message.data) or not self._silent():
            self._heard_s, self._values = time.monotonic(), list(message.data)

    def _silent(self, seconds: float = SILENCE_S) -> bool:
        return time.monotonic() - self._heard_s > seconds


def main(topic: str, mark: str) -> None:
    """Watch until the node that started us is gone, and a little longer."""
    outlive()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node(NAME)
    watch = Watch(node, topic, mark)
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
    main(*sys.argv[1:])
