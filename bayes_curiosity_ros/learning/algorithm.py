"""What Algorithm 2 asks of a learner, and the part that on-policy learners share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from bayes_curiosity_ros.configuration.registry import Registry
from bayes_curiosity_ros.configuration.settings import build
from bayes_curiosity_ros.curiosity.bonus import Bonus
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.critic import Critic
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.policy import GaussianPolicy, Normalising, PolicyConfig
from bayes_curiosity_ros.learning.returns import generalised_advantages
from bayes_curiosity_ros.learning.rollout import Behaviour
from bayes_curiosity_ros.tasks.task import Task


class Algorithm(Protocol):
    """A learner: it explores, learns from what came of it, and can say what it would do."""

    def explore(self) -> Behaviour:
        """How to gather experience."""
        ...

    def exploit(self) -> Behaviour:
        """How to act for the extrinsic return alone, without noise."""
        ...

    @property
    def imitator(self) -> GaussianPolicy | None:
        """The policy that imitation may train beforehand; None where there is none."""
        ...

    def update(self, episodes: Episodes, bonus: Bonus) -> dict[str, float]:
        """Learn from new episodes; the bonus is only evaluated here. Returns diagnostics."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """All state, random generators included."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        ...


@dataclass(frozen=True)
class LearnerEntry:
    """A kind of learner.

    Attributes:
        name: what users type.
        make: from task, configuration, shape of a policy and a source of randomness to a learner.
        config: dataclass of its settings, each with a default.
        remembers: whether it keeps every step. Over ROS it learns after every episode, and
            begins with demonstrated episodes in place of an imitated policy.
    """

    name: str
    make: Callable[[Task, Any, PolicyConfig, np.random.Generator], Algorithm]
    config: type
    remembers: bool = False


LEARNERS: Registry[LearnerEntry] = Registry(
    "learner", LearnerEntry, "bayes_curiosity_ros.learning"
)


def make_learner(
    name: str,
    task: Task,
    options: Mapping[str, Any],
    policy: PolicyConfig,
    rng: np.random.Generator,
) -> Algorithm:
    """A learner with fresh networks.

    Args:
        name: of the learner.
        task: that it learns.
        options: of the learner's configuration, those that differ from its defaults.
        policy: shape of the policy of a learner that has a Gaussian one.
        rng: source of its weights, and of whatever it draws later.
    """
    entry = LEARNERS[name]
    return entry.make(task, build(entry.config, options, f"learner {name}"), policy, rng)


ActorT = TypeVar("ActorT", bound="Actor")


class Actor(Protocol):
    """A policy without its noise."""

    def mean_actions(self, observations: np.ndarray) -> np.ndarray:
        """Actions (N, A) at observations (N, D)."""
        ...


class NoisyActor(Actor, Protocol):
    """A policy that can be drawn from."""

    action_size: int

    def sample(self, observations: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Actions (N, A) from standard normal `noise` (N, A)."""
        ...


class SampledAction:
    """Act by drawing from a policy."""

    def __init__(self, policy: NoisyActor) -> None:
        self.policy = policy
        self.noise: np.ndarray = np.zeros((0, 0, 0), dtype=np.float32)

    def begin(self, count: int, horizon: int, rng: np.random.Generator) -> None:
        size = self.policy.action_size
        self.noise = rng.standard_normal((horizon, count, size), dtype=np.float32)

    @classmethod
    def joined(cls, parts: Sequence[SampledAction]) -> SampledAction | None:
        """As `rollout.Joinable`."""
        policy = _stacked([part.policy for part in parts])
        if policy is None:
            return None
        whole = cls(policy)
        whole.noise = np.stack([part.noise for part in parts], axis=1)
        return whole

    def act(self, observations: np.ndarray, step: int) -> np.ndarray:
        return self.policy.sample(observations, self.noise[step])


class MeanAction:
    """Act by a policy without its noise."""

    def __init__(self, policy: Actor) -> None:
        self.policy = policy

    @classmethod
    def joined(cls, parts: Sequence[MeanAction]) -> MeanAction | None:
        """As `rollout.Joinable`."""
        policy = _stacked([part.policy for part in parts])
        return None if policy is None else cls(policy)

    def begin(self, count: int, horizon: int, rng: np.random.Generator) -> None:
        pass

    def act(self, observations: np.ndarray, step: int) -> np.ndarray:
        return self.policy.mean_actions(observations)


def _stacked(policies: Sequence[ActorT]) -> ActorT | None:
    """One for several; None where they are of a kind that cannot be."""
    kind: Any = type(policies[0])
    return kind.stacked(policies) if issubclass(kind, Normalising) else None


@dataclass(frozen=True)
class OnPolicyConfig:
    """Settings that every on-policy learner has.

    Attributes:
        discount: γ.
        gae_lambda: λ of the advantage estimate; 1 is the Monte Carlo return.
    """

    discount: float = 0.99
    gae_lambda: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.discount <= 1 or not 0 <= self.gae_lambda <= 1:
            raise ConfigError(
                f"discount = {self.discount}, gae_lambda = {self.gae_lambda}; both belong in 0..1"
            )


class OnPolicy(ABC):
    """Policy-gradient learners: reward plus bonus, advantages, one improvement per batch."""

    def __init__(self, policy: GaussianPolicy, critic: Critic, config: OnPolicyConfig) -> None:
        self.policy = policy
        self.critic = critic
        self.discount = config.discount
        self.gae_lambda = config.gae_lambda

    @property
    def imitator(self) -> GaussianPolicy:
        return self.policy

    def explore(self) -> Behaviour:
        return SampledAction(self.policy)

    def exploit(self) -> Behaviour:
        return MeanAction(self.policy)

    def update(self, episodes: Episodes, bonus: Bonus) -> dict[str, float]:
        mask = episodes.mask
        intrinsic = bonus.evaluate(episodes.split())
        rewards = episodes.rewards.copy()
        rewards[mask] += intrinsic
        values = self.critic.estimate(episodes, rewards)
        advantages = generalised_advantages(rewards, values, mask, self.discount, self.gae_lambda)[
            mask
        ]
        diagnostics = self.improve(
            torch.from_numpy(self.policy.inputs(episodes.observations[:, :-1][mask])),
            torch.from_numpy(episodes.actions[mask].astype(np.float32)),
            torch.from_numpy(standardise(advantages).astype(np.float32)),
        )
        return {"intrinsic": float(intrinsic.mean()), **diagnostics}

    @abstractmethod
    def improve(self, inputs: Tensor, actions: Tensor, advantages: Tensor) -> dict[str, float]:
        """Change the policy. N rows of normalised observations, actions, advantages (N,)."""

    def state_dict(self) -> dict[str, Any]:
        """All state."""
        return {"policy": self.policy.state_dict(), "critic": self.critic.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self.policy.load_state_dict(state["policy"])
        self.critic.load_state_dict(state["critic"])


def standardise(values: np.ndarray) -> np.ndarray:
    """Zero mean and unit deviation, however small the deviation was."""
    return (values - values.mean()) / (values.std() + 1e-12)
