"""The recorder, as the learner sees it: whether it hears, whether it is there, what it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from bayes_curiosity_ros.errors import DamagedFileError
from bayes_curiosity_ros.nodes.peers import processes
from bayes_curiosity_ros.nodes.qos import LATCHED_QOS
from bayes_curiosity_ros.nodes.taps import HEARD, LACKING, LEARNER, SETTLED, publishers_of
from bayes_curiosity_ros.nodes.waiter import EndedError, Waiter, WaitTimeoutError

TOPIC = "recorder/status"
# What is published of episodes, and of the arm's process what is latched: whether it has met the
# recorder shows in what the recorder has got alone (`Tap.heard`).
EPISODE_TOPICS = ("observation", "action", "episode", "arm/state", "arm/status")


class UnrecordedError(DamagedFileError):
    """What was published before a checkpoint went down with its learner, and is to be run again.

    The middleware repeats a message that was lost on the way as long as its publisher lives.
    """


class RecorderClient:
    """Listens to the recorder's status."""

    def __init__(self, node: Node, waiter: Waiter) -> None:
        self._node = node
        self._waiter = waiter
        self._status = DiagnosticStatus()
        self._values: dict[str, str] = {}
        self._topics: list[str] = []
        node.create_subscription(DiagnosticStatus, TOPIC, self._take, LATCHED_QOS)

    def wait_until_there(self, topics: Iterable[str], timeout_s: float) -> None:
        """Wait until it says that it hears these topics: meeting takes seconds at times.

        That is, each publisher that we know of: one that was started again is another.
        """
        self._topics = sorted(self._node.resolve_topic_name(name) for name in topics)
        what = f"a recorder of {', '.join(self._topics)} (is it running?)"
        self._waiter.until(self._is_heard, timeout_s, what)

    def wait_if_there(self, timeout_s: float, tell: Callable[[str], object]) -> None:
        """The same in mid-run, which a recorder that is gone does not end."""
        try:
            self.wait_until_there(self._topics, timeout_s)
        except WaitTimeoutError as error:
            tell(f"going on without {error}")

    def require(self, episode: int) -> None:
        """Check that it waits for nothing more of the episodes up to this one.

        Raises:
            UnrecordedError: it does; nobody will send that any more.
        """
        settled = int(self._values.get(SETTLED, -1))
        if 0 <= settled < episode:  # one that has heard nothing yet cannot tell
            raise UnrecordedError(f"the recorder has not got all of episodes 1…{episode}")

    def problem(self) -> str:
        """Why what happens now is not recorded; empty where it is."""
        if self._status.level == DiagnosticStatus.ERROR:
            return str(self._status.message)
        return "" if self._node.count_publishers(TOPIC) else "there is no recorder any more"

    def finish(self, episode: int, timeout_s: float) -> str:
        """Wait until it is settled what it has of all episodes.

        Args:
            episode: the last one.
            timeout_s: longest wait.

        Returns:
            what is missing, in words; empty where nothing is.
        """
        try:
            self._waiter.until(lambda: self._settled(episode) or self.problem(), timeout_s, TOPIC)
        except (WaitTimeoutError, EndedError) as error:
            return f"the recorder did not say that it has episode {episode}: {error}"
        return self.problem() or self._values[LACKING]

    def _is_heard(self) -> bool:
        """Whether each knows of the other: who publishes leaves out whom it has not met."""
        known = [self._node.get_publishers_info_by_topic(topic) for topic in self._topics]
        publishers = set(chain(*map(publishers_of, self._topics, known)))
        recorders = processes(self._node.get_publishers_info_by_topic(TOPIC))
        heard = all(known) and publishers <= set(self._values.get(HEARD, "").split())
        return heard and all(recorders <= self._listeners(topic) for topic in self._topics)

    def _listeners(self, topic: str) -> frozenset[bytes]:
        return processes(self._node.get_subscriptions_info_by_topic(topic))

    def _settled(self, episode: int) -> bool:
        ended = self._values.get(LEARNER) == "ended"
        return ended and int(self._values[SETTLED]) >= episode

    def _take(self, status: DiagnosticStatus) -> None:
        self._status = status
        self._values = {pair.key: pair.value for pair in status.values}
