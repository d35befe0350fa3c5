"""What a bag has of every episode, and what it should have.

A step's messages carry (episode, step), a summary says how many steps its episode had, and the
learner's status which episode was the newest and whether learning has ended. So a bag can tell
what is missing in it, while it is written and when it is read.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from bayes_curiosity_ros.bags.metadata import Topic
from bayes_curiosity_ros.bags.peek import (
    LEARNER_STATUS,
    PACKAGE,
    STEP_TYPES,
    SUMMARY,
    UNREADABLE,
    episode_and_step,
    outcome_of_summary,
    state_and_episodes,
)
from bayes_curiosity_ros.bags.storage import Record
from bayes_curiosity_ros.spans import Spans, span

ABORTED = 3  # outcome in an EpisodeSummary
RUNNING, FINISHED, FAILED = 0, 2, 3  # states in a LearnerStatus
ENDED = (FINISHED, FAILED)
ACTION = f"{PACKAGE}/Action"
TWO_LEVELS = (f"{PACKAGE}/ArmState", LEARNER_STATUS)  # as in arm/state; the others have one
# An episode that is not the newest, and of which nothing came for this long: nothing will. A
# recorder that was held up hears one topic after the other.
OVERDUE_S = 5.0
# Learning has ended, and nothing came for this long in [s].
SETTLED_S = 2.0
# An episode so far ahead of all others is nobody's.
FAR = 10_000
BEFORE = "before"  # in a bag's description: name of the bag before it
SHOWN = 20


@dataclass(frozen=True)
class Verdict:
    """What a bag has, as far as that is settled.

    Attributes:
        whole: first and last ids of episodes of which nothing is missing; aborted ones count.
        lacking: a sentence per thing that is missing.
        under_way: the episode that had not ended when the bag did; None where there is none.
        settled: every episode up to this id was judged; -1 where none was.
        learner: what was last heard of the learner: "", "running" or "ended".
    """

    whole: tuple[tuple[int, int], ...] = ()
    lacking: tuple[str, ...] = ()
    under_way: int | None = None
    settled: int = -1
    learner: str = ""

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.lacking and self.learner != "running"

    @property
    def episodes(self) -> str:
        """Which episodes are whole, in words."""
        words = ", ".join(span(first, last) for first, last in self.whole[:SHOWN]) or "none"
        words += f" and {len(self.whole) - SHOWN} more stretches" * (len(self.whole) > SHOWN)
        words += " whole"
        return words if self.under_way is None else f"{words}, {self.under_way} under way"

    def sentence(self) -> str:
        """Whether it is complete, or what is missing, in words."""
        if self.complete:
            return "complete"
        parts = list(self.lacking[:SHOWN])
        if len(self.lacking) > SHOWN:
            parts.append(f"{len(self.lacking) - SHOWN} more")
        if self.learner == "running":
            parts.append("the learner's end was not recorded")
        return f"not complete: {'; '.join(parts)}"


@dataclass
class _Account:
    """What came of one episode.

    Attributes:
        heard_ns: when the newest message came.
        steps: by the type of the messages.
        last: last step, as the summary says; None before it.
        aborted: whether the summary said so.
    """

    heard_ns: int
    steps: dict[str, set[int]] = field(default_factory=dict)
    last: int | None = None
    aborted: bool = False

    def wanted(self, kind: str) -> int:
        """How many messages of a type there should be; before the end, as many as it reached."""
        if self.last is None:
            return max(self.steps.get(kind, ()), default=-1) + 1
        return self.last + (kind != ACTION)

    def is_whole(self, kinds: set[str]) -> bool:
        """Whether it has ended and nothing is missing."""
        if self.last is None:
            return False
        enough = all(len(self.steps.get(kind, ())) >= self.wanted(kind) for kind in kinds)
        return enough and not any(self.gaps(kinds))

    def gaps(self, kinds: set[str]) -> Iterator[str]:
        """What is missing, a phrase per type."""
        for kind in sorted(kinds):
            steps, wanted = self.steps.get(kind, set()), self.wanted(kind)
            missing = wanted - sum(step < wanted for step in steps)
            if missing > 0:
                first = next(step for step in count() if step not in steps)
                name = kind.rpartition("/")[2]
                yield f"{missing} of {wanted} {name} missing, the first at step {first}"


class Ledger:
    """Follows the messages of one graph.

    Args:
        before: name of the bag before this one, where what came earlier may be.

    Attributes:
        late: whether messages were published before the bag began.
    """

    def __init__(self, before: str = "") -> None:
        self.late = False
        self._bag_before = before
        self._open: dict[int, _Account] = {}
        self._kinds: set[str] = set()
        self._whole = Spans()
        self._lacking: dict[int, str] = {}
        self._under_way: int | None = None
        self._first: int | None = None  # episode in the bag
        self._newest = -1
        self._state: int | None = None  # of the learner
        self._before: int | None = None  # episode that was the newest when the learner was heard
        self._heard_s = 0.0

    def take(self, type_name: str, record: Record) -> None:
        """Take in a message of a step or the learner's status; what is unreadable is left out."""
        try:
            if type_name == LEARNER_STATUS:
                self._hear(*state_and_episodes(record.data), record.received_ns)
            else:
                self._enter(type_name, record)
        except UNREADABLE:
            return
        if self._state in ENDED:
            self._heard_s = time.monotonic()

    def settle(self) -> None:
        """Judge what is open, once learning has ended and nothing more comes."""
        silent_s = time.monotonic() - self._heard_s
        if self._open and self._state in ENDED and silent_s > SETTLED_S:
            self.close()

    def close(self) -> Verdict:
        """Judge all that is open."""
        for episode in sorted(self._open):
            self._judge(episode)
        return self.verdict()

    def verdict(self) -> Verdict:
        """What is settled so far."""
        lacking = list(_sentences(self._lacking))
        if self._is_late():
            see = f"; see {self._bag_before}" if self._bag_before else ""
            lacking.insert(0, f"episodes before {self._first} are not in this bag{see}")
        learner = "" if self._state is None else "ended" if self._state in ENDED else "running"
        settled = min(self._open, default=self._newest + 1) - 1
        return Verdict(tuple(self._whole), tuple(lacking), self._under_way, settled, learner)

    def _enter(self, type_name: str, record: Record) -> None:
        episode, step = episode_and_step(record.data)
        if self._first is None:
            self._first, self._newest = episode, episode - 1
        if episode > self._newest:
            self._open_until(episode, record.received_ns)
        account = self._open.get(episode)
        if account is None:  # it was judged, or is nobody's
            return
        account.heard_ns = record.received_ns
        if type_name != SUMMARY:
            self._kinds.add(type_name)
            account.steps.setdefault(type_name, set()).add(step)
        elif outcome_of_summary(record.data) == ABORTED:
            account.aborted = True
            account.steps.clear()  # it may be repeated under the same id
        else:
            account.last, account.aborted = step, False
        if account.is_whole(self._kinds):
            self._judge(episode)

    def _hear(self, state: int, episode: int, time_ns: int) -> None:
        """The learner's status; one that fails may not have begun its newest episode."""
        self._state = state
        if self._before is None:
            self._before = episode
        if self._first is None and episode > self._before and state == FINISHED:
            self._first, self._newest = self._before + 1, self._before
        if self._first is not None:
            self._open_until(episode - (state == FAILED), time_ns)

    def _open_until(self, episode: int, time_ns: int) -> None:
        """Open accounts up to this episode; those of the ones before may be overdue."""
        if not self._newest < episode <= self._newest + FAR:
            return
        for number in range(self._newest + 1, episode + 1):
            self._open[number] = _Account(time_ns)
        self._newest = episode
        for other, account in list(self._open.items()):
            if account.aborted or time_ns - account.heard_ns > OVERDUE_S * 1e9:
                self._judge(other)

    def _judge(self, episode: int) -> None:
        account = self._open.pop(episode)
        if account.aborted or account.is_whole(self._kinds):
            self._whole.add(episode)
            return
        gaps = list(account.gaps(self._kinds))
        if episode == self._first and account.steps:
            self.late |= not any(0 in steps for steps in account.steps.values())
        if account.last is None:
            if episode == self._newest and self._state != FINISHED:
                self._under_way = episode
            else:
                gaps.append("its end was not recorded" if account.steps else "nothing recorded")
        if gaps:
            self._lacking[episode] = ", ".join(gaps)

    def _is_late(self) -> bool:
        """Whether episodes came before the first one in the bag."""
        if self._first is None:
            return False
        return self.late or (self._before is not None and self._first > self._before + 1)


