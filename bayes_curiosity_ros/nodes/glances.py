"""Topics that somebody glances at now and then: the newest message, or the few newest.

A glance stays out of the executor, as a tap does, and asks its publisher for nothing that would
slow it down: best effort where no late joiner has to be served, and a short history.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from bayes_curiosity_ros.nodes.door import CheckedNode
from bayes_curiosity_ros.nodes.wire import subscribe_aside, unserved

GLANCE_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
# What comes seldom, and should not be missed.
FEW_QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
# The newest of a publisher that latches it, and the few after it.
LATCHED_FEW_QOS = QoSProfile(
    depth=10,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)


class Glance:
    """One topic.

    Args:
        node: node that looks; its door checks what comes.
        kind: type of the messages.
        topic: name of the topic.
        qos: how many messages are kept between two looks, and how they travel.
    """

    def __init__(
        self, node: CheckedNode, kind: Any, topic: str, qos: QoSProfile = GLANCE_QOS
    ) -> None:
        self._node, self._kind, self._topic, self._depth = node, kind, topic, qos.depth
        self._subscription = subscribe_aside(node, kind, topic, qos)

    def look(self) -> list[Any]:
        """What came since the last look, the newest last, as described."""
        taken = islice(unserved(self._kind, self._subscription), self._depth)
        messages = [self._node.door.let_in(self._topic, self._kind, data) for data in taken]
        return [message for message in messages if message is not None]

    def close(self) -> None:
        """Look no more."""
        self._node.destroy_subscription(self._subscription)
