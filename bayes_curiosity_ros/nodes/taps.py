"""Raw subscriptions that are emptied by hand, many messages at a time.

An executor spends more on waking up for a message than a recorder on keeping it. A tap stays out
of the executor; whoever owns it takes all that has come, as serialised bytes, in a plain loop.
"""

from __future__ import annotations

import importlib
import time
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo

from bayes_curiosity_ros.bags.definitions import Definition, find_definition
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.metadata import Qos, Topic
from bayes_curiosity_ros.bags.storage import Record
from bayes_curiosity_ros.nodes.wire import subscribe_aside

# In a recorder's status: publishers that it hears, as `publishers_of` names them, the newest
# episode of which it is settled what was recorded, what was last heard of the learner, and what is
# missing.
HEARD, SETTLED, LEARNER, LACKING = "publishers heard", "episode settled", "learner", "lacking"
DEPTH = 2000  # messages that may come between two visits


class Tap:
    """One topic; adapts to what its publishers offer.

    Args:
        node: whose namespace the topic is relative to.
        name: relative or absolute.
        type_name: where known; else it is learnt from the first publisher.
        latched: whether late joiners are served.

    Attributes:
        lost: messages that the middleware lost on the way.
        missed: messages that were published before we were heard of.
        problem: why it cannot be recorded; empty where it can.
    """

    def __init__(self, node: Node, name: str, type_name: str = "", latched: bool = False) -> None:
        self.name = node.resolve_topic_name(name)
        self.type_name = type_name
        self.lost = 0
        self.missed = 0
        self.problem = ""
        self._node = node
        self._qos = (ReliabilityPolicy.RELIABLE, _durability(latched))
        self._latched = latched
        self._subscription: Any = None
        self._sequence: int | None = None
        self._begun = False
        self._publishers = 1
        self._spoken: set[str] = set()  # publishers that were known when a message came
        if type_name:
            self._subscribe()

    def adapt(self) -> None:
        """Look at the publishers, and subscribe in a way that hears them all."""
        infos = self._infos()
        if not infos or self.problem:
            return
        self._publishers = len(infos)
        wanted = _compatible(infos)
        if self._subscription is None or wanted != self._qos:
            self._qos, self.type_name = wanted, infos[0].topic_type
            self._subscribe()

    @property
    def reliable(self) -> bool:
        """Whether whatever is published should come."""
        return self._qos[0] == ReliabilityPolicy.RELIABLE

    @property
    def latched(self) -> bool:
        """Whether late joiners are served."""
        return self._qos[1] == DurabilityPolicy.TRANSIENT_LOCAL

    @property
    def heard(self) -> list[str]:
        """The publishers that were found; of a latched topic, those that have spoken to us.

        A publisher that we have found may not have met us yet, and publishes past us. One that
        is latched speaks as soon as it has, and all its process publishes has met us by then.
        """
        found = publishers_of(self.name, self._infos())
        return [each for each in found if each in self._spoken] if self.latched else found

    def take(self) -> list[Record]:
        """All that has come since the last visit."""
        if self._subscription is None:
            return []
        records, handle, kind = [], self._subscription.handle, self._subscription.msg_type
        with handle:
            for _ in range(DEPTH):
                taken = handle.take_message(kind, True)
                if taken is None:
                    break
                data, info = taken
                received = info["received_timestamp"] or time.time_ns()
                records.append(Record(self.name, received, info["source_timestamp"], data))
                self._follow(info["publication_sequence_number"])
        if records and self.latched:
            self._spoken = set(publishers_of(self.name, self._infos()))
        return records

    def describe(self) -> Topic:
        """The topic as a bag describes it; to be asked when the first message has come."""
        infos = self._infos()
        try:
            definition = find_definition(self.type_name)
        except BagError as error:
            self._node.get_logger().warning(f"{self.name}: {error}; recorded without it")
            definition = Definition(self.type_name, "")
        if infos:
            digest = str(infos[0].topic_type_hash)
            definition = Definition(self.type_name, definition.text, digest)
        return Topic(self.name, definition, tuple(_offered(info.qos_profile) for info in infos))

    def _infos(self) -> list[TopicEndpointInfo]:
        return self._node.get_publishers_info_by_topic(self.name)

    def _subscribe(self) -> None:
        if self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
        try:
            kind = message_class(self.type_name)
        except (ImportError, AttributeError, ValueError) as error:
            self.problem = f"type {self.type_name} is not installed here ({error})"
            self._node.get_logger().error(f"{self.name} is not recorded: {self.problem}")
            return
        reliability, durability = self._qos
        qos = QoSProfile(depth=DEPTH, reliability=reliability, durability=durability)
        self._subscription = subscribe_aside(self._node, kind, self.name, qos)

    def _follow(self, sequence: int | None) -> None:
        """Notice what the middleware lost before us; only a lone publisher counts up by one."""
        if sequence is None or self._publishers != 1:
            self._sequence, self._begun = None, True
            return
        if not self._begun and not self._latched:
            self.missed = sequence - 1
        elif self._sequence is not None and sequence > self._sequence + 1:
            self.lost += sequence - self._sequence - 1
        self._sequence, self._begun = sequence, True


def publishers_of(topic: str, infos: list[TopicEndpointInfo]) -> list[str]:
    """A word for each publisher of a topic, which no other process's publisher has."""
    return [f"{topic}@{bytes(info.endpoint_gid).hex()}" for info in infos]


def message_class(type_name: str) -> Any:
    """The class of a message type, such as "std_msgs/msg/Header".

    Raises:
        ImportError, AttributeError, ValueError: it is not installed.
    """
    package, _, name = type_name.split("/")
    return getattr(importlib.import_module(f"{package}.msg"), name)


def _durability(latched: bool) -> DurabilityPolicy:
    return DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE


def _compatible(infos: list[TopicEndpointInfo]) -> tuple[ReliabilityPolicy, DurabilityPolicy]:
    """The most that every publisher offers."""
    profiles = [info.qos_profile for info in infos]
    reliable = all(p.reliability == ReliabilityPolicy.RELIABLE for p in profiles)
    latched = all(p.durability == DurabilityPolicy.TRANSIENT_LOCAL for p in profiles)
    return (
        ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        _durability(latched),
    )


def _offered(profile: QoSProfile) -> Qos:
    return Qos(
        history=profile.history.name.lower(),
        depth=profile.depth,
        reliability=profile.reliability.name.lower(),
        durability=profile.durability.name.lower(),
        liveliness=profile.liveliness.name.lower(),
    )
