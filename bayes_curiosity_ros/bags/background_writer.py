"""Writing in a thread of its own: whoever delivers messages never waits for the disk."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bayes_curiosity_ros.bags.ledger import Verdict
from bayes_curiosity_ros.bags.metadata import Topic
from bayes_curiosity_ros.bags.storage import Record
from bayes_curiosity_ros.bags.writer import BagWriter
from bayes_curiosity_ros.errors import ConfigError


@dataclass(frozen=True)
class QueueConfig:
    """How much may wait for the disk, and for how long.

    Attributes:
        max_queue_mb: messages waiting for the disk in [MB]; what comes beyond it is dropped,
            counted and reported.
        flush_period_s: at most this much is lost when the recorder is killed, in [s].
    """

    max_queue_mb: float = 256.0
    flush_period_s: float = 0.5

    def __post_init__(self) -> None:
        for name in ("max_queue_mb", "flush_period_s"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ConfigError(f"{name} = {getattr(self, name)}; it must be finite and > 0")


@dataclass(frozen=True)
class Counts:
    """Where a recording stands.

    Attributes:
        written: messages handed to the bag.
        written_bytes: their size.
        waiting: messages in the queue.
        dropped: by topic.
        error: why nothing more can be written; empty while all is well.
        episodes: seen so far.
        verdict: what the bag has of them, and what it lacks.
    """

    written: int
    written_bytes: int
    waiting: int
    dropped: dict[str, int]
    error: str
    episodes: int
    verdict: Verdict


class BackgroundWriter:
    """A bag, a bounded queue and the thread between them."""

    def __init__(self, bag: BagWriter, config: QueueConfig | None = None) -> None:
        self._bag = bag
        self._config = config or QueueConfig()
        self._queue: deque[Topic | Record] = deque()
        self._waiting_bytes = 0
        self._dropped: Counter[str] = Counter()
        self._written = self._written_bytes = 0
        self._error = ""
        self._verdict = Verdict()
        self._lacking: tuple[str, ...] = ()
        self._closing = False
        self._work = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="bag writer", daemon=True)
        self._thread.start()

    def add_topic(self, topic: Topic) -> None:
        """Declare a topic; needed before its first message."""
        with self._work:
            self._queue.append(topic)

    def put(self, records: Iterable[Record]) -> None:
        """Take messages over; returns at once."""
        limit = self._config.max_queue_mb * 1e6
        with self._work:
            for record in records:
                size = len(record.data)
                if self._error or self._waiting_bytes + size > limit:
                    self._dropped[record.topic] += 1
                    continue
                self._queue.append(record)
                self._waiting_bytes += size
            # No wake-up: the writer looks by itself, a few times in a flush period.

    def counts(self) -> Counts:
        """Where the recording stands now."""
        with self._work:
            return Counts(
                self._written,
                self._written_bytes,
                len(self._queue),
                dict(self._dropped),
                self._error,
                self._bag.episodes,
                self._verdict,
            )

    def close(self, lacking: Iterable[str] = (), timeout_s: float = 30.0) -> Counts:
        """Write what waits, finish the bag and say how it went.

        Args:
            lacking: what is missing because it never came here, in sentences.
            timeout_s: longest wait for the disk.
        """
        with self._work:
            self._lacking = tuple(lacking)
            self._closing = True
            self._work.notify()
        self._thread.join(timeout_s)
        return self.counts()

    def _run(self) -> None:
        period = self._config.flush_period_s
        flushed = time.monotonic()
        while not self._closing:
            with self._work:
                self._work.wait_for(lambda: self._closing, timeout=period / 5)
            self._guarded(self._write_waiting)
            self._guarded(self._settle)
            if time.monotonic() - flushed >= 0.8 * period:
                self._guarded(self._bag.flush)
                flushed = time.monotonic()
        self._guarded(self._write_waiting)
        self._guarded(self._finish)

    def _write_waiting(self) -> None:
        with self._work:
            items, self._queue = self._queue, deque()
        written, size = 0, 0
        try:
            for item in items:
                if isinstance(item, Topic):
                    self._bag.add_topic(item)
                    continue
                self._bag.write(item)
                written += 1
                size += len(item.data)
        finally:
            with self._work:
                self._written += written
                self._written_bytes += size
                records = [item for item in items if isinstance(item, Record)]
                self._waiting_bytes -= sum(len(record.data) for record in records)
                self._dropped.update(record.topic for record in records[written:])

    def _settle(self) -> None:
        """Keep what the bag knows of its episodes where others can ask for it."""
        self._bag.ledger.settle()
        verdict = self._bag.ledger.verdict()
        with self._work:
            self._verdict = verdict

    def _finish(self) -> None:
        dropped = dict(self._dropped)
        remarks = {"dropped": str(sum(dropped.values()))}
        remarks |= {f"dropped {topic}": str(count) for topic, count in dropped.items()}
        lacking = [f"{topic}: {count} messages dropped" for topic, count in dropped.items()]
        verdict = self._bag.close(remarks, (*lacking, *self._lacking))
        with self._work:
            self._verdict = verdict

    def _guarded(self, step: Callable[[], None]) -> None:
        """A full disk ends the recording, not the robot's work."""
        if self._error:
            return
        try:
            step()
        except Exception as error:
            with self._work:
                self._error = f"{type(error).__name__}: {error}"
