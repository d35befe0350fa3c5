"""The protocol between a learner and whatever rewards its exploration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from bayes_curiosity_ros.configuration.registry import Registry
from bayes_curiosity_ros.configuration.settings import build
from bayes_curiosity_ros.curiosity.data import Observations, Transitions

if TYPE_CHECKING:
    from bayes_curiosity_ros.curiosity.encoder import Encoder


class Stream(Protocol):
    """Prices an episode under way."""

    def reward(self, step: Transitions) -> float:
        """The intrinsic reward of the next transition, weight included; steps come in order."""
        ...


class Unordered:
    """The stream of a bonus for which the order within an episode makes no difference."""

    def __init__(self, bonus: Bonus) -> None:
        self.bonus = bonus

    def reward(self, step: Transitions) -> float:
        return float(self.bonus.evaluate([step])[0])


def rewards_together(streams: Sequence[Stream], steps: Sequence[Transitions]) -> np.ndarray:
    """The rewards of the next step of each of a bonus's streams: (N,) float64.

    Where order makes no difference, all are priced by one call.
    """
    first = streams[0]
    if isinstance(first, Unordered):
        return first.bonus.evaluate(steps)
    return np.array([stream.reward(step) for stream, step in zip(streams, steps, strict=True)])


@runtime_checkable
class Bonus(Protocol):
    """An intrinsic reward; a learner cannot tell which one it has."""

    def evaluate(self, episodes: Sequence[Transitions]) -> np.ndarray:
        """The intrinsic reward of every transition, weight included: (N,) float64.

        Changes nothing that a later `evaluate` would see.

        Args:
            episodes: each in its order and from its beginning, for what an observation earns may
                depend on those before it; it need not have ended.

        Returns:
            The rewards of the first episode, then those of the second, …
        """
        ...

    def begin(self, first: Observations) -> Stream:
        """An episode begins with its first observation: what prices its steps one by one."""
        ...

    def update(self, episodes: Sequence[Transitions]) -> None:
        """Learn from finished episodes, in the order given."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """All state, as nested dicts of tensors, arrays, numbers and strings."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        ...


@dataclass(frozen=True)
class BonusInputs:
    """What a bonus is made from, besides its own options.

    Attributes:
        vector_size: numbers in an observation.
        action_size: numbers in an action.
        seed: of what the bonus draws.
        encoder: gives the encoder whose latent space novelty is measured in; asked only by a
            bonus that needs one.
        latent_last: whether observations end with the encoder's latent space already, as those
            of a task that is seen through the encoder do.
    """

    vector_size: int
    action_size: int
    seed: int
    encoder: Callable[[], Encoder]
    latent_last: bool = False


@dataclass(frozen=True)
class BonusEntry:
    """A kind of bonus.

    Attributes:
        name: what users type.
        make: from options, as a configuration file has them, and inputs to a bonus.
        label: name in figures.
        encoder: whether it measures novelty in the latent space of an encoder.
        node: whether over ROS it is a node of its own; else it lives in the learner.
        weighted: whether it has an option `weight`, its factor in the reward.
    """

    name: str
    make: Callable[[Mapping[str, Any], BonusInputs], Bonus]
    label: str
    encoder: bool = False
    node: bool = False
    weighted: bool = True


BONUSES: Registry[BonusEntry] = Registry("bonus", BonusEntry, "bayes_curiosity_ros.curiosity")


@dataclass(frozen=True)
class NoBonusConfig:
    """Options of no bonus.

    Attributes:
        per_step: the same reward for every step, as a control: negative is a price on time.
    """

    per_step: float = 0.0


class NoBonus:
    """The vanilla learner's bonus: zero, or the same for every step as a control."""

    def __init__(self, per_step: float = 0.0) -> None:
        self.per_step = per_step

    def evaluate(self, episodes: Sequence[Transitions]) -> np.ndarray:
        return np.full(sum(map(len, episodes)), self.per_step)

    def begin(self, first: Observations) -> Stream:
        return Unordered(self)

    def update(self, episodes: Sequence[Transitions]) -> None:
        pass

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        pass


@BONUSES.register("none", label="no bonus", weighted=False)
def _make(options: Mapping[str, Any], inputs: BonusInputs) -> NoBonus:
    return NoBonus(build(NoBonusConfig, options, "bonus none").per_step)
