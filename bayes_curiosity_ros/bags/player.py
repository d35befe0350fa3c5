"""Which recorded message is replayed next, and when: play, pause, step, seek; without ROS."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from bayes_curiosity_ros.bags.episode import OBSERVATION
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.peek import STEP_TYPES, episode_and_step
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.bags.storage import Record
from bayes_curiosity_ros.configuration.ranges import parse_ranges
from bayes_curiosity_ros.errors import ConfigError


class Cue(NamedTuple):
    """One message to replay.

    Attributes:
        record: the message.
        episode: id of the episode that it belongs to; None before the first.
        begins_step: whether it is an observation.
    """

    record: Record
    episode: int | None
    begins_step: bool


def parse_selection(text: str) -> Callable[[int], bool]:
    """A test of an episode's id, from "3", "3,5-8" or "" for all.

    Raises:
        ConfigError: it is none of these.
    """
    if not text.strip():
        return lambda episode: True
    return frozenset(parse_ranges(text, "episodes")).__contains__


def cues(reader: BagReader, selected: Callable[[int], bool], start: int = -1) -> Iterator[Cue]:
    """Messages of the selected episodes from episode `start` on, and what late joiners need.

    A message without an episode of its own (an image, a transform) belongs to the episode under
    way. Latched messages are always played: what they say holds from then on.
    """
    current: int | None = None
    started = start < 0
    for record in reader.records():
        topic = reader.topics[record.topic]
        if topic.type_name in STEP_TYPES:
            current, _ = episode_and_step(record.data)
            started = started or current == start
        latched = any(profile.durability == "transient_local" for profile in topic.qos)
        if (started and current is not None and selected(current)) or latched:
            yield Cue(record, current, topic.type_name == OBSERVATION)


class Player:
    """Replays messages in one thread, while others pause it, step it, or send it elsewhere.

    Args:
        rate: 1 as recorded, 2 twice as fast, 0 as fast as can be.
        paused: whether to wait for `resume` or `step` at the start.
    """

    def __init__(self, rate: float = 1.0, paused: bool = False) -> None:
        if not 0 <= rate < float("inf"):
            raise ConfigError(f"rate = {rate}; it must be finite and ≥ 0")
        self._rate = rate
        self._changed = threading.Condition()
        self._paused = paused
        self._steps = 0
        self._seek: int | None = None
        self._stopped = False
        self._base: tuple[int, float] | None = None

    def pause(self) -> None:
        """Hold before the next message."""
        with self._changed:
            self._paused, self._base = True, None
            self._changed.notify_all()

    def resume(self) -> None:
        """Go on."""
        with self._changed:
            self._paused, self._base = False, None
            self._changed.notify_all()

    def step(self) -> None:
        """Play up to the next observation, it included, and hold again."""
        with self._changed:
            self._paused, self._base = True, None
            self._steps += 1
            self._changed.notify_all()

    def seek(self, episode: int) -> None:
        """Go on at the start of this episode."""
        with self._changed:
            self._seek, self._base = episode, None
            self._changed.notify_all()

    def stop(self) -> None:
        """End for good; `play` returns."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def play(
        self,
        cues_from: Callable[[int], Iterator[Cue]],
        publish: Callable[[Cue], None],
        known: Callable[[int], bool] = lambda episode: True,
    ) -> None:
        """Hand each message of `cues_from(start)` to `publish` when its time has come.

        Args:
            cues_from: gives the messages from an episode on; -1 for all.
            publish: called in this thread.
            known: whether there is such an episode, asked before seeking.

        Raises:
            BagError: there is no such episode to seek.
        """
        start: int | None = -1
        while start is not None:
            following, start = start, None
            for cue in cues_from(following):
                if not self._await_turn(cue):
                    break
                publish(cue)
            if self._stopped:
                return
            start, self._seek = self._seek, None
            if start is not None and not known(start):
                raise BagError(f"the bag has no episode {start} to seek")

    def _await_turn(self, cue: Cue) -> bool:
        """Wait until the message is due; False to go on elsewhere, or to end."""
        with self._changed:
            while True:
                if self._stopped or self._seek is not None:
                    return False
                if self._paused:
                    if self._steps:
                        self._steps -= cue.begins_step
                        return True
                    self._changed.wait()
                    continue
                left = self._seconds_left(cue.record.received_ns)
                if left <= 0:
                    return True
                self._changed.wait(left)

    def _seconds_left(self, recorded_ns: int) -> float:
        if self._rate == 0:
            return 0.0
        now = time.monotonic()
        if self._base is None:
            self._base = recorded_ns, now
        first_ns, began = self._base
        return began + (recorded_ns - first_ns) * 1e-9 / self._rate - now
