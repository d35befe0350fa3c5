"""REINFORCE (Williams 1992) with a baseline: the likelihood-ratio gradient, and Adam."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.algorithm import LEARNERS, OnPolicy, OnPolicyConfig
from bayes_curiosity_ros.learning.critic import Critic, LinearBaseline
from bayes_curiosity_ros.learning.optimizer import Adam
from bayes_curiosity_ros.learning.policy import GaussianPolicy, PolicyConfig
from bayes_curiosity_ros.learning.trpo import surrogate_gradient
from bayes_curiosity_ros.tasks.task import Task


@dataclass(frozen=True)
class ReinforceConfig(OnPolicyConfig):
    """Settings of REINFORCE, besides those of `OnPolicyConfig`.

    Attributes:
        learning_rate: of Adam.
    """

    learning_rate: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learning_rate <= 0:
            raise ConfigError(f"learning_rate = {self.learning_rate} must be > 0")


class Reinforce(OnPolicy):
    """One Adam step up mean(A ∇ log π) per batch."""

    def __init__(self, policy: GaussianPolicy, critic: Critic, config: ReinforceConfig) -> None:
        super().__init__(policy, critic, config)
        self.config = config
        self.adam = Adam(policy.parameters, config.learning_rate)

    def improve(self, inputs: Tensor, actions: Tensor, advantages: Tensor) -> dict[str, float]:
        gradient = surrogate_gradient(self.policy.linearize(inputs), actions, advantages)
        self.adam.descend(-gradient)
        return {"gradient_norm": float(gradient.norm())}

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"adam": self.adam.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.adam.load_state_dict(state["adam"])


@LEARNERS.register("reinforce", config=ReinforceConfig)
def _make(
    task: Task, config: ReinforceConfig, policy: PolicyConfig, rng: np.random.Generator
) -> Reinforce:
    baseline = LinearBaseline.for_task(task, config.discount)
    return Reinforce(GaussianPolicy.for_task(task, policy, rng), baseline, config)
