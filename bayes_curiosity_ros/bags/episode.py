"""The episodes of a bag, as arrays."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayes_curiosity_ros.bags.decode import decode
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.peek import PACKAGE, STEP_TYPES, episode_and_step
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.bags.storage import Record
from bayes_curiosity_ros.curiosity.data import Observations, rgbd_images
from bayes_curiosity_ros.robot.cameras.pixels import pixel_rows

OUTCOMES = ("success", "failure", "time_limit", "aborted")
OBSERVATION, ACTION, ARM_STATE, REWARD, SUMMARY = (
    f"{PACKAGE}/{name}"
    for name in ("Observation", "Action", "ArmState", "IntrinsicReward", "EpisodeSummary")
)
# Nothing comes later than this after the rest of its episode, in [s]; and so many episodes are
# waited with at most.
LATE_S = 5.0
MOST_OPEN = 64
CURIOSITY_STATE = f"{PACKAGE}/CuriosityState"


@dataclass(frozen=True)
class Episode:
    """One episode, a row per observed step; numbers that were not recorded are NaN.

    Attributes:
        id: number of the episode, as the learner counted.
        steps: (N,) step numbers, rising; 0 … T unless some were lost.
        stamps_s: (N,) header stamps.
        vectors: (N, D) observations.
        color: (N, H, W, 3) uint8 or None.
        depth: (N, H, W) float32 in [m] or None.
        driven: (N,) bool, whether a person acted at this step in place of the policy.
        actions: (N, J) joint deltas that whoever acted asked for at this step, in [rad]; NaN in
            the last row.
        gripper: (N,) asked for at this step, 0 open … 1 closed.
        executed: (N, J) joint deltas that came of it, in [rad].
        positions: (N, J + F) measured at this step, joints and then fingers, in [rad].
        objects: (N, 3) position of the object in [m].
        variance, curiosity, reward: (N,) as the curiosity node said.
        outcome: one of OUTCOMES, or "" where the episode's end was not recorded.
        extrinsic_return: NaN likewise.
        faults: sentences on what is missing or doubled.
    """

    id: int
    steps: np.ndarray
    stamps_s: np.ndarray
    vectors: np.ndarray
    color: np.ndarray | None
    depth: np.ndarray | None
    driven: np.ndarray
    actions: np.ndarray
    gripper: np.ndarray
    executed: np.ndarray
    positions: np.ndarray
    objects: np.ndarray
    variance: np.ndarray
    curiosity: np.ndarray
    reward: np.ndarray
    outcome: str
    extrinsic_return: float
    faults: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def learnt_from(self) -> bool:
        """Whether the learner gave it to the curiosity: it ended, and not by an abort."""
        return self.outcome not in ("", "aborted")

    def observations(self) -> Observations:
        """The observations as the curiosity sees them, exactly as its node converts messages."""
        if self.color is None or self.depth is None:
            return Observations(self.vectors)
        return Observations(self.vectors, rgbd_images(self.color, self.depth))

    def pairs(self) -> tuple[Observations, np.ndarray]:
        """Observations acted on and the actions taken there, the gripper last where it moved."""
        rows = np.flatnonzero(np.isfinite(self.actions).all(axis=1) & (self.actions.shape[1] > 0))
        actions = self.actions[rows]
        return self.observations()[rows], np.column_stack([actions, self.gripper[rows]])


def read_episodes(
    reader: BagReader,
    namespace: str = "",
    selected: Callable[[int], bool] = lambda episode: True,
) -> Iterator[Episode]:
    """The episodes of a bag in their order; what cannot be decoded is in `reader.losses`.

    An episode that was begun again, as a node was lost in it, is the last attempt. One that a
    learner ran once more after it was started again, bit for bit, is given out once.

    An episode is given out when it is whole and the second one after it has begun. A message that
    the middleware had to repeat comes up to three seconds late, and its whole topic with it: so
    long one that lacks something is waited for, or for at most `MOST_OPEN` others.

    Args:
        reader: reader of the bag.
        namespace: namespace of the recorded graph; needed where there were several.
        selected: whether to give out the episode of this id.
    """
    gatherer = _Gatherer(reader, namespace)
    for record in reader.records(STEP_TYPES):
        yield from (e for e in gatherer.take(record) if selected(e.id))
    yield from (e for e in gatherer.rest() if selected(e.id))
    reader.losses += gatherer.losses


@dataclass
class _Messages:
    """Decoded messages of one episode, by step; of those that came twice, the later ones.

    Attributes:
        before: those of an earlier attempt that came to its end.
        heard_ns: when the newest of them was recorded.
        begun: how often the first step came, by type.
        doubled: messages that came twice.
    """

    before: _Messages | None = None
    observations: dict[int, Any] = field(default_factory=dict)
    actions: dict[int, Any] = field(default_factory=dict)
    states: dict[int, Any] = field(default_factory=dict)
    rewards: dict[int, Any] = field(default_factory=dict)
    summary: Any = None
    heard_ns: int = 0
    begun: Counter[str] = field(default_factory=Counter)
    doubled: int = 0

    def begin_again(self, type_name: str, step: int) -> bool:
        """Whether this is the first step of another attempt after one that came to its end."""
        return step == 0 and _is_end(self.summary) and 0 in self.by_type.get(type_name, ())

    @property
    def by_type(self) -> dict[str, dict[int, Any]]:
        """Messages of the types whose steps come in order."""
        return {OBSERVATION: self.observations, ACTION: self.actions, ARM_STATE: self.states}

    def take(self, type_name: str, step: int, message: Any) -> None:
        """Sort in one message."""
        if type_name == SUMMARY:
            self.doubled += _is_end(self.summary)
            self.summary = message
            return
        messages = self.rewards if type_name == REWARD else self.by_type[type_name]
        self.begun[type_name] += step == 0
        self.doubled += step in messages
        if type_name != REWARD or _valid(message) or step not in messages:
            messages[step] = message

    def last_whole(self) -> _Messages:
        """The last attempt that came to its end; the last one if none did."""
        if self.before is not None and not _is_end(self.summary):
            return self.before.last_whole()
        if self.attempts > 1 and _is_end(self.summary):
            self._cut(self.summary.steps)
        return self

    def is_driven(self, step: int) -> bool:
        """Whether a person acted at a step; what came of it says so. Older messages do not."""
        reached = self.states.get(step + 1), self.observations.get(step + 1)
        return any(getattr(each, "actor", 0) for each in reached)

    @property
    def attempts(self) -> int:
        """How often it was begun."""
        return max(self.begun.values(), default=0)

    def is_whole(self, kinds: Collection[str]) -> bool:
        """Whether it was cut short, or came to its end and has a message of each kind per step."""
        if self.summary is None:
            return False
        counts = {kind: len(messages) for kind, messages in self.by_type.items()}
        counts[REWARD] = len(self.rewards)
        wanted = {kind: self.summary.steps + (kind != ACTION) for kind in counts.keys() & kinds}
        return not _is_end(self.summary) or all(counts[kind] >= wanted[kind] for kind in wanted)

    def _cut(self, last: int) -> None:
        """Leave out what an earlier attempt had beyond the end of this one."""
        for messages in (*self.by_type.values(), self.rewards):
            for step in [step for step in messages if step > last]:
                del messages[step]


class _Gatherer:
    """Sorts messages into episodes."""

    def __init__(self, reader: BagReader, namespace: str) -> None:
        self._reader = reader
        self._namespace = f"/{namespace.strip('/')}/" if namespace else ""
        self._open: dict[int, _Messages] = {}
        self._topic_of_type: dict[str, str] = {}
        self._undecodable: dict[str, tuple[int, str]] = {}
        self._given: dict[int, str] = {}  # whole episodes, by what they held
        self._cut_off: dict[int, Episode] = {}  # by the end of their learner, which may come again

    @property
    def losses(self) -> list[str]:
        """A sentence per topic of which messages could not be decoded."""
        return [
            f"{topic}: {count} messages left out: {reason}"
            for topic, (count, reason) in self._undecodable.items()
        ]

    def take(self, record: Record) -> Iterator[Episode]:
        """Take in one message; the episodes that are complete with it."""
        topic = self._reader.topics[record.topic]
        if not record.topic.startswith(self._namespace):
            return
        self._require_one(topic.type_name, topic.name)
        try:
            message = decode(topic, record.data)
            episode, step = episode_and_step(record.data)
        except (BagError, IndexError, ValueError) as error:
            count, reason = self._undecodable.get(topic.name, (0, str(error)))
            self._undecodable[topic.name] = count + 1, reason
            return
        known = self._open.setdefault(episode, _Messages())
        if known.begin_again(topic.type_name, step):
            known = self._open[episode] = _Messages(known)
        known.take(topic.type_name, step, message)
        known.heard_ns = record.received_ns
        while self._is_due(record.received_ns):
            yield from self._finished(next(iter(self._open)))

    def _is_due(self, now_ns: int) -> bool:
        """Whether to give out the oldest of the open episodes."""
        if len(self._open) <= 2:
            return False
        first = next(iter(self._open.values()))
        late = now_ns - first.heard_ns > LATE_S * 1e9 or len(self._open) > MOST_OPEN
        return late or first.is_whole({each.type_name for each in self._reader.topics.values()})

    def rest(self) -> Iterator[Episode]:
        """The episodes still open at the end of the bag, and those that did not come again."""
        while self._open:
            yield from self._finished(next(iter(self._open)))
        yield from self._cut_off.values()

    def _require_one(self, type_name: str, name: str) -> None:
        known = self._topic_of_type.setdefault(type_name, name)
        if known != name:
            raise BagError(
                f"{known} and {name} are both of type {type_name}; choose one graph by its "
                f"namespace: --namespace {name.rpartition('/')[0] or '/'}"
            )

    def _finished(self, episode: int) -> Iterator[Episode]:
        """The episode, unless it is the same as before or may come again as a whole."""
        made = _arrays(episode, self._open.pop(episode).last_whole())
        if not made.outcome and min(self._open, default=episode) < episode:
            self._cut_off[episode] = made  # numbers go back: a learner was started again
            return
        self._cut_off.pop(episode, None)
        held = hashlib.sha256(made.vectors.tobytes() + made.actions.tobytes()).hexdigest()
        if made.learnt_from and self._given.get(episode) == held:
            return
        self._given[episode] = held
        yield made


def _arrays(episode: int, messages: _Messages) -> Episode:
    observations = messages.observations or messages.states
    steps = sorted(observations)
    rows = [observations[step] for step in steps]
    positions = [_optional(messages.states.get(step), "positions") for step in steps]
    moved = [_optional(messages.states.get(step + 1), "executed_deltas") for step in steps]
    asked = [_asked(messages, step) for step in steps]
    rewards = [_valid(messages.rewards.get(step)) for step in steps]
    color, depth = _images(rows) if messages.observations else (None, None)
    summary = messages.summary
    return Episode(
        id=episode,
        steps=np.array(steps, dtype=np.int64),
        stamps_s=np.array([_seconds(row) for row in rows]),
        vectors=_table([_optional(messages.observations.get(step), "vector") for step in steps]),
        color=color,
        depth=depth,
        driven=np.array([messages.is_driven(step) for step in steps], dtype=bool),
        actions=_table([deltas for deltas, _ in asked]),
        gripper=np.array([gripper for _, gripper in asked]),
        executed=_table(moved),
        positions=_table(positions),
        objects=_table([_object(messages.states.get(step)) for step in steps]),
        variance=_column(rewards, "variance"),
        curiosity=_column(rewards, "curiosity"),
        reward=_column(rewards, "reward"),
        outcome="" if summary is None else OUTCOMES[summary.outcome],
        extrinsic_return=float("nan") if summary is None else float(summary.extrinsic_return),
        faults=tuple(_faults(steps, messages)),
    )


def _asked(messages: _Messages, step: int) -> tuple[np.ndarray | None, float]:
    """Joint deltas and gripper of a step: the policy's, or those of a person who drove."""
    if messages.is_driven(step):
        state = messages.states.get(step + 1)
        deltas, gripper = _optional(state, "requested_deltas"), "requested_gripper"
        return deltas, float(getattr(state, gripper, "nan"))
    action = messages.actions.get(step)
    return _optional(action, "joint_deltas"), float(getattr(action, "gripper", "nan"))


