"""REINFORCE (Williams 1992) with a baseline: the likelihood-ratio gradient, and Adam."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.algorithm import LEARNERS, OnPolicy
from bayes_curiosity_ros.learning.critic import Critic, LinearBaseline
from bayes_curiosity_ros.learning.optimizer import Adam
from bayes_curiosity_ros.learning.policy import GaussianPolicy, PolicyConfig
from bayes_curiosity_ros.learning.trpo import surrogate_gradient
from bayes_curiosity_ros.tasks.task import Task


@dataclass(frozen=True)
class ReinforceConfig:
    """Settings of REINFORCE.

    Attributes:
        discount: γ.
        gae_lambda: λ; 1 is Williams's Monte Carlo return.
        learning_rate: of Adam.
    """

    discount: float = 0.99
    gae_lambda: float = 1.0
    learning_rate: float = 0.01

    def __post_init__(self) -> None:
        if not 0 < self.discount <= 1 or not 0 <= self.gae_lambda <= 1:
            raise ConfigError(
                f"discount = {self.discount}, gae_lambda = {self.gae_lambda}; both belong in 0..1"
            )
        if self.learning_rate <= 0:
            raise ConfigError(f"learning_rate = {self.learning_rate} must be > 0")


class Reinforce(OnPolicy):
    """One Adam step up mean(A ∇ log π) per batch."""

    def __init__(self, policy: GaussianPolicy, critic: Critic, config: ReinforceConfig) -> None:
        super().__init__(policy, critic, config.discount, config.gae_lambda)
        self.config = config
        self.adam = Adam(policy.parameters, config.learning_rate)

    def improve(self, inputs: Tensor, actions: Tensor, advantages: Tensor) -> dict[str, float]:
        gradient = surrogate_gradient(self.policy.linearize(inputs), actions, advantages)
        self.adam.descend(-gradient)
        return {"gradient_norm": float(gradient.norm())}

    def state_dict(self) -> dict[str, Any]:
        return {
            "policy": self.policy.state_dict(),
            "critic": self.critic.state_dict(),
            "adam": self.adam.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.policy.load_state_dict(state["policy"])
        self.critic.load_state_dict(state["critic"])
        self.adam.load_state_dict(state["adam"])


@LEARNERS.register("reinforce", config=ReinforceConfig)
def _make(
    task: Task, config: ReinforceConfig, policy: PolicyConfig, rng: np.random.Generator
) -> Reinforce:
    baseline = LinearBaseline.for_task(task, config.discount)
    return Reinforce(GaussianPolicy.for_task(task, policy, rng), baseline, config)
