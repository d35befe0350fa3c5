"""Whole episodes, padded to the horizon: what rollouts give and learners take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from bayes_curiosity_ros.curiosity.data import Observations, Transitions


@dataclass(frozen=True)
class Episodes:
    """E episodes of at most H steps; entries beyond an episode's end are padding.

    Attributes:
        observations: (E, H + 1, D), o_0 … o_T.
        actions: (E, H, A) as the policy chose them, before any clipping.
        rewards: (E, H), extrinsic.
        lengths: (E,), T.
        terminated: (E,) bool; False means the clock cut the episode short.
        succeeded: (E,) bool.
    """

    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    lengths: np.ndarray
    terminated: np.ndarray
    succeeded: np.ndarray

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def horizon(self) -> int:
        """H, the padded length."""
        return self.actions.shape[1]

    @property
    def steps(self) -> int:
        """Environment steps in all episodes together."""
        return int(self.lengths.sum())

    @property
    def mask(self) -> np.ndarray:
        """(E, H) bool: True where a step was taken. Indexing with it flattens in order."""
        return np.arange(self.horizon) < self.lengths[:, None]

    def returns(self) -> np.ndarray:
        """(E,) undiscounted extrinsic return."""
        return np.where(self.mask, self.rewards, 0.0).sum(1)

    def split(self) -> list[Transitions]:
        """One `Transitions` per episode, in order, actions clipped as executed."""
        return [
            Transitions(
                Observations(self.observations[index, :length]),
                np.clip(self.actions[index, :length], -1.0, 1.0),
                Observations(self.observations[index, 1 : length + 1]),
            )
            for index, length in enumerate(self.lengths)
        ]

    def only(self, chosen: np.ndarray | slice) -> Episodes:
        """Those of (E,) bool `chosen`, or of a part of them."""
        return Episodes(*(getattr(self, field.name)[chosen] for field in fields(Episodes)))

    @staticmethod
    def concatenate(parts: Sequence[Episodes]) -> Episodes:
        """All episodes of all parts, in order."""
        if len(parts) == 1:
            return parts[0]
        names = [field.name for field in fields(Episodes)]
        return Episodes(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in names)
        )
