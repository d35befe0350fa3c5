"""Rewards that came with the episodes: the bonus of a learner whose curiosity is elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayes_curiosity_ros.curiosity.bonus import Stream
from bayes_curiosity_ros.curiosity.data import Observations, Transitions
from bayes_curiosity_ros.errors import InputError, LengthError


class GatheredBonus:
    """Hands out what was paid while the episodes ran, in their order.

    Each episode was priced by the posterior of all before it, and taken in when it ended: that
    is Algorithm 2 as printed, and there is nothing left to update here.
    """

    def __init__(self) -> None:
        self._rewards: list[np.ndarray] = []

    def add(self, rewards: np.ndarray) -> None:
        """(T,) of the observations that one more episode reached."""
        self._rewards.append(rewards)

    def evaluate(self, episodes: Sequence[Transitions]) -> np.ndarray:
        rewards, count = np.concatenate([np.zeros(0), *self._rewards]), sum(map(len, episodes))
        if len(rewards) != count:
            raise LengthError(f"{len(rewards)} rewards for {count} transitions")
        return rewards

    def begin(self, first: Observations) -> Stream:
        raise InputError("these rewards were paid elsewhere; there is nothing to price here")

    def update(self, episodes: Sequence[Transitions]) -> None:
        self._rewards.clear()

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._rewards.clear()