def _faults(steps: list[int], messages: _Messages) -> Iterator[str]:
    summary = messages.summary
    aborted = summary is not None and OUTCOMES[summary.outcome] == "aborted"
    last = max(steps, default=0) if summary is None or aborted else summary.steps
    lost = sorted(set(range(last + 1)) - set(messages.observations))
    if lost:
        yield f"{len(lost)} of {last + 1} observations missing, the first at step {lost[0]}"
    if messages.actions:
        unasked = [step for step in range(last) if step not in messages.actions]
        if unasked:
            yield f"{len(unasked)} of {last} actions missing, the first at step {unasked[0]}"
    if messages.rewards:
        unpaid = [step for step in messages.observations if step not in messages.rewards]
        if unpaid:
            yield f"{len(unpaid)} intrinsic rewards missing, the first at step {min(unpaid)}"
    if summary is None:
        yield "its end was not recorded"
    if messages.doubled and messages.attempts < 2:
        yield f"{messages.doubled} messages came twice; the last of each counts"


def _is_end(summary: Any) -> bool:
    """Whether a summary is of an episode that came to its end."""
    return summary is not None and OUTCOMES[summary.outcome] != "aborted"


def _optional(message: Any, name: str) -> np.ndarray | None:
    return None if message is None else np.asarray(getattr(message, name), dtype=np.float64)


