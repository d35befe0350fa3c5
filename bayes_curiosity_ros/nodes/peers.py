"""Which processes are behind services and topics: one that was started again is another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rclpy.node import Node
from rclpy.topic_endpoint_info import TopicEndpointInfo

# Bytes of an endpoint's id in DDS that name its process.
PROCESS = 12


class Peers:
    """The processes that answer services and publish topics.

    One that died is there until its lease is over, 20 s in Fast DDS; one that comes in its place
    is seen before anything that it says is heard. Who answers none of the services is no peer,
    whatever it publishes.

    Args:
        node: node on whose graph they are.
        services: services that each of them answers.
        topics: topics that each of them publishes.
    """

    def __init__(self, node: Node, services: Sequence[str], topics: Sequence[str] = ()) -> None:
        self._node = node
        # Names of requests in DDS.
        self._requests = [f"rq{node.resolve_service_name(name)}Request" for name in services]
        self._topics = topics
        self._met: frozenset[bytes] = frozenset()

    def meet(self) -> None:
        """From now on those that are there now are known."""
        self._met = frozenset().union(*self._sides())

    @property
    def changed(self) -> bool:
        """Whether there is one that was not met."""
        return not all(side <= self._met for side in self._sides())

    @property
    def whole(self) -> bool:
        """Whether each of them is there with all its services and topics."""
        return len(set(self._sides())) == 1

    def _sides(self) -> list[frozenset[bytes]]:
        """Ids of the processes, for each service and topic."""
        node = self._node
        answering = [
            processes(node.get_subscriptions_info_by_topic(name, True)) for name in self._requests
        ]
        peers = frozenset().union(*answering)
        publishing = [processes(node.get_publishers_info_by_topic(name)) for name in self._topics]
        return answering + [side & peers for side in publishing]


def processes(ends: Iterable[TopicEndpointInfo]) -> frozenset[bytes]:
    """Ids of the processes that endpoints are of."""
    return frozenset(bytes(end.endpoint_gid[:PROCESS]) for end in ends)
