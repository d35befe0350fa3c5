"""What learners share that remember every step and learn from minibatches of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import numpy as np
import torch
from torch import Tensor

from bayes_curiosity_ros.curiosity.bonus import Bonus
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.buffer import Buffer
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.optimizer import Adam
from bayes_curiosity_ros.learning.policy import Normalising
from bayes_curiosity_ros.learning.pricing import Pricing

LearnerT = TypeVar("LearnerT", bound="OffPolicy")
TOGETHER = 64  # updates whose data are gathered at once: few copies, and little memory


@dataclass(frozen=True)
class OffPolicyConfig:
    """Settings that every such learner has.

    Attributes:
        discount: γ.
        minibatch: transitions per update.
        updates_per_step: gradient updates per environment step.
        polyak: τ, how far targets move per update.
        buffer_capacity: transitions kept.
        warmup_steps: environment steps taken at random before anything is learned. A bonus at
            its prior is the same for all states, but so large that unlearning it takes long.
        reward_scale: factor on rewards inside the critic.
        hidden: widths of the hidden layers.
    """

    discount: float = 0.99
    minibatch: int = 64
    updates_per_step: float = 0.5
    polyak: float = 0.01
    buffer_capacity: int = 100_000
    warmup_steps: int = 1000
    reward_scale: float = 0.1
    hidden: tuple[int, ...] = (64, 64)

    def __post_init__(self) -> None:
        if not 0 < self.discount < 1 or not 0 < self.polyak <= 1:
            raise ConfigError(
                f"discount = {self.discount} belongs in (0, 1), polyak = {self.polyak} in (0, 1]"
            )
        require_above_zero(self, "minibatch", "buffer_capacity", "updates_per_step")
        require_above_zero(self, "reward_scale")


def require_above_zero(config: Any, *names: str) -> None:
    """Raise ConfigError unless all of these settings are > 0."""
    for name in names:
        if not getattr(config, name) > 0:
            raise ConfigError(f"{name} = {getattr(config, name)} must be > 0")


@dataclass(frozen=True)
class Minibatch:
    """B transitions, the demonstrated ones last.

    Attributes:
        inputs: (B, D) normalised observations.
        pairs: (B, D + A) these with actions.
        rewards: (B, 2), extrinsic and intrinsic.
        next_inputs: (B, D) normalised next observations.
        continuation: (B,) γ, or 0 where an episode ended for good. A truncation is none.
        shown: how many are demonstrated.
    """

    inputs: Tensor
    pairs: Tensor
    rewards: Tensor
    next_inputs: Tensor
    continuation: Tensor
    shown: int = 0

    @classmethod
    def stacked(cls, parts: Sequence[Minibatch]) -> Minibatch:
        """Those of S learners, with a leading dimension S of everything."""
        return cls(
            torch.stack([part.inputs for part in parts]),
            torch.stack([part.pairs for part in parts]),
            torch.stack([part.rewards for part in parts]),
            torch.stack([part.next_inputs for part in parts]),
            torch.stack([part.continuation for part in parts]),
            parts[0].shown,
        )

    @property
    def actions(self) -> Tensor:
        """(B, A)."""
        return self.pairs[:, self.inputs.shape[1] :]


@dataclass(frozen=True)
class Updates(Generic[LearnerT]):
    """Updates that a learner wants.

    Attributes:
        learner: the learner.
        count: number of them.
    """

    learner: LearnerT
    count: int


RunUpdates = Callable[[Updates], float]


def run_updates(wanted: Updates) -> float:
    """Let the learner learn; the mean error of its last minibatch, before it."""
    return wanted.learner.learn_from(wanted.count)


class OffPolicy(ABC):
    """Remember episodes, price them, and learn from minibatches.

    Args:
        actor: normalises observations for all networks.
        action_size: A.
        config: what all such learners share of their settings.
        pricing: which remembered transitions are priced again, and when.
        rng: source of minibatches, and of what a learner draws.

    Attributes:
        run: runs its updates.
    """

    def __init__(
        self,
        actor: Normalising,
        action_size: int,
        config: OffPolicyConfig,
        pricing: Pricing,
        rng: np.random.Generator,
    ) -> None:
        self._actor = actor
        self._config = config
        self._pricing = pricing
        self.rng = rng
        self.run: RunUpdates = run_updates
        size = len(actor.center)
        self.buffer = Buffer("experience", config.buffer_capacity, size, action_size)

    @property
    def imitator(self) -> None:
        """Imitation trains Gaussian policies only."""
        return

    def update(self, episodes: Episodes, bonus: Bonus) -> dict[str, float]:
        """Remember the episodes, price them, and learn from minibatches."""
        diagnostics = {"intrinsic": self.take(episodes, bonus)}
        due = self.due(episodes.steps)
        return diagnostics | ({"td_error": self.improve(due)} if due else {})

    def take(self, episodes: Episodes, bonus: Bonus) -> float:
        """Remember the episodes and price them; the mean intrinsic reward of what is new."""
        self.buffer.add(episodes)
        return self.price(bonus)

    def due(self, steps: int) -> int:
        """Updates that belong to so many steps, once these are remembered."""
        if self.warming_up(self.buffer.added - 1):
            return 0
        return max(1, round(steps * self._config.updates_per_step))

    def improve(self, updates: int) -> float:
        """Learn from so many minibatches; the mean error of the last, before it."""
        return self.run(Updates(self, updates))

    def learn_from(self, updates: int) -> float:
        """As `improve`, by itself."""
        with torch.inference_mode():
            for minibatch in self.minibatches(updates):
                error = self.learn(minibatch)
        return float(error.abs().mean())

    @classmethod
    def learn_together(cls, wanted: Sequence[Updates[Self]]) -> list[float]:
        """What `learn_from` of each of these learners gives."""
        return [each.learner.learn_from(each.count) for each in wanted]

    def price(self, bonus: Bonus) -> float:
        """Price what is remembered; the mean intrinsic reward of what is new."""
        return self._pricing.price(self.buffer, bonus)

    def warming_up(self, steps: int) -> bool:
        """Whether, after so many steps, actions are still random and nothing is learnt."""
        return steps < self._config.warmup_steps

    def draw(self, updates: int) -> Sequence[tuple[Buffer, np.ndarray]]:
        """Buffers, and rows (updates, n) of each that the minibatches consist of."""
        size = (updates, self._config.minibatch)
        return [(self.buffer, self.rng.integers(len(self.buffer), size=size))]

    def minibatches(self, updates: int) -> Iterator[Minibatch]:
        """What so many updates learn from."""
        drawn = self.draw(updates)
        for start in range(0, updates, TOGETHER):
            part = slice(start, start + TOGETHER)
            yield from self._gathered([(buffer, rows[part]) for buffer, rows in drawn])

    def _gathered(self, drawn: Sequence[tuple[Buffer, np.ndarray]]) -> Iterator[Minibatch]:
        """All updates' data at once: one copy instead of five per update."""
        rows = np.concatenate([buffer.log.data[index] for buffer, index in drawn], axis=1)
        intrinsic = np.concatenate([buffer.intrinsic[index] for buffer, index in drawn], axis=1)
        inputs = torch.from_numpy(self._actor.inputs(rows["observation"]))
        next_inputs = torch.from_numpy(self._actor.inputs(rows["next_observation"]))
        pairs = torch.cat([inputs, torch.from_numpy(rows["action"].copy())], 2)
        rewards = torch.from_numpy(np.stack([rows["reward"], intrinsic], axis=2))
        continuation = torch.from_numpy(self._config.discount * (1 - rows["terminated"]))
        columns = (inputs, pairs, rewards, next_inputs, continuation)
        shown = sum(index.shape[1] for _, index in drawn[1:])
        for parts in zip(*columns, strict=True):
            yield Minibatch(*parts, shown)

    @abstractmethod
    def learn(self, minibatch: Minibatch) -> Tensor:
        """One update; the temporal-difference errors before it."""

    @abstractmethod
    def parts(self) -> dict[str, Tensor | Adam]:
        """Everything that `learn` changes, by name."""

    def state_dict(self) -> dict[str, Any]:
        """All state."""
        learnt = {
            name: part.state_dict() if isinstance(part, Adam) else part
            for name, part in self.parts().items()
        }
        return learnt | {
            "buffer": self.buffer.state_dict(),
            "pricing": self._pricing.state_dict(),
            "rng": self.rng.bit_generator.state,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        for name, part in self.parts().items():
            if isinstance(part, Adam):
                part.load_state_dict(state[name])
            else:
                part.copy_(state[name])
        self.buffer.load_state_dict(state["buffer"])
        self._pricing.load_state_dict(state["pricing"])
        self.rng.bit_generator.state = state["rng"]


def move_towards(target: Tensor, source: Tensor, polyak: float) -> None:
    """target ← (1 - τ) target + τ source, in place."""
    target.lerp_(source, polyak)
