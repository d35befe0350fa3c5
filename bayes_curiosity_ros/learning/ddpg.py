"""Deep deterministic policy gradient (Lillicrap et al. 2015)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Self

import numpy as np
import torch
from torch import Tensor

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.algorithm import LEARNERS, MeanAction
from bayes_curiosity_ros.learning.network import Mlp
from bayes_curiosity_ros.learning.off_policy import (
    Minibatch,
    OffPolicy,
    OffPolicyConfig,
    Updates,
    move_towards,
    require_above_zero,
)
from bayes_curiosity_ros.learning.optimizer import Adam
from bayes_curiosity_ros.learning.policy import Normalising, PolicyConfig
from bayes_curiosity_ros.learning.pricing import Refreshing
from bayes_curiosity_ros.learning.rollout import Behaviour
from bayes_curiosity_ros.tasks.task import Task


@dataclass(frozen=True)
class DdpgConfig(OffPolicyConfig):
    """Settings of DDPG, besides those of `OffPolicyConfig`.

    Attributes:
        actor_rate: Adam's learning rate of the actor.
        critic_rate: Adam's learning rate of the critic.
        noise_std: stationary deviation of the exploration noise, actions being in [-1, 1].
        noise_correlation: of the noise from step to step; 0 is white, near 1 Ornstein–Uhlenbeck.
        bonus_refresh: growth of the memory after which all of it is priced again by today's
            bonus; new transitions are priced at once. See `pricing`.
    """

    actor_rate: float = 1e-3
    critic_rate: float = 1e-3
    noise_std: float = 0.2
    noise_correlation: float = 0.0
    bonus_refresh: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        require_above_zero(self, "actor_rate", "critic_rate")
        if self.bonus_refresh < 0:
            raise ConfigError(f"bonus_refresh = {self.bonus_refresh} must be ≥ 0")
        if self.noise_std < 0 or not 0 <= self.noise_correlation < 1:
            raise ConfigError(
                f"noise_std = {self.noise_std} must be ≥ 0, "
                f"noise_correlation = {self.noise_correlation} in [0, 1)"
            )


class Actor(Normalising):
    """A deterministic policy: a perceptron squashed to [-1, 1] by tanh."""

    networks = ("network",)

    def __init__(
        self,
        center: np.ndarray,
        scale: np.ndarray,
        action_size: int,
        hidden: Sequence[int],
        rng: np.random.Generator,
    ) -> None:
        super().__init__(center, scale)
        sizes = (len(center), *hidden, action_size)
        self.network = Mlp(sizes, rng, output_scale=0.01, activation="relu")

    def mean_actions(self, observations: np.ndarray) -> np.ndarray:
        """Actions (N, A) at observations (N, D)."""
        return np.tanh(self.network.act(self.inputs(observations)))


class NoisyActor:
    """An actor with additive, temporally correlated Gaussian noise; pure noise in warm-up."""

    def __init__(self, actor: Actor, std: float, correlation: float, warmup: bool) -> None:
        self.actor = actor
        self.std = std
        self.correlation = correlation
        self.warmup = warmup
        self.noise: np.ndarray = np.zeros((0, 0, 0))

    def begin(self, count: int, horizon: int, rng: np.random.Generator) -> None:
        noise = rng.standard_normal((horizon, count, self.actor.network.sizes[-1]))
        fresh = (1 - self.correlation**2) ** 0.5
        if self.correlation > 0:
            for step in range(1, horizon):
                noise[step] = self.correlation * noise[step - 1] + fresh * noise[step]
        self.noise = noise if self.warmup else self.std * noise

    @classmethod
    def joined(cls, parts: Sequence[NoisyActor]) -> NoisyActor | None:
        """As `rollout.Joinable`: not where some are in warm-up and others no longer."""
        first = parts[0]
        if any(part.warmup != first.warmup for part in parts):
            return None
        actor = Actor.stacked([part.actor for part in parts])
        whole = cls(actor, first.std, first.correlation, first.warmup)
        whole.noise = np.stack([part.noise for part in parts], axis=1)
        return whole

    def act(self, observations: np.ndarray, step: int) -> np.ndarray:
        if self.warmup:
            return self.noise[step]
        return self.actor.mean_actions(observations) + self.noise[step]


@dataclass(frozen=True)
class Networks:
    """What DDPG learns; with a leading dimension S of everything, that of S learners.

    Attributes:
        actor: observations to actions, before they are squashed.
        critic: observations with actions to values.
        target_actor: follows the actor slowly.
        target_critic: follows the critic slowly.
        actor_adam: of the actor.
        critic_adam: of the critic.
    """

    actor: Mlp
    critic: Mlp
    target_actor: Mlp
    target_critic: Mlp
    actor_adam: Adam
    critic_adam: Adam

    @classmethod
    def fresh(cls, actor: Mlp, critic: Mlp, config: DdpgConfig) -> Networks:
        """Targets that begin where actor and critic do."""
        return cls(
            actor,
            critic,
            actor.copied(),
            critic.copied(),
            Adam(actor.parameters, config.actor_rate, fused=True),
            Adam(critic.parameters, config.critic_rate, fused=True),
        )

    @classmethod
    def stacked(cls, parts: Sequence[Networks]) -> Networks:
        """Those of several learners as one, with copies of all that they hold."""
        actor = Mlp.stacked([part.actor for part in parts])
        critic = Mlp.stacked([part.critic for part in parts])
        return cls(
            actor,
            critic,
            Mlp.stacked([part.target_actor for part in parts]),
            Mlp.stacked([part.target_critic for part in parts]),
            Adam.stacked([part.actor_adam for part in parts], actor.parameters),
            Adam.stacked([part.critic_adam for part in parts], critic.parameters),
        )

    def tensors(self) -> list[Tensor]:
        """Everything that `learn` changes."""
        networks = (self.actor, self.critic, self.target_actor, self.target_critic)
        moments = [adam.state_dict().values() for adam in (self.actor_adam, self.critic_adam)]
        return [*(network.parameters for network in networks), *chain(*moments)]

    def learn(self, minibatch: Minibatch, config: DdpgConfig) -> Tensor:
        """One update; the temporal-difference errors (…, B, 1) before it."""
        error = self._improve_critic(minibatch, config.reward_scale)
        self._improve_actor(minibatch.inputs)
        move_towards(self.target_actor.parameters, self.actor.parameters, config.polyak)
        move_towards(self.target_critic.parameters, self.critic.parameters, config.polyak)
        return error

    def _improve_critic(self, minibatch: Minibatch, reward_scale: float) -> Tensor:
        next_actions = self.target_actor(minibatch.next_inputs).tanh_()
        following = self.target_critic(torch.cat([minibatch.next_inputs, next_actions], -1))
        rewards = reward_scale * minibatch.rewards.sum(-1, keepdim=True)
        target = torch.addcmul(rewards, minibatch.continuation[..., None], following)
        linearized = self.critic.linearize(minibatch.pairs)
        error = linearized.output - target
        self.critic_adam.descend(linearized.vjp(error / error.shape[-2]))
        return error

    def _improve_actor(self, inputs: Tensor) -> None:
        """Deterministic policy gradient: ∂Q/∂a through the squashing into the actor."""
        linearized = self.actor.linearize(inputs)
        actions = linearized.output.tanh()
        value = self.critic.linearize(torch.cat([inputs, actions], -1))
        slope = value.input_gradient(torch.ones_like(value.output))[..., inputs.shape[-1] :]
        self.actor_adam.descend(linearized.vjp(slope * (actions * actions - 1) / inputs.shape[-2]))


class Ddpg(OffPolicy):
    """Q by temporal differences, an actor that climbs Q, slow targets for both."""

    def __init__(
        self,
        center: np.ndarray,
        scale: np.ndarray,
        action_size: int,
        config: DdpgConfig,
        rng: np.random.Generator,
    ) -> None:
        self.config = config
        self.actor = Actor(center, scale, action_size, config.hidden, rng)
        super().__init__(self.actor, action_size, config, Refreshing(config.bonus_refresh), rng)
        sizes = (len(center) + action_size, *config.hidden, 1)
        critic = Mlp(sizes, rng, output_scale=0.1, activation="relu")
        self.networks = Networks.fresh(self.actor.network, critic, config)

    def explore(self) -> Behaviour:
        warmup = self.warming_up(self.buffer.added)
        return NoisyActor(self.actor, self.config.noise_std, self.config.noise_correlation, warmup)

    def exploit(self) -> Behaviour:
        return MeanAction(self.actor)

    def learn(self, minibatch: Minibatch) -> Tensor:
        return self.networks.learn(minibatch, self.config)

    @classmethod
    def learn_together(cls, wanted: Sequence[Updates[Self]]) -> list[float]:
        """In step: networks of all learners that still want updates are stacked."""
        learners = [each.learner for each in wanted]
        counts = [each.count for each in wanted]
        streams = [
            learner.minibatches(count) for learner, count in zip(learners, counts, strict=True)
        ]
        errors, done = [0.0] * len(wanted), 0
        with torch.inference_mode():
            for count in sorted(set(counts)):
                going = [place for place, wants in enumerate(counts) if wants >= count]
                error = _learn_in_step(
                    [learners[place] for place in going],
                    [streams[place] for place in going],
                    count - done,
                )
                for place, row in zip(going, error.abs().mean((1, 2)).tolist(), strict=True):
                    errors[place] = row
                done = count
        return errors

    def parts(self) -> dict[str, Tensor | Adam]:
        networks = self.networks
        return {
            "actor": networks.actor.parameters,
            "critic": networks.critic.parameters,
            "target_actor": networks.target_actor.parameters,
            "target_critic": networks.target_critic.parameters,
            "actor_adam": networks.actor_adam,
            "critic_adam": networks.critic_adam,
        }


def _learn_in_step(
    learners: Sequence[Ddpg], streams: Sequence[Iterator[Minibatch]], updates: int
) -> Tensor:
    """So many updates of each of these learners; their last errors (S, B, 1)."""
    whole = Networks.stacked([learner.networks for learner in learners])
    for _ in range(updates):
        minibatch = Minibatch.stacked([next(stream) for stream in streams])
        error = whole.learn(minibatch, learners[0].config)
    for place, learner in enumerate(learners):
        for mine, all_of_them in zip(learner.networks.tensors(), whole.tensors(), strict=True):
            mine.copy_(all_of_them[place])
    return error


@LEARNERS.register("ddpg", config=DdpgConfig)
def _make(task: Task, config: DdpgConfig, policy: PolicyConfig, rng: np.random.Generator) -> Ddpg:
    center, scale = task.observation_center, task.observation_scale
    return Ddpg(center, scale, task.action_size, config, rng)
