"""A node under fire: what it hears, and what a legitimate request of it gives."""

from __future__ import annotations

import queue
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS
from benchmarks.faults.hostile import spoil
from support.graph import eventually

ANSWER_S = 20.0
FOREIGN = 1 << 40  # episodes from here on are nobody's
Message = Callable[[random.Random], Any]


class NoAnswerError(Exception):
    """A legitimate request was not answered in time, or refused."""


@dataclass
class Input:
    """A topic or service that a node listens to.

    Attributes:
        name: name of it.
        kind: type of it.
        hostile: makes a message that must change nothing.
        harmless: makes a message whose bytes may be damaged at will; None for a service.
        qos: how it travels.
    """

    name: str
    kind: Any
    hostile: Message
    harmless: Message | None = None
    qos: Any = field(default_factory=lambda: EPISODE_QOS)


class Target:
    """A node under fire.

    Args:
        background: node of ours that fires.
        folder: folder for what it writes.
    """

    name = ""
    companions: tuple[str, ...] = ()  # nodes that it needs beside it
    parameters: dict[str, object]

    def __init__(self, background: BackgroundNode, folder: Path) -> None:
        self.background = background
        self.folder = folder
        self.parameters = {}
        self.publishers: dict[str, Any] = {}
        self.prepare()

    def prepare(self) -> None:
        """Make ready what the node needs."""

    def inputs(self) -> list[Input]:
        """Everything that the node hears."""
        raise NotImplementedError

    def probe(self) -> Any:
        """What legitimate requests give: the same at any time.

        Raises:
            NoAnswerError, AssertionError: no answer.
        """
        raise NotImplementedError

    def publisher(self, kind: Any, name: str, qos: Any = EPISODE_QOS) -> Any:
        """Our publisher of a topic."""
        if name not in self.publishers:
            self.publishers[name] = self.background.node.create_publisher(kind, name, qos)
        return self.publishers[name]

    def inbox(self, kind: Any, name: str, qos: Any = EPISODE_QOS) -> queue.Queue:
        """What the node says on a topic from now on."""
        messages: queue.Queue = queue.Queue(maxsize=0)
        self.background.node.create_subscription(kind, name, messages.put, qos)
        return messages

    def call(self, kind: Any, name: str, request: Any, timeout_s: float = ANSWER_S) -> Any:
        """Call a service."""
        return self.background.call(kind, name, request, timeout_s)

    def insist(self, publish: Callable[[], None], inbox: queue.Queue, fits: Any) -> Any:
        """Publish until an answer comes: whoever was busy may have lost the first."""
        deadline = time.monotonic() + ANSWER_S
        while time.monotonic() < deadline:
            publish()
            try:
                return eventually(inbox, fits, 0.5)
            except AssertionError:
                continue
        raise NoAnswerError(f"nothing within {ANSWER_S} s")


def plain(topic: str, kind: Any, qos: Any = EPISODE_QOS) -> Input:
    """A topic on which an empty message is as good as any."""
    return Input(topic, kind, spoilt(lambda rng: kind()), lambda rng: kind(), qos)


def stranger(kind: Any) -> Message:
    """Makes messages of an episode that nobody runs."""
    return lambda rng: kind(episode=FOREIGN + rng.randrange(FOREIGN), step=rng.randrange(1000))


def spoilt(make: Message) -> Message:
    """Makes messages with hostile values anywhere."""
    return lambda rng: spoil(make(rng), rng)
