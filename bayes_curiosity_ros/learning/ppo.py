"""Proximal policy optimisation (Schulman et al. 2017): TRPO with another improvement step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.algorithm import LEARNERS, OnPolicy, OnPolicyConfig
from bayes_curiosity_ros.learning.critic import Critic, LinearBaseline
from bayes_curiosity_ros.learning.optimizer import Adam
from bayes_curiosity_ros.learning.policy import GaussianPolicy, PolicyConfig
from bayes_curiosity_ros.learning.trpo import surrogate_gradient
from bayes_curiosity_ros.tasks.task import Task


@dataclass(frozen=True)
class PpoConfig(OnPolicyConfig):
    """Settings of PPO, besides those of `OnPolicyConfig`.

    Attributes:
        clip: ε, how far the ratio of the policies may be from 1 before it earns no more.
        epochs: passes over a batch.
        minibatch: steps per update.
        learning_rate: of Adam.
        max_kl: in [nat]; no epoch begins after the policy has moved further from the old one.
    """

    clip: float = 0.2
    epochs: int = 10
    minibatch: int = 256
    learning_rate: float = 1e-3
    max_kl: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.clip < 1 or not self.learning_rate > 0 or not self.max_kl > 0:
            raise ConfigError(
                f"clip = {self.clip} belongs in (0, 1), learning_rate = {self.learning_rate} and "
                f"max_kl = {self.max_kl} must be > 0"
            )
        if min(self.epochs, self.minibatch) < 1:
            raise ConfigError(f"epochs = {self.epochs}, minibatch = {self.minibatch}; need ≥ 1")


class Ppo(OnPolicy):
    """Maximise mean(min(A ρ, A clip(ρ, 1 - ε, 1 + ε))), ρ = π/π_old, by epochs of minibatches."""

    def __init__(
        self, policy: GaussianPolicy, critic: Critic, config: PpoConfig, rng: np.random.Generator
    ) -> None:
        super().__init__(policy, critic, config)
        self.config = config
        self.rng = rng
        self.adam = Adam(policy.parameters, config.learning_rate)

    def improve(self, inputs: Tensor, actions: Tensor, advantages: Tensor) -> dict[str, float]:
        old = self.policy.distribution(inputs)
        data = (inputs, actions, advantages, old.log_probability(actions))
        kl, epoch = 0.0, 0
        while epoch < self.config.epochs and kl <= self.config.max_kl:
            order = torch.from_numpy(self.rng.permutation(len(inputs)))
            for rows in torch.split(order, self.config.minibatch):
                self._climb(*(part[rows] for part in data))
            kl = float(self.policy.distribution(inputs).kl_from(old).mean())
            epoch += 1
        return {"kl": kl, "epochs": float(epoch)}

    def _climb(
        self, inputs: Tensor, actions: Tensor, advantages: Tensor, old_log_probability: Tensor
    ) -> None:
        linearized = self.policy.linearize(inputs)
        log_probability = linearized.distribution.log_probability(actions)
        ratio = torch.exp(log_probability - old_log_probability)
        weights = clipped_weights(ratio, advantages, self.config.clip)
        self.adam.descend(-surrogate_gradient(linearized, actions, weights))

    def state_dict(self) -> dict[str, Any]:
        own = {"adam": self.adam.state_dict(), "rng": self.rng.bit_generator.state}
        return super().state_dict() | own

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.adam.load_state_dict(state["adam"])
        self.rng.bit_generator.state = state["rng"]


def clipped_weights(ratio: Tensor, advantages: Tensor, clip: float) -> Tensor:
    """∂ min(A ρ, A clip(ρ)) / ∂ log π of each row: A ρ, or 0 where the clipped one counts."""
    beyond = torch.where(advantages > 0, ratio > 1 + clip, ratio < 1 - clip)
    return torch.where(beyond, 0.0, advantages * ratio)


@LEARNERS.register("ppo", config=PpoConfig)
def _make(task: Task, config: PpoConfig, policy: PolicyConfig, rng: np.random.Generator) -> Ppo:
    baseline = LinearBaseline.for_task(task, config.discount)
    return Ppo(GaussianPolicy.for_task(task, policy, rng), baseline, config, rng)