def _object(state: Any) -> np.ndarray | None:
    if state is None or not state.object_known:
        return None
    place = state.object_pose.position
    return np.array([place.x, place.y, place.z])


def _valid(reward: Any) -> Any:
    """A reward whose status is OK."""
    return reward if reward is not None and reward.status.code == 0 else None


def _table(rows: list[np.ndarray | None]) -> np.ndarray:
    """(N, width), NaN where a row is missing or of another width than the first."""
    width = next((len(row) for row in rows if row is not None and len(row)), 0)
    table = np.full((len(rows), width), np.nan)
    for index, row in enumerate(rows):
        if row is not None and len(row) == width:
            table[index] = row
    return table


def _column(messages: list[Any], name: str) -> np.ndarray:
    return np.array(
        [float("nan") if message is None else getattr(message, name) for message in messages],
        dtype=np.float64,
    )


def _seconds(message: Any) -> float:
    return float(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)


def _images(rows: list[Any]) -> tuple[np.ndarray | None, np.ndarray | None]:
    if not rows or not len(rows[0].color.data) or not len(rows[0].depth.data):
        return None, None
    return (
        np.stack([_pixels(row.color, "rgb8", "u1", 3) for row in rows]),
        np.stack([_pixels(row.depth, "32FC1", "f4", 1)[..., 0] for row in rows]),
    )


def _pixels(image: Any, encoding: str, kind: str, channels: int) -> np.ndarray:
    if image.encoding != encoding:
        raise BagError(f"an image has encoding {image.encoding!r}; expected {encoding!r}")
    dtype = np.dtype(f"{'>' if image.is_bigendian else '<'}{kind}")
    return pixel_rows(image, dtype, channels).reshape(image.height, image.width, channels)
