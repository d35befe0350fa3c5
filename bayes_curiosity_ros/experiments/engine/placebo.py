"""A placebo: the same bonuses at other steps. What is left of an effect did not need novelty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayes_curiosity_ros.curiosity.bonus import Bonus, Stream
from bayes_curiosity_ros.curiosity.data import Observations, Transitions
from bayes_curiosity_ros.errors import InputError


class Shuffled:
    """Deals the bonuses of a batch out over its steps at random.

    Args:
        bonus: whose bonuses they are.
        seed: of the dealing; it depends on the updates so far alone.
    """

    def __init__(self, bonus: Bonus, seed: int) -> None:
        self._bonus = bonus
        self._seed = seed
        self._updates = 0

    def evaluate(self, episodes: Sequence[Transitions]) -> np.ndarray:
        rng = np.random.default_rng([self._seed, 5, self._updates])
        return rng.permutation(self._bonus.evaluate(episodes))

    def begin(self, first: Observations) -> Stream:
        raise InputError("a placebo deals out the bonuses of a whole batch; it cannot be streamed")

    def update(self, episodes: Sequence[Transitions]) -> None:
        self._bonus.update(episodes)
        self._updates += 1

    def state_dict(self) -> dict[str, Any]:
        return {"bonus": self._bonus.state_dict(), "updates": self._updates}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._bonus.load_state_dict(state["bonus"])
        self._updates = int(state["updates"])
