"""Replay a bag to a live curiosity node, as its learner did, and compare every reward."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rclpy.qos import QoSProfile

from bayes_curiosity_interfaces.msg import (
    CuriosityState,
    EpisodeSummary,
    IntrinsicReward,
    Observation,
    Status,
)
from bayes_curiosity_interfaces.srv import Reset, Update
from bayes_curiosity_ros.bags.decode import decode
from bayes_curiosity_ros.bags.episode import CURIOSITY_STATE, OBSERVATION, REWARD, SUMMARY
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.player import Cue
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.nodes.conversions.observations import (
    batch_of_observations,
    observation_of_message,
)
from bayes_curiosity_ros.nodes.conversions.recorded import message_of_record
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS
from bayes_curiosity_ros.runs import NOBODY

WINDOW = 200  # observations under way at once
TIMEOUT_S = 30.0
# What rewards depend on, with what it was in bags from before it could be chosen.
MUST_AGREE = {
    "model_id": "",
    "form": "",
    "weight": 0.0,
    "posterior": "frozen",
    "features": "plain",
}


@dataclass
class Comparison:
    """Recorded against reproduced.

    Attributes:
        episodes: number of episodes replayed.
        compared: number of rewards that were recorded and came again.
        different: number of those that are not equal bit for bit.
        largest_difference: largest difference among them.
        updates: number of updates of the posterior.
        log_determinants_differ: updates after which the posterior was not the recorded one.
        remarks: sentences on why rewards can differ.
    """

    episodes: int = 0
    compared: int = 0
    different: int = 0
    largest_difference: float = 0.0
    updates: int = 0
    log_determinants_differ: int = 0
    remarks: list[str] = field(default_factory=list)

    @property
    def exact(self) -> bool:
        """Every recorded reward came again, bit for bit, from the same posterior."""
        return self.compared > 0 and not self.different and not self.log_determinants_differ


class Reproduction:
    """Plays the learner's part: observations by topic, one update per episode.

    Args:
        background: a node on the graph of the curiosity node.
        reader: reader of the bag.
    """

    def __init__(self, background: BackgroundNode, reader: BagReader) -> None:
        self._background = background
        self._reader = reader
        self._recorded: dict[tuple[int, int], bytes] = {}
        self._states: dict[int, float] = {}
        self._updated: dict[int, float] = {}
        self._answers: dict[tuple[int, int], IntrinsicReward] = {}
        self._answered = threading.Condition()
        self._episodes: dict[int, dict[int, Observations]] = {}  # not taken in yet, by step
        self._over: set[int] = set()  # episodes that came to their end
        self._cut_short: dict[int, list[int]] = {}  # steps of those that did not
        self._summary: EpisodeSummary | None = None  # of an episode that is not whole yet
        self._sent: set[tuple[int, int]] = set()
        self.result = Comparison()
        node = background.node
        self._live: CuriosityState | None = None
        node.create_subscription(CuriosityState, "curiosity/state", self._take_state, LATCHED_QOS)
        self._publisher = node.create_publisher(Observation, "observation", _deep(EPISODE_QOS))
        node.create_subscription(
            IntrinsicReward, "intrinsic_reward", self._take, _deep(EPISODE_QOS)
        )

    def run(self, cues: Iterable[Cue]) -> Comparison:
        """Reset the curiosity node, play all messages to it, and compare.

        Raises:
            BagError: the curiosity node does not answer, or refuses.
        """
        answer = self._background.call(Reset, "curiosity/reset", Reset.Request(), TIMEOUT_S)
        if answer.status.code != Status.OK:
            raise BagError(f"the curiosity node refused a reset: {answer.status.message}")
        self._wait_for_listener()
        self._await(lambda: self._live is not None, "the curiosity node published no state")
        for cue in cues:
            topic = self._reader.topics[cue.record.topic]
            kind = topic.type_name
            if kind == OBSERVATION:
                self._observe(message_of_record(topic, cue.record.data))
            elif kind == REWARD:
                recorded = message_of_record(topic, cue.record.data)
                if recorded.status.code == Status.OK:
                    self._recorded[recorded.episode, recorded.step] = _bits(recorded)
            elif kind == CURIOSITY_STATE:
                state = decode(topic, cue.record.data)
                self._states[state.observations] = state.log_determinant
                self._require_the_same(state)
            elif kind == SUMMARY:
                self._summary = message_of_record(topic, cue.record.data)
                self._finish_if(self._is_whole())
        self._finish_if(True)
        self._compare()
        return self.result

    def _observe(self, message: Observation) -> None:
        self._await(lambda: len(self._sent) - len(self._answers) < WINDOW)
        key = message.episode, message.step
        self._finish_if(message.step == 0 and not self._came_to_end())
        if message.step == 0:
            self._forget(message.episode)
        if key in self._sent or message.episode in self._over:
            return  # again, from a learner that was started again
        self._finish_if(self._summary is not None and self._summary.episode != message.episode)
        self._sent.add(key)
        message.run = NOBODY
        self._publisher.publish(message)
        steps = self._episodes.setdefault(message.episode, {})
        steps[message.step] = observation_of_message(message)
        self._finish_if(self._is_whole())

    def _forget(self, episode: int) -> None:
        """An episode that was cut short is begun again: that attempt is another one."""
        for step in self._cut_short.pop(episode, ()):
            self._sent.discard((episode, step))
            self._answers.pop((episode, step), None)

    def _is_whole(self) -> bool:
        """Whether every observation of the episode was played whose summary is there.

        A recorder that was held up may have heard the summary first.
        """
        summary = self._summary
        return (
            summary is not None
            and self._came_to_end()
            and len(self._episodes.get(summary.episode, ())) > summary.steps
        )

    def _came_to_end(self) -> bool:
        """Whether the episode whose summary is there was not cut short."""
        return self._summary is None or self._summary.outcome != EpisodeSummary.ABORTED

    def _finish_if(self, due: bool) -> None:
        if due and self._summary is not None:
            summary, self._summary = self._summary, None
            self._finish(summary)

    def _finish(self, summary: EpisodeSummary) -> None:
        """All rewards first, then the update, as the learner does."""
        self._await(lambda: len(self._answers) >= len(self._sent))
        observations = self._episodes.pop(summary.episode, {})
        if summary.episode in self._over:
            return
        self.result.episodes += 1
        if summary.outcome == EpisodeSummary.ABORTED or not observations:
            self._cut_short[summary.episode] = list(observations)
            return
        self._over.add(summary.episode)
        batch = batch_of_observations(Observations.concatenate(list(observations.values())))
        request = Update.Request(episode=summary.episode, observations=batch)
        answer = self._background.call(Update, "curiosity/update", request, TIMEOUT_S)
        if answer.status.code != Status.OK:
            raise BagError(f"the curiosity node refused an update: {answer.status.message}")
        self.result.updates += 1
        self._updated[answer.observations_seen] = answer.log_determinant

    def _compare(self) -> None:
        """At the end: a recorded reward may stand a little behind its episode's summary."""
        self._await(lambda: len(self._answers) >= len(self._sent))
        for key, recorded in self._recorded.items():
            answer = self._answers.get(key)
            if answer is None:
                continue
            self.result.compared += 1
            if _bits(answer) != recorded:
                self.result.different += 1
                difference = np.abs(np.frombuffer(recorded) - np.frombuffer(_bits(answer))).max()
                self.result.largest_difference = max(
                    self.result.largest_difference, float(difference)
                )
        for seen, log_determinant in self._updated.items():
            self.result.log_determinants_differ += (
                seen in self._states and self._states[seen] != log_determinant
            )

    def _require_the_same(self, state: Any) -> None:
        """Before the first observation: another model has other rewards, and no fault in that."""
        if self._sent or self._live is None:
            return
        for name, before in MUST_AGREE.items():
            recorded, live = getattr(state, name, before), getattr(self._live, name)
            if recorded != live:
                raise BagError(
                    f"the bag was recorded with {name} = {recorded}, the curiosity node has "
                    f"{live}; start it with the recorded model and parameters"
                )
        if state.observations and not self.result.remarks:
            self.result.remarks.append(
                f"the recording began with {state.observations} observations in the posterior, "
                "this one at the prior: rewards can differ"
            )

    def _take(self, message: IntrinsicReward) -> None:
        with self._answered:
            if message.run == NOBODY and (message.episode, message.step) in self._sent:
                self._answers[message.episode, message.step] = message
                self._answered.notify_all()

    def _take_state(self, message: CuriosityState) -> None:
        with self._answered:
            self._live = message
            self._answered.notify_all()

    def _await(self, done: Callable[[], bool], what: str = "") -> None:
        with self._answered:
            if not self._answered.wait_for(done, TIMEOUT_S):
                if what:
                    raise BagError(f"{what} within {TIMEOUT_S} s")
                missing = sorted(self._sent - set(self._answers))
                raise BagError(
                    f"{len(missing)} observations had no intrinsic reward within {TIMEOUT_S} s, "
                    f"the first of episode {missing[0][0]}, step {missing[0][1]}"
                )

    def _wait_for_listener(self) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while not self._publisher.get_subscription_count():
            if time.monotonic() > deadline:
                raise BagError("nobody listens to `observation`; is the curiosity node running?")
            time.sleep(0.02)
        time.sleep(0.3)  # the other side learns of a match a little later


def _bits(reward: IntrinsicReward) -> bytes:
    return np.array([reward.variance, reward.curiosity, reward.reward]).tobytes()


def _deep(qos: QoSProfile) -> QoSProfile:
    return QoSProfile(depth=10 * WINDOW, reliability=qos.reliability)