class Ledgers:
    """A ledger for every graph in a bag; there is mostly one.

    Args:
        before: name of the bag before this one, where what came earlier may be.

    Attributes:
        late: whether messages were published before the bag began.
    """

    def __init__(self, before: str = "") -> None:
        self.late = False
        self._before = before
        self._of_graph: dict[str, Ledger] = {}
        self._of_topic: dict[str, tuple[Ledger, str]] = {}

    def add_topic(self, topic: Topic) -> None:
        """Declare a topic; needed before its first message."""
        kind = topic.type_name
        if kind in STEP_TYPES or kind == LEARNER_STATUS:
            graph = topic.name.rsplit("/", 2 if kind in TWO_LEVELS else 1)[0]
            ledger = self._of_graph.setdefault(graph, Ledger(self._before))
            self._of_topic[topic.name] = ledger, kind

    def take(self, record: Record) -> None:
        """Take in a message, if it matters."""
        found = self._of_topic.get(record.topic)
        if found is not None:
            found[0].take(found[1], record)

    def settle(self) -> None:
        """Judge what is open, once learning has ended and nothing more comes."""
        for ledger in self._of_graph.values():
            ledger.settle()

    def close(self) -> Verdict:
        """Judge all that is open."""
        for ledger in self._of_graph.values():
            ledger.close()
        return self.verdict()

    def verdict(self) -> Verdict:
        """What is settled so far, of the graph with most episodes; lacking is what any lacks."""
        for ledger in self._of_graph.values():
            ledger.late |= self.late
        verdicts = {graph: ledger.verdict() for graph, ledger in self._of_graph.items()}
        if not verdicts:
            return Verdict()
        if len(verdicts) == 1:
            return next(iter(verdicts.values()))
        lacking = [f"{graph or '/'} {each}" for graph, v in verdicts.items() for each in v.lacking]
        most = max(verdicts.values(), key=lambda verdict: verdict.settled)
        return replace(most, lacking=tuple(lacking))


def _sentences(lacking: dict[int, str]) -> Iterator[str]:
    """What is missing, episodes that lack the same together."""
    by_what: dict[str, Spans] = {}
    for episode in sorted(lacking):
        by_what.setdefault(lacking[episode], Spans()).add(episode)
    for what, episodes in by_what.items():
        for first, last in episodes:
            yield f"episode{'s' * (first != last)} {span(first, last)}: {what}"
