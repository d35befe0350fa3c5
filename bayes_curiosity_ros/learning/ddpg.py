"""Deep deterministic policy gradient (Lillicrap et al. 2015)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bayes_curiosity_ros.curiosity.bonus import Bonus
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.algorithm import LEARNERS
from bayes_curiosity_ros.learning.buffer import Buffer
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.network import Mlp
from bayes_curiosity_ros.learning.optimizer import Adam
from bayes_curiosity_ros.learning.policy import PolicyConfig
from bayes_curiosity_ros.learning.rollout import Behaviour
from bayes_curiosity_ros.tasks.task import Task


@dataclass(frozen=True)
class DdpgConfig:
    """Settings of DDPG.

    Attributes:
        discount: γ.
        actor_rate: Adam's learning rate of the actor.
        critic_rate: Adam's learning rate of the critic.
        minibatch: transitions per update.
        updates_per_step: gradient updates per environment step.
        polyak: τ, how far targets move per update.
        buffer_capacity: transitions kept.
        noise_std: stationary deviation of the exploration noise, actions being in [-1, 1].
        noise_correlation: of the noise from step to step; 0 is white, near 1 Ornstein–Uhlenbeck.
        warmup_steps: environment steps taken at random before anything is learned. A bonus at
            its prior is the same for all states, but so large that unlearning it takes long.
        reward_scale: factor on rewards inside the critic.
        bonus_refresh: growth of the memory after which all of it is priced again by today's
            bonus; new transitions are priced at once. The bonus is a property of what is known
            *now*: a first visit's reward, kept for ever, would be paid for ever.
        hidden: widths of the hidden layers.
    """

    discount: float = 0.99
    actor_rate: float = 1e-3
    critic_rate: float = 1e-3
    minibatch: int = 64
    updates_per_step: float = 0.5
    polyak: float = 0.01
    buffer_capacity: int = 100_000
    noise_std: float = 0.2
    noise_correlation: float = 0.0
    warmup_steps: int = 1000
    reward_scale: float = 0.1
    bonus_refresh: float = 0.1
    hidden: tuple[int, ...] = (64, 64)

    def __post_init__(self) -> None:
        if not 0 < self.discount < 1 or not 0 < self.polyak <= 1:
            raise ConfigError(
                f"discount = {self.discount} belongs in (0, 1), polyak = {self.polyak} in (0, 1]"
            )
        if min(self.actor_rate, self.critic_rate, self.reward_scale) <= 0:
            raise ConfigError("actor_rate, critic_rate and reward_scale must be > 0")
        if min(self.minibatch, self.buffer_capacity) < 1 or self.updates_per_step <= 0:
            raise ConfigError("minibatch, buffer_capacity and updates_per_step must be > 0")
        if self.bonus_refresh < 0:
            raise ConfigError(f"bonus_refresh = {self.bonus_refresh} must be ≥ 0")
        if self.noise_std < 0 or not 0 <= self.noise_correlation < 1:
            raise ConfigError(
                f"noise_std = {self.noise_std} must be ≥ 0, "
                f"noise_correlation = {self.noise_correlation} in [0, 1)"
            )


class Actor:
    """A deterministic policy: a perceptron squashed to [-1, 1] by tanh."""

    def __init__(
        self,
        center: np.ndarray,
        scale: np.ndarray,
        action_size: int,
        hidden: Sequence[int],
        rng: np.random.Generator,
    ) -> None:
        self.center = center.astype(np.float32)
        self.inverse_scale = (1.0 / scale).astype(np.float32)
        sizes = (len(center), *hidden, action_size)
        self.network = Mlp(sizes, rng, output_scale=0.01, activation="relu")

    def inputs(self, observations: np.ndarray) -> np.ndarray:
        """Normalised observations (N, D) float32."""
        return (observations.astype(np.float32) - self.center) * self.inverse_scale

    def actions(self, observations: np.ndarray) -> np.ndarray:
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

    def act(self, observations: np.ndarray, step: int) -> np.ndarray:
        if self.warmup:
            return self.noise[step]
        return self.actor.actions(observations) + self.noise[step]


class Greedy:
    """An actor without noise."""

    def __init__(self, actor: Actor) -> None:
        self.actor = actor

    def begin(self, count: int, horizon: int, rng: np.random.Generator) -> None:
        pass

    def act(self, observations: np.ndarray, step: int) -> np.ndarray:
        return self.actor.actions(observations)


@dataclass(frozen=True)
class Minibatch:
    """Normalised observations (B, D), these with actions (B, D + A), rewards (B, 1),
    normalised next observations (B, D) and continuations γ (1 - terminated) (B, 1)."""

    inputs: Tensor
    pairs: Tensor
    rewards: Tensor
    next_inputs: Tensor
    continuation: Tensor


class Ddpg:
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
        self.rng = rng
        size = len(center)
        self.actor = Actor(center, scale, action_size, config.hidden, rng)
        sizes = (size + action_size, *config.hidden, 1)
        self.critic = Mlp(sizes, rng, output_scale=0.1, activation="relu")
        self.target_actor = Mlp(self.actor.network.sizes, rng, activation="relu")
        self.target_critic = Mlp(sizes, rng, activation="relu")
        self.target_actor.parameters.copy_(self.actor.network.parameters)
        self.target_critic.parameters.copy_(self.critic.parameters)
        self.actor_adam = Adam(self.actor.network.parameters, config.actor_rate)
        self.critic_adam = Adam(self.critic.parameters, config.critic_rate)
        self.buffer = Buffer(config.buffer_capacity, size, action_size)
        self.priced = 0

    @property
    def imitator(self) -> None:
        """Imitation trains Gaussian policies only."""
        return

    def explore(self) -> Behaviour:
        warmup = self.buffer.added < self.config.warmup_steps
        return NoisyActor(self.actor, self.config.noise_std, self.config.noise_correlation, warmup)

    def exploit(self) -> Behaviour:
        return Greedy(self.actor)

    def update(self, episodes: Episodes, bonus: Bonus) -> dict[str, float]:
        """Remember the episodes, price them, and learn from minibatches."""
        new = self.buffer.add(episodes)
        self._price(bonus, new)
        intrinsic = {"intrinsic": float(self.buffer.intrinsic[new].mean())}
        if self.buffer.added <= self.config.warmup_steps:
            return intrinsic
        updates = max(1, round(episodes.steps * self.config.updates_per_step))
        rows = self.rng.integers(len(self.buffer), size=(updates, self.config.minibatch))
        with torch.inference_mode():
            for minibatch in self._minibatches(rows):
                error = self._improve_critic(minibatch)
                self._improve_actor(minibatch.inputs)
                self._move_targets()
        return {**intrinsic, "td_error": float(error.abs().mean())}

    def _price(self, bonus: Bonus, new: np.ndarray) -> None:
        """The new rows, or all of them once the memory has grown enough."""
        if self.buffer.added >= (1 + self.config.bonus_refresh) * self.priced:
            self.priced = self.buffer.added
            new = self.buffer.rows()
        self.buffer.price(bonus, new)

    def _minibatches(self, rows: np.ndarray) -> Iterator[Minibatch]:
        """Gather all updates' data at once: one copy instead of five per update."""
        buffer, actor, scale = self.buffer, self.actor, self.config.reward_scale
        inputs = torch.from_numpy(actor.inputs(buffer.observations[rows]))
        next_inputs = torch.from_numpy(actor.inputs(buffer.next_observations[rows]))
        actions = torch.from_numpy(buffer.actions[rows])
        rewards = torch.from_numpy(scale * (buffer.rewards[rows] + buffer.intrinsic[rows]))
        alive = torch.from_numpy(1 - buffer.terminated[rows])
        pairs = torch.cat([inputs, actions], 2)
        columns = (inputs, pairs, rewards[:, :, None], next_inputs)
        continuation = self.config.discount * alive[:, :, None]
        for parts in zip(*columns, continuation, strict=True):
            yield Minibatch(*parts)

    def _improve_critic(self, minibatch: Minibatch) -> Tensor:
        """One temporal-difference step; the errors (B, 1) before it."""
        next_actions = self.target_actor(minibatch.next_inputs).tanh_()
        following = self.target_critic(torch.cat([minibatch.next_inputs, next_actions], 1))
        target = torch.addcmul(minibatch.rewards, minibatch.continuation, following)
        linearized = self.critic.linearize(minibatch.pairs)
        error = linearized.output - target
        self.critic_adam.descend(linearized.vjp(error / len(error)))
        return error

    def _improve_actor(self, inputs: Tensor) -> None:
        """Deterministic policy gradient: ∂Q/∂a through the squashing into the actor."""
        linearized = self.actor.network.linearize(inputs)
        actions = linearized.output.tanh()
        value = self.critic.linearize(torch.cat([inputs, actions], 1))
        slope = value.input_gradient(torch.ones_like(value.output))[:, inputs.shape[1] :]
        self.actor_adam.descend(linearized.vjp(slope * (actions * actions - 1) / len(inputs)))

    def _move_targets(self) -> None:
        polyak = self.config.polyak
        self.target_actor.parameters.lerp_(self.actor.network.parameters, polyak)
        self.target_critic.parameters.lerp_(self.critic.parameters, polyak)

    def state_dict(self) -> dict[str, Any]:
        return {
            "actor": self.actor.network.parameters,
            "critic": self.critic.parameters,
            "target_actor": self.target_actor.parameters,
            "target_critic": self.target_critic.parameters,
            "actor_adam": self.actor_adam.state_dict(),
            "critic_adam": self.critic_adam.state_dict(),
            "buffer": self.buffer.state_dict(),
            "priced": self.priced,
            "rng": self.rng.bit_generator.state,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.actor.network.parameters.copy_(state["actor"])
        self.critic.parameters.copy_(state["critic"])
        self.target_actor.parameters.copy_(state["target_actor"])
        self.target_critic.parameters.copy_(state["target_critic"])
        self.actor_adam.load_state_dict(state["actor_adam"])
        self.critic_adam.load_state_dict(state["critic_adam"])
        self.buffer.load_state_dict(state["buffer"])
        self.priced = int(state["priced"])
        self.rng.bit_generator.state = state["rng"]


@LEARNERS.register("ddpg", config=DdpgConfig)
def _make(task: Task, config: DdpgConfig, policy: PolicyConfig, rng: np.random.Generator) -> Ddpg:
    center, scale = task.observation_center, task.observation_scale
    return Ddpg(center, scale, task.action_size, config, rng)
