"""The replay node: a bag on the graph again, so that others work without an arm."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from std_msgs.msg import UInt64
from std_srvs.srv import Trigger

from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.metadata import Topic
from bayes_curiosity_ros.bags.player import Cue, Player, cues, parse_selection
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.nodes.conversions.recorded import replayed_bytes
from bayes_curiosity_ros.nodes.door import CheckedNode
from bayes_curiosity_ros.nodes.parameters import declare
from bayes_curiosity_ros.nodes.qos import LATCHED_QOS
from bayes_curiosity_ros.nodes.run import run_node
from bayes_curiosity_ros.nodes.taps import message_class

DEPTH = 1000
CLOCK_PERIOD_NS = 5_000_000
# Messages between two looks whether everybody has got them, at full speed.
ACKNOWLEDGED = DEPTH // 4
ACKNOWLEDGE_S = 10.0
# While waiting for listeners: how often to look, and how long after the last one came.
LOOK_S = 0.05
QUIET_S = 1.0


@dataclass(frozen=True)
class ReplayConfig:
    """Parameters of the replay node.

    Attributes:
        bag: folder of a bag, or one of its files.
        episodes: which episodes to replay, such as 3 or 3,5-8; empty for all.
        rate: 1 as recorded, 2 twice as fast, 0 as fast as listeners can take it.
        exclude: topics to leave out, as recorded or without the leading slash.
        paused: whether to wait for replay/resume or replay/step at the start.
        clock: whether to publish recorded time on /clock.
        wait_s: longest wait for listeners before the first message, in [s]. It ends a second
            after the last one came.
    """

    bag: str = ""
    episodes: str = ""
    rate: float = 1.0
    exclude: tuple[str, ...] = ("",)
    paused: bool = False
    clock: bool = True
    wait_s: float = 5.0

    def __post_init__(self) -> None:
        if not 0 <= self.wait_s < 3600:
            raise ConfigError(f"wait_s = {self.wait_s}; it must be in 0 … 3600")

    def excluded(self) -> set[str]:
        """Names as bags have them."""
        return {f"/{name.lstrip('/')}" for name in self.exclude if name}


class ReplayPublishers:
    """Publishers of recorded topics, with the quality of service that was recorded.

    Args:
        node: node that publishes.
        reader: of a bag whose topics are known; those of types that are not installed here are
            left out and named.
        excluded: names of topics to leave out.
    """

    def __init__(self, node: Node, reader: BagReader, excluded: set[str]) -> None:
        self._publishers: dict[str, Publisher] = {}
        self._topics = reader.topics
        self._unacknowledged = 0
        self.published = 0
        for topic in reader.topics.values():
            if topic.name in excluded:
                continue
            try:
                kind = message_class(topic.type_name)
            except (ImportError, AttributeError, ValueError) as error:
                node.get_logger().warning(f"{topic.name} is not replayed: {error}")
                continue
            self._publishers[topic.name] = node.create_publisher(kind, topic.name, _qos(topic))

    def publish(self, cue: Cue, full_speed: bool) -> None:
        """As recorded, but for the run; at full speed, not faster than listeners take it."""
        publisher = self._publishers.get(cue.record.topic)
        if publisher is None:
            return
        publisher.publish(replayed_bytes(self._topics[cue.record.topic], cue.record.data))
        self.published += 1
        self._unacknowledged += 1
        if full_speed and self._unacknowledged >= ACKNOWLEDGED:
            self.settle()

    def listeners(self) -> int:
        """How many subscriptions have been met."""
        return sum(p.get_subscription_count() for p in self._publishers.values())

    def settle(self) -> None:
        """Wait until reliable listeners have everything."""
        for publisher in self._publishers.values():
            publisher.wait_for_all_acked(Duration(seconds=ACKNOWLEDGE_S))
        self._unacknowledged = 0


class ReplayNode(CheckedNode):
    """Replays a bag in a thread; services and a topic pause it, step it, or send it elsewhere."""

    def __init__(self, config: ReplayConfig | None = None) -> None:
        super().__init__("replay")
        self.config = config or declare(self, ReplayConfig())
        if not self.config.bag:
            raise ConfigError("bag is empty; give a bag's folder: -p bag:=bags/run_…")
        self.reader = BagReader(self.config.bag)
        self.known = survey(self.reader)
        self._selected = parse_selection(self.config.episodes)
        if not any(self._selected(episode) for episode in self.known):
            raise BagError(
                f"{self.config.bag} has no episode {self.config.episodes or 'at all'}; it has "
                f"{_span(self.known)}"
            )
        self._player = Player(self.config.rate, self.config.paused)
        self._topics = ReplayPublishers(self, self.reader, self.config.excluded())
        self._clock_topic = (
            self.create_publisher(Clock, "/clock", 10) if self.config.clock else None
        )
        self._clock_ns = 0
        for name, call in (
            ("pause", self._player.pause),
            ("resume", self._player.resume),
            ("step", self._player.step),
        ):
            self.create_service(Trigger, f"replay/{name}", _answering(call))
        self.create_subscription(UInt64, "replay/seek", self._seek, 10)
        self._status = self.create_publisher(DiagnosticStatus, "replay/status", LATCHED_QOS)
        self._status.publish(self._about())
        self.finished = threading.Event()
        self.failed = False
        self._thread = threading.Thread(target=self._play, name="replay", daemon=True)

    def begin(self) -> None:
        """Start to replay."""
        self._thread.start()

    def end(self) -> None:
        """Stop to replay."""
        self._player.stop()
        self.finished.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5.0)

    def _await_listeners(self) -> None:
        """Nodes may take seconds to meet, and what is published before is lost to them."""
        deadline = quiet = time.monotonic() + self.config.wait_s
        known = 0
        while time.monotonic() < min(deadline, quiet) and not self.finished.wait(LOOK_S):
            if self._topics.listeners() != known:
                known, quiet = self._topics.listeners(), time.monotonic() + QUIET_S

    def _play(self) -> None:
        self._await_listeners()
        try:
            self._player.play(self._cues_from, self._publish, lambda e: e in self.known)
            self._topics.settle()
        except Exception as error:
            if self.context.ok():  # else the graph went away under us, as a signal wants it
                self.failed = True
                self.get_logger().error(f"replay ended: {error}")
        else:
            self.get_logger().info(f"{self._topics.published} messages replayed")
        for loss in self.reader.losses:
            self.get_logger().warning(loss)
        self.finished.set()

    def _cues_from(self, start: int) -> Iterator[Cue]:
        return cues(self.reader, self._selected, start)

    def _publish(self, cue: Cue) -> None:
        now = cue.record.received_ns
        if self._clock_topic is not None and abs(now - self._clock_ns) >= CLOCK_PERIOD_NS:
            self._clock_ns = now
            seconds, nanoseconds = divmod(now, 1_000_000_000)
            self._clock_topic.publish(Clock(clock=Time(sec=seconds, nanosec=nanoseconds)))
        self._topics.publish(cue, full_speed=self.config.rate == 0)

    def _about(self) -> DiagnosticStatus:
        """Which bag this is, and which episodes can be sought."""
        ends = {"first episode": min(self.known), "last episode": max(self.known)}
        values = [KeyValue(key=key, value=str(value)) for key, value in ends.items()]
        return DiagnosticStatus(
            name="replay", message=str(self.reader.path.absolute()), values=values
        )

    def _seek(self, message: UInt64) -> None:
        if message.data in self.known:
            self._player.seek(message.data)
        else:
            self.get_logger().warning(
                f"no episode {message.data} to seek; the bag has {_span(self.known)}"
            )


def survey(reader: BagReader) -> list[int]:
    """The episodes of a bag in their order; afterwards the reader knows all topics."""
    seen: dict[int, None] = {}
    for cue in cues(reader, lambda episode: True):
        if cue.episode is not None:
            seen[cue.episode] = None
    return list(seen)


def _span(episodes: list[int]) -> str:
    return f"{min(episodes)} … {max(episodes)}" if episodes else "none"


def _qos(topic: Topic) -> QoSProfile:
    offered = topic.qos[0] if topic.qos else None
    latched = offered is not None and offered.durability == "transient_local"
    lossy = offered is not None and offered.reliability == "best_effort"
    return QoSProfile(
        depth=DEPTH,
        reliability=ReliabilityPolicy.BEST_EFFORT if lossy else ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def _answering(call: Callable[[], None]) -> Callable[..., Trigger.Response]:
    """A service's callback that makes this call."""

    def answer(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        call()
        response.success = True
        return response

    return answer


class _EndingReplayNode(ReplayNode):
    """Begins at once, and leaves the graph when the bag is over."""

    def __init__(self) -> None:
        super().__init__()
        self.create_timer(0.1, self._leave_when_finished)
        self.begin()

    def _leave_when_finished(self) -> None:
        if self.finished.is_set():
            self.context.try_shutdown()


def main() -> None:
    """Entry point of `ros2 run bayes_curiosity_ros replay`."""
    nodes: list[ReplayNode] = []

    def make() -> Node:
        nodes.append(_EndingReplayNode())
        return nodes[-1]

    code = run_node(make)
    for node in nodes:
        node.end()
        code = code or int(node.failed)
    sys.exit(code)


if __name__ == "__main__":
    main()
