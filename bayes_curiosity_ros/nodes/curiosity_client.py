"""The learner's side of the curiosity node: rewards by topic, one update per episode."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.task import Future

from bayes_curiosity_interfaces.msg import CuriosityState, IntrinsicReward, Observation, Status
from bayes_curiosity_interfaces.srv import Evaluate, ModelFile, Reset, Update
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.learning.gathered import GatheredBonus
from bayes_curiosity_ros.nodes.conversions.observations import batch_of_observations
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS
from bayes_curiosity_ros.nodes.waiter import Waiter, WaitTimeoutError
from bayes_curiosity_ros.nodes.wire import read, unserved

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


class CuriosityRefusedError(BayesCuriosityError):
    """The curiosity node rejected a request."""


class CuriosityClient:
    """Gathers an episode's rewards while it runs; asks again for those that were lost.

    While the node takes in an episode, the next one may begin: its observations are held back
    until then, as what they are worth depends on it. The arm does not wait for that.

    Args:
        node: the learner's node.
        waiter: serves the node's callbacks.
        observations: the learner's publisher of `observation`.
        timeout_s: longest wait for an answer.
        clock: monotonic time in [s].

    Attributes:
        paid: the rewards so far, as the bonus that learning sees.
        information: what the model had learnt since its prior before the newest episode, in
            [nats].
        lost: rewards that did not come by topic and were asked for by service.
        topics: what the curiosity node publishes.
    """

    topics = ("intrinsic_reward", "curiosity/state")

    def __init__(
        self,
        node: Node,
        waiter: Waiter,
        observations: Publisher,
        timeout_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._node = node
        self._waiter = waiter
        self._observations = observations
        self._timeout_s = timeout_s
        self._clock = clock
        self._clients = {
            name: node.create_client(kind, f"curiosity/{name}") for name, kind in SERVICES.items()
        }
        self._rewards: dict[int, IntrinsicReward] = {}
        self._episode = 0
        self._update: Future | None = None
        self._held: list[Observation] = []
        self._published_s = -TOGETHER_S
        self._prior = 0.0
        self.information = 0.0
        self.lost = 0
        self.paid = GatheredBonus()
        self._inbox = node.create_subscription(
            IntrinsicReward, "intrinsic_reward", self._take_all, EPISODE_QOS, raw=True
        )

    def wait_until_there(self, timeout_s: float) -> None:
        """Wait for the curiosity's node, and until it hears observations."""
        self._waiter.until(
            lambda: (
                all(client.service_is_ready() for client in self._clients.values())
                and self._observations.get_subscription_count()
            ),
            timeout_s,
            "the services of the curiosity node (is it running?)",
        )
        self._ask_for_state(timeout_s)

    def begin(self, episode: int) -> None:
        """Rewards from now on belong to this episode."""
        self._episode = episode
        self._rewards.clear()

    def publish(self, observation: Observation) -> None:
        """Publish an observation, once the episode before is taken in; some of them together."""
        self._held.append(observation)
        due = self._clock() - self._published_s >= TOGETHER_S
        if due and (self._update is None or self._update.done()):
            self.settle()

    def finish(self, observations: Observations) -> tuple[np.ndarray, np.ndarray]:
        """Rewards and curiosity of the episode's observations; then has them taken in, once."""
        self.settle()
        count = len(observations)
        try:
            self._waiter.until(lambda: self._received() >= count, REWARDS_S, "rewards")
            scores = self._gathered(count)
        except WaitTimeoutError:
            self.lost += count - len(self._rewards)
            scores = self._asked(observations)
        request = Update.Request(
            episode=self._episode, observations=batch_of_observations(observations)
        )
        self._update = self._clients["update"].call_async(request)
        self.paid.add(scores[0][1:])
        return scores

    def settle(self) -> None:
        """Wait until the episode before is taken in, and publish what was held back."""
        if self._update is not None:
            pending, self._update = self._update, None
            answer = self._waiter.answer(self._clients["update"], pending, self._timeout_s)
            determinant = _accepted("update", answer).log_determinant
            self.information = determinant - self._prior
        self._received()  # of those that were published before
        for observation in self._held:
            self._observations.publish(observation)
        self._held.clear()
        self._published_s = self._clock()

    def reset(self) -> None:
        """Back to the prior."""
        self._call("reset", Reset.Request())
        self.information = 0.0

    def save(self, path: Path) -> None:
        """Write the model to a file on the curiosity node's machine."""
        self._call("save", ModelFile.Request(path=str(path)))

    def load(self, path: Path) -> None:
        """Read what `save` wrote."""
        self._call("load", ModelFile.Request(path=str(path)))
        self._ask_for_state(self._timeout_s)

    def _ask_for_state(self, timeout_s: float) -> None:
        """Learn from the model's latched state what it knows, and what it knew at its prior."""
        told: list[CuriosityState] = []
        inbox = self._node.create_subscription(
            CuriosityState, "curiosity/state", told.append, LATCHED_QOS
        )
        self._waiter.until(lambda: told, timeout_s, "curiosity/state")
        self._node.destroy_subscription(inbox)
        self.information = told[-1].information
        self._prior = told[-1].log_determinant - self.information

    def _gathered(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        messages = [self._rewards[step] for step in range(count)]
        for message in messages:
            if message.status.code != Status.OK:
                raise CuriosityRefusedError(f"intrinsic_reward: {message.status.message}")
        rewards = np.array([message.reward for message in messages])
        return rewards, np.array([message.curiosity for message in messages])

    def _asked(self, observations: Observations) -> tuple[np.ndarray, np.ndarray]:
        request = Evaluate.Request(
            mode=Evaluate.Request.EPISODE, observations=batch_of_observations(observations)
        )
        answer = self._call("evaluate", request)
        return np.array(answer.reward), np.array(answer.curiosity)

    def _call(self, name: str, request: Any) -> Any:
        self.settle()
        answer = self._waiter.call(self._clients[name], request, self._timeout_s)
        return _accepted(name, answer)

    def _take_all(self, data: bytes) -> None:
        """Take a reward and those that came after it; no control step waits for one of them."""
        self._take(read(IntrinsicReward, data))
        self._received()

    def _received(self) -> int:
        """Number of the episode's rewards that are there."""
        for message in unserved(IntrinsicReward, self._inbox):
            self._take(message)
        return len(self._rewards)

    def _take(self, message: IntrinsicReward) -> None:
        if message.episode == self._episode:
            self._rewards[message.step] = message


def _accepted(name: str, answer: Any) -> Any:
    # A repeated update is one whose answer was lost: it is in the posterior, once.
    if answer.status.code not in (Status.OK, Status.ALREADY_UPDATED):
        raise CuriosityRefusedError(f"curiosity/{name}: {answer.status.message}")
    return answer


class NoCuriosity:
    """The same where no curiosity node is asked for: nothing is paid, nothing is kept.

    Args:
        observations: the learner's publisher of `observation`.
    """

    topics: tuple[str, ...] = ()
    information = 0.0

    def __init__(self, observations: Publisher) -> None:
        self._observations = observations

    def wait_until_there(self, timeout_s: float) -> None:
        pass

    def begin(self, episode: int) -> None:
        pass

    def publish(self, observation: Observation) -> None:
        self._observations.publish(observation)

    def finish(self, observations: Observations) -> tuple[np.ndarray, np.ndarray]:
        nothing = np.zeros(len(observations))
        return nothing, nothing

    def settle(self) -> None:
        pass

    def reset(self) -> None:
        pass

    def save(self, path: Path) -> None:
        pass

    def load(self, path: Path) -> None:
        pass
