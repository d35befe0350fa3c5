"""The curiosity node: how new is an observation? Asked by service or by topic."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from itertools import islice

import torch
from rclpy.callback_groups import ReentrantCallbackGroup

from bayes_curiosity_interfaces.msg import (
    CuriosityState,
    IntrinsicReward,
    Observation,
    ObservationBatch,
    Status,
)
from bayes_curiosity_interfaces.srv import Evaluate, ModelFile, Reset, Update
from bayes_curiosity_ros.curiosity.curiosity import Scores
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.keeper import CuriosityKeeper, KeeperConfig
from bayes_curiosity_ros.errors import BayesCuriosityError, InputError
from bayes_curiosity_ros.nodes.claims import serve_claims
from bayes_curiosity_ros.nodes.conversions.observations import (
    observation_of_message,
    observations_of_batch,
)
from bayes_curiosity_ros.nodes.conversions.values import doubles
from bayes_curiosity_ros.nodes.door import CheckedNode
from bayes_curiosity_ros.nodes.memory import give_back_now_and_then
from bayes_curiosity_ros.nodes.parameters import declare
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS, QuietTopics
from bayes_curiosity_ros.nodes.run import run_node
from bayes_curiosity_ros.nodes.status import status_of
from bayes_curiosity_ros.nodes.wire import Taking, WirePublisher, fresh, unserved
from bayes_curiosity_ros.runs import NOBODY, Tenancy, name_of

# Rows scored before other callers get their turn: about 2 ms of work.
VECTOR_SLICE = 4096
IMAGE_SLICE = 64
# Observations of control steps priced before other callers get their turn: likewise.
MOST_TOGETHER = 32


class CuriosityNode(QuietTopics, CheckedNode):
    """Thin: callbacks convert, delegate to the keeper, convert back."""

    def __init__(self) -> None:
        super().__init__("curiosity")
        config = declare(self, KeeperConfig())
        self.keeper = CuriosityKeeper(config)
        self.tenancy = Tenancy("curiosity", config.run_silence_s, time.monotonic)
        self._warn_if_untrained()
        # Reentrant, so that a large evaluation, which pauses between slices, lets others in.
        group = ReentrantCallbackGroup()
        for name, kind, callback in (
            ("evaluate", Evaluate, self._evaluate),
            ("update", Update, self._update),
            ("reset", Reset, self._reset),
            ("save", ModelFile, self._save),
            ("load", ModelFile, self._load),
        ):
            self.create_service(kind, f"curiosity/{name}", callback, callback_group=group)
        serve_claims(self, "curiosity", self.tenancy, self._publish_state, group)
        self._rewards = self.create_publisher(
            IntrinsicReward, "intrinsic_reward", EPISODE_QOS, publisher_class=WirePublisher
        )
        self._state = self.create_publisher(CuriosityState, "curiosity/state", LATCHED_QOS)
        observe = Taking(Observation, self._observe)
        self._inbox = self.create_subscription(
            Observation, "observation", observe, EPISODE_QOS, callback_group=group, raw=True
        )
        give_back_now_and_then(self)
        self._publish_state()

    async def _evaluate(
        self, request: Evaluate.Request, response: Evaluate.Response
    ) -> Evaluate.Response:
        try:
            self._require_ours(request.run)
            scores, seen = await self._answer(request)
        except BayesCuriosityError as error:
            response.status = self._rejected("evaluate", error)
            return response
        response.variance = doubles(scores.variance)
        response.curiosity = doubles(scores.curiosity)
        response.reward = doubles(scores.reward)
        response.model_id, response.observations_seen = self.keeper.model_id, seen
        return response

    def _update(self, request: Update.Request, response: Update.Response) -> Update.Response:
        try:
            self.tenancy.ask(request.run)
            self.keeper.update(request.episode, self._admitted(request.observations))
        except BayesCuriosityError as error:
            response.status = self._rejected("update", error)
        else:
            self._publish_state()
        regression = self.keeper.curiosity.regression
        response.observations_seen = regression.count
        response.log_determinant = regression.log_determinant
        response.information = regression.information
        return response

    def _reset(self, request: Reset.Request, response: Reset.Response) -> Reset.Response:
        try:
            self.tenancy.ask(request.run)
        except BayesCuriosityError as error:
            response.status = self._rejected("reset", error)
            return response
        self.keeper.reset()
        self._publish_state()
        return response

    def _save(
        self, request: ModelFile.Request, response: ModelFile.Response
    ) -> ModelFile.Response:
        try:
            self._require_ours(request.run)
            path, response.checksum = self.keeper.save(request.path)
            response.path = str(path)
        except BayesCuriosityError as error:
            response.status = self._rejected("save", error)
        response.model_id = self.keeper.model_id
        return response

    def _load(
        self, request: ModelFile.Request, response: ModelFile.Response
    ) -> ModelFile.Response:
        try:
            self.tenancy.ask(request.run)
            response.path = str(self.keeper.load(request.path, request.checksum))
        except BayesCuriosityError as error:
            response.status = self._rejected("load", error)
        else:
            self._publish_state()
        response.model_id = self.keeper.model_id
        return response

    def _observe(self, message: Observation) -> None:
        """Price an observation and those that came after it, before other callers' turn."""
        later = islice(unserved(Observation, self._inbox), MOST_TOGETHER - 1)
        read = [self.door.let_in("observation", Observation, each) for each in later]
        together = [each for each in (message, *filter(None, read)) if self._is_for_us(each)]
        for reward in [self._priced(each) for each in together]:
            self._rewards.publish(reward)

    def _is_for_us(self, message: Observation) -> bool:
        """Not what another learner observed: its own curiosity answers that."""
        if message.run in (self.tenancy.run, NOBODY):
            return True
        self.tenancy.strangers += 1
        self.get_logger().warning(
            f"observations of {name_of(message.run)} are ignored", throttle_duration_sec=10.0
        )
        return False

    def _priced(self, message: Observation) -> IntrinsicReward:
        reward = fresh(IntrinsicReward)
        reward.header, reward.episode, reward.step = message.header, message.episode, message.step
        reward.run, reward.actor = message.run, message.actor
        try:
            self.tenancy.require(message.run)
            scores = self.keeper.observe(
                message.episode, message.step, observation_of_message(message)
            )
        except BayesCuriosityError as error:
            reward.status = self._rejected("observation", error)
        else:
            reward.variance = float(scores.variance[0])
            reward.curiosity = float(scores.curiosity[0])
            reward.reward = float(scores.reward[0])
        return reward

    def _require_ours(self, run: int) -> None:
        """For what changes nothing: whoever names no run is served by any curiosity."""
        if run != NOBODY:
            self.tenancy.require(run)

    def _admitted(self, batch: ObservationBatch) -> Observations:
        self.keeper.admit(batch.count)
        return observations_of_batch(batch)

    async def _answer(self, request: Evaluate.Request) -> tuple[Scores, int]:
        if request.mode == Evaluate.Request.NOW:
            return await self._score_in_slices(request.observations)
        observations, seen = self._admitted(request.observations), self._seen()
        if request.mode == Evaluate.Request.EPISODE:
            return self.keeper.curiosity.score_in_order(observations), seen
        if request.mode == Evaluate.Request.NEXT:
            return Scores.joined(self.keeper.preview(request.episode, observations)), seen
        raise InputError(f"mode = {request.mode}; see Evaluate.srv for those there are")

    def _seen(self) -> int:
        return self.keeper.curiosity.regression.count

    async def _score_in_slices(self, batch: ObservationBatch) -> tuple[Scores, int]:
        """Scores under one posterior, with a pause for others between slices."""
        observations = self._admitted(batch)
        size = VECTOR_SLICE if observations.images is None else IMAGE_SLICE
        if len(observations) <= size:
            curiosity = self.keeper.curiosity
            return curiosity.score(observations), curiosity.regression.count
        curiosity = self.keeper.snapshot()
        parts = [curiosity.score(observations[:size])]
        for start in range(size, len(observations), size):
            await self._others_first()
            parts.append(curiosity.score(observations[start : start + size]))
        return Scores.joined(parts), curiosity.regression.count

    def _others_first(self) -> _Pause:
        """Await this to let the executor serve whoever waits."""
        assert self.executor is not None
        self.executor.wake()
        return _Pause()

    def _rejected(self, what: str, error: BayesCuriosityError) -> Status:
        self.get_logger().warning(f"{what} rejected: {error}", throttle_duration_sec=1.0)
        return status_of(error)

    def _publish_state(self) -> None:
        keeper, curiosity = self.keeper, self.keeper.curiosity
        state = CuriosityState(
            model_id=keeper.model_id,
            trained=keeper.trained,
            observations=curiosity.regression.count,
            episodes=keeper.episodes,
            log_determinant=curiosity.regression.log_determinant,
            form=curiosity.config.form,
            weight=curiosity.config.weight,
            posterior=curiosity.config.posterior,
            features=curiosity.config.features,
            information=curiosity.regression.information,
            run=self.tenancy.run,
        )
        state.header.stamp = self.get_clock().now().to_msg()
        self._state.publish(state)

    def _warn_if_untrained(self) -> None:
        if not self.keeper.trained:
            self.get_logger().warning(
                "the encoder is random and frozen: novelty is measured in arbitrary features. "
                "Train one and start with -p model:=FILE"
            )


class _Pause:
    """An awaitable that gives way to the executor once."""

    def __await__(self) -> Generator[None, None, None]:
        yield


def main() -> None:
    """Entry point of `ros2 run bayes_curiosity_ros curiosity`."""
    torch.set_num_threads(1)  # batches are small, and other nodes need the cores
    sys.exit(run_node(CuriosityNode))


if __name__ == "__main__":
    main()
