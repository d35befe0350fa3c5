"""The learner's side of the curiosity node: rewards by topic, one update per episode."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.publisher import Publisher
from rclpy.task import Future

from bayes_curiosity_interfaces.msg import CuriosityState, IntrinsicReward, Observation, Status
from bayes_curiosity_interfaces.srv import Evaluate, ModelFile, Reset, Update
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.errors import BayesCuriosityError, StepError
from bayes_curiosity_ros.learning.gathered import GatheredBonus
from bayes_curiosity_ros.nodes.claims import NodeClaim
from bayes_curiosity_ros.nodes.conversions.observations import batch_of_observations
from bayes_curiosity_ros.nodes.curiosity_answers import (
    LOST,
    CuriosityRefusedError,
    CuriosityStrayedError,
    Saved,
    accepted,
    require_seen,
)
from bayes_curiosity_ros.nodes.door import CheckedNode
from bayes_curiosity_ros.nodes.peers import Peers
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS
from bayes_curiosity_ros.nodes.waiter import PeerChangedError, Waiter, WaitTimeoutError
from bayes_curiosity_ros.nodes.wire import unserved

SERVICES = {
    "evaluate": Evaluate,
    "update": Update,
    "reset": Reset,
    "save": ModelFile,
    "load": ModelFile,
}
# After this time in [s] a reward counts as lost, and is asked for by service.
REWARDS_S = 1.0
# Observations that come within this time in [s] of the last published wait for each other: to
# wake another process costs several times what an observation's price does.
TOGETHER_S = 0.003
# A node that was just met may learn of us a little later, in [s].
MEET_S = 0.2
# Times in a row that the node may be lost again while it is brought back.
TRIES = 10


class CuriosityClient:
    """Gathers an episode's rewards while it runs; asks again for those that were lost.

    While the node takes in an episode, the next one may begin: its observations are held back
    until then, as what they are worth depends on it. The arm does not wait for that.

    A node that hung or was started again is brought back to where it was, from the model that was
    saved last and the episodes since, and the episode under way is priced by it as if nothing had
    happened: the posterior is the same, bit for bit.

    Args:
        node: the learner's node.
        waiter: serves the node's callbacks.
        observations: the learner's publisher of `observation`.
        timeout_s: longest wait for an answer.
        run: the learner's run.
        recover_timeout_s: longest wait for the node where it did not answer in time.
        tell: told in words when the node is brought back.
        meet: called when it is back, before observations are published to it again; others may
            have to meet it too.
        clock: monotonic time in [s].

    Attributes:
        paid: the rewards so far, as the bonus that learning sees.
        information: what the model had learnt since its prior before the newest episode, in
            [nats].
        claim: on the curiosity, which works for the run alone.
        strangers: number of rewards of other runs, which do not count.
        lost: rewards that did not come by topic and were asked for by service.
        topics: what the curiosity node publishes.
    """

    topics = ("intrinsic_reward", "curiosity/state")

    def __init__(
        self,
        node: CheckedNode,
        waiter: Waiter,
        observations: Publisher,
        timeout_s: float,
        run: int,
        recover_timeout_s: float,
        tell: Callable[[str], object],
        meet: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._node = node
        self._waiter = waiter
        self._observations = observations
        self._timeout_s = timeout_s
        self._recover_timeout_s = recover_timeout_s
        self._tell = tell
        self._others_meet = meet
        self._clock = clock
        self._run = run
        self.strangers = 0
        self.claim = NodeClaim(node, waiter, "curiosity", run)
        self._clients = {
            name: node.create_client(kind, f"curiosity/{name}") for name, kind in SERVICES.items()
        }
        for client in self._clients.values():
            self.claim.heed(client)
        ends = [f"curiosity/{name}" for name in (next(iter(SERVICES)), "claim")]  # first and last
        self._peers = Peers(node, ends, ["intrinsic_reward"])
        self._saved = Saved()
        self._taken: list[Update.Request] = []  # since then
        self._published: list[Observation] = []  # of the episode under way
        self._doubtful = False  # whether a node that is gone may have priced some of them
        self._rewards: dict[int, IntrinsicReward] = {}
        self._episode = self._observed = 0
        self._update: Future | None = None
        self._held: list[Observation] = []
        self._published_s = -TOGETHER_S
        self.information = 0.0
        self.lost = 0
        self.paid = GatheredBonus()
        self._inbox = node.create_subscription(
            IntrinsicReward, "intrinsic_reward", self._take_all, EPISODE_QOS, raw=True
        )

    def wait_until_there(self, timeout_s: float) -> None:
        """Wait for the curiosity's node, and until it hears observations; take it."""
        self._waiter.until(
            lambda: (
                all(client.service_is_ready() for client in self._clients.values())
                and self.claim.is_there
                and self._observations.get_subscription_count()
            ),
            timeout_s,
            "the services of the curiosity node (is it running?)",
        )
        self._meet(timeout_s)
        self.claim.take(timeout_s)

    def begin(self, episode: int) -> None:
        """Rewards from now on belong to this episode."""
        self._episode, self._observed = episode, 0
        self._rewards.clear()
        self._published.clear()
        self._held.clear()
        self._doubtful = False

    def publish(self, observation: Observation) -> None:
        """Publish an observation, once the episode before is taken in; some of them together."""
        self._held.append(observation)
        self._observed += 1
        due = self._clock() - self._published_s >= TOGETHER_S
        if due and (self._update is None or self._update.done()):
            self.settle()

    def finish(
        self, observations: Observations, learnt_from: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rewards and curiosity of the episode's observations; then has them taken in, once.

        Args:
            observations: all of the episode.
            learnt_from: whether `paid` hands its rewards out.
        """
        self.settle()
        scores = self._scores(observations)
        batch = batch_of_observations(observations)
        request = Update.Request(episode=self._episode, run=self._run, observations=batch)
        self._published.clear()
        self._taken.append(request)
        self._update = self._clients["update"].call_async(request)
        if learnt_from:
            self.paid.add(scores[0][1:])
        return scores

    def price(self, observations: Observations) -> np.ndarray:
        """Rewards of observations now, each for itself, between two episodes."""
        return self._asked(observations, Evaluate.Request.NOW)[0]

    def settle(self) -> None:
        """Wait until the episode before is taken in, and publish what was held back."""
        if self._update is not None:
            pending, self._update = self._update, None
            try:
                answer = self._waiter.answer(
                    self._clients["update"], pending, self._timeout_s, self._peers
                )
                self._follow(answer, self._seen)
            except LOST as error:
                self._bring_back(error)
        self._received()  # of those that were published before
        self._publish(self._held)
        self._published += self._held
        self._held.clear()
        self._published_s = self._clock()

    def reset(self) -> None:
        """Back to the prior."""
        self._call("reset", Reset.Request(run=self._run))
        self._begin_at(Saved())

    def save(self, name: str) -> str:
        """Write the model to a file in the curiosity node's folder; returns its checksum."""
        request = ModelFile.Request(path=name, run=self._run)
        checksum = str(self._call("save", request).checksum)
        self._begin_at(Saved(name, checksum, self._seen, self.information))
        return checksum

    def load(self, name: str, checksum: str) -> None:
        """Read what `save` wrote.

        Raises:
            DamagedFileError: it cannot be had, or is not what was saved.
        """
        request = ModelFile.Request(path=name, checksum=checksum, run=self._run)
        self._call("load", request)
        state = self._state(self._timeout_s)
        self._begin_at(Saved(name, checksum, state.observations, state.information))

    @property
    def _seen(self) -> int:
        """Observations in the posterior, once all that was sent is taken in."""
        return self._saved.seen + sum(int(each.observations.count) for each in self._taken)

    def _begin_at(self, saved: Saved) -> None:
        self._saved, self.information = saved, saved.information
        self._taken.clear()

    def _state(self, timeout_s: float) -> CuriosityState:
        """What the model says of itself, which is latched."""
        told: list[CuriosityState] = []

        def take(state: CuriosityState) -> None:
            if state.run == self._run:
                told.append(state)

        inbox = self._node.create_subscription(
            CuriosityState, "curiosity/state", take, LATCHED_QOS
        )
        self._waiter.until(lambda: told, timeout_s, "curiosity/state")
        self._node.destroy_subscription(inbox)
        return told[-1]

    def _follow(self, answer: Update.Response, seen: int) -> None:
        """Learn from the answer to an update what the model knows now."""
        require_seen(accepted("update", answer), seen)
        self.information = answer.information

    def _meet(self, timeout_s: float) -> None:
        what = "a curiosity node with all its services"
        self._waiter.until(lambda: self._peers.whole, timeout_s, what)
        self._peers.meet()
        self._waiter.pause(MEET_S)

    def _bring_back(self, error: BayesCuriosityError) -> None:
        """Have the node, or the one in its place, know what it knew, and see what it saw."""
        self._tell(f"bringing the curiosity node back to {self._seen} observations: {error}")
        for _ in range(TRIES):
            try:
                self._meet(self._recover_timeout_s)
                self.claim.regain(self._recover_timeout_s, self._peers)
                self._restore()
                break
            except (PeerChangedError, CuriosityStrayedError) as again:
                error = again
        else:
            raise CuriosityRefusedError(f"the curiosity node does not come back: {error}")
        self._others_meet()
        self._tell("the curiosity node is back")
        self._rewards.clear()
        self._publish(self._published)
        self._doubtful = True

    def _restore(self) -> None:
        """The model that was saved last, then every episode since, in order."""
        saved, seen = self._saved, self._saved.seen
        if saved.model:
            request = ModelFile.Request(path=saved.model, checksum=saved.checksum, run=self._run)
            self._ask_again("load", request)
        else:
            self._ask_again("reset", Reset.Request(run=self._run))
        self.information = saved.information
        for update in self._taken:
            seen += update.observations.count
            self._follow(self._ask_again("update", update), seen)

    def _publish(self, observations: list[Observation]) -> None:
        for observation in observations:
            self._observations.publish(observation)

    def _scores(self, observations: Observations) -> tuple[np.ndarray, np.ndarray]:
        """Rewards and curiosity, by topic if all came from one node, else by service."""
        count = len(observations)
        if self._all_came(count) and not self._doubtful and not self._peers.changed:
            return self._gathered(count)
        self.lost += count - len(self._rewards)
        scores = self._asked(observations)
        if self._doubtful:
            self._all_came(count)  # for those who record them: after the update none would
        return scores

    def _all_came(self, count: int) -> bool:
        try:
            self._waiter.until(lambda: self._received() >= count, REWARDS_S, "rewards")
        except WaitTimeoutError:
            return False
        return True

    def _gathered(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        messages = [self._rewards[step] for step in range(count)]
        rewards = np.array([message.reward for message in messages])
        return rewards, np.array([message.curiosity for message in messages])

    def _asked(
        self, observations: Observations, mode: int = Evaluate.Request.EPISODE
    ) -> tuple[np.ndarray, np.ndarray]:
        batch = batch_of_observations(observations)
        request = Evaluate.Request(mode=mode, run=self._run, observations=batch)
        answer = self._call("evaluate", request, lambda each: require_seen(each, self._seen))
        if not len(answer.reward) == len(answer.curiosity) == len(observations):
            raise CuriosityRefusedError(
                f"curiosity/evaluate: {len(answer.reward)} rewards for {len(observations)} "
                "observations"
            )
        return np.array(answer.reward), np.array(answer.curiosity)

    def _call(
        self, name: str, request: Any, check: Callable[[Any], None] = lambda answer: None
    ) -> Any:
        """Ask the node, bringing it back where it is lost meanwhile."""
        self.settle()
        for _ in range(TRIES):
            try:
                answer = self._ask(name, request)
                check(answer)
                return answer
            except LOST as error:
                self._bring_back(error)
        raise CuriosityRefusedError(f"curiosity/{name}: the node was lost {TRIES} times")

    def _ask(self, name: str, request: Any) -> Any:
        """Ask the node that was met."""
        timeout_s = self._timeout_s
        answer = self._waiter.call(self._clients[name], request, timeout_s, self._peers)
        return self._believed(name, answer)

    def _ask_again(self, name: str, request: Any) -> Any:
        """The same of one that was met just now; what is asked may be done twice."""
        timeout_s = self._recover_timeout_s
        answer = self._waiter.call_again(self._clients[name], request, timeout_s, self._peers)
        return self._believed(name, answer)

    def _believed(self, name: str, answer: Any) -> Any:
        if self._peers.changed:
            raise PeerChangedError(f"curiosity/{name} may have been answered by a new node")
        return accepted(name, answer)

    def _take_all(self, data: bytes) -> None:
        """Take a reward and those that came after it; no control step waits for one of them."""
        self._let_in(data)
        self._received()

    def _received(self) -> int:
        """Number of the episode's rewards that are there."""
        for data in unserved(IntrinsicReward, self._inbox):
            self._let_in(data)
        return len(self._rewards)

    def _let_in(self, data: bytes) -> None:
        """Keep a reward of an observation of this episode; one that is rejected counts as lost."""
        message = self._node.door.let_in("intrinsic_reward", IntrinsicReward, data)
        if message is None:
            return
        if message.run != self._run:
            self.strangers += 1
            return
        # Who has not seen the steps before knows no price, and who refuses one has none: the
        # whole episode is asked for then.
        if message.episode != self._episode or message.status.code != Status.OK:
            return
        if message.step < self._observed:
            self._rewards[message.step] = message
            return
        error = StepError(
            f"step {message.step} of episode {message.episode}, of which {self._observed} were "
            "observed"
        )
        self._node.door.refuse("intrinsic_reward", error)
