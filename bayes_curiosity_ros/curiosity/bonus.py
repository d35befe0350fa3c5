"""The protocol between a learner and whatever rewards its exploration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bayes_curiosity_ros.curiosity.data import Transitions


@runtime_checkable
class Bonus(Protocol):
    """An intrinsic reward; a learner cannot tell which one it has."""

    def evaluate(self, transitions: Transitions) -> np.ndarray:
        """The intrinsic reward of each transition, weight included: (N,) float64.

        Changes nothing that a later `evaluate` would see.
        """
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


class NoBonus:
    """The vanilla learner's bonus: zero, or the same for every step as a control."""

    def __init__(self, per_step: float = 0.0) -> None:
        self.per_step = per_step

    def evaluate(self, transitions: Transitions) -> np.ndarray:
        return np.full(len(transitions), self.per_step)

    def update(self, episodes: Sequence[Transitions]) -> None:
        pass

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        pass
