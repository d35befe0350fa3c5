"""A bounded memory of transitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayes_curiosity_ros.curiosity.bonus import Bonus
from bayes_curiosity_ros.curiosity.data import Observations, Transitions
from bayes_curiosity_ros.learning.episodes import Episodes


class Buffer:
    """The last `capacity` transitions, with extrinsic and intrinsic reward apart."""

    def __init__(self, capacity: int, observation_size: int, action_size: int) -> None:
        self.observations = np.zeros((capacity, observation_size), dtype=np.float32)
        self.actions = np.zeros((capacity, action_size), dtype=np.float32)
        self.rewards = np.zeros(capacity, dtype=np.float32)
        self.intrinsic = np.zeros(capacity, dtype=np.float32)
        self.next_observations = np.zeros((capacity, observation_size), dtype=np.float32)
        self.terminated = np.zeros(capacity, dtype=np.float32)
        self.first = np.zeros(capacity, dtype=bool)
        self.added = 0

    def __len__(self) -> int:
        return min(self.added, len(self.rewards))

    def add(self, episodes: Episodes) -> np.ndarray:
        """Append every step, overwriting the oldest when full; the rows written."""
        mask = episodes.mask
        last = np.arange(episodes.horizon) == episodes.lengths[:, None] - 1
        slots = (self.added + np.arange(episodes.steps)) % len(self.rewards)
        self.observations[slots] = episodes.observations[:, :-1][mask]
        self.actions[slots] = np.clip(episodes.actions[mask], -1.0, 1.0)
        self.rewards[slots] = episodes.rewards[mask]
        self.next_observations[slots] = episodes.observations[:, 1:][mask]
        self.terminated[slots] = (last & episodes.terminated[:, None])[mask]
        self.first[slots] = np.broadcast_to(np.arange(episodes.horizon) == 0, mask.shape)[mask]
        self.added += episodes.steps
        return slots

    def price(self, bonus: Bonus, rows: np.ndarray) -> None:
        """Set the intrinsic reward of these rows to what the bonus says now.

        Args:
            bonus: asked episode by episode.
            rows: in the order in which they were added; of the oldest episode the beginning may
                have been overwritten.
        """
        begins = np.flatnonzero(self.first[rows])
        episodes = np.split(rows, begins[begins > 0])
        self.intrinsic[rows] = bonus.evaluate([self.transitions(each) for each in episodes])

    def rows(self) -> np.ndarray:
        """All rows in use, the oldest first."""
        used = len(self)
        return (self.added - used + np.arange(used)) % len(self.rewards)

    def transitions(self, rows: np.ndarray) -> Transitions:
        """The transitions in these rows, as a bonus sees them."""
        return Transitions(
            Observations(self.observations[rows].astype(np.float64)),
            self.actions[rows].astype(np.float64),
            Observations(self.next_observations[rows].astype(np.float64)),
        )

    def state_dict(self) -> dict[str, Any]:
        """The rows in use, and the count."""
        used = len(self)
        arrays = {name: getattr(self, name)[:used] for name in _ARRAYS}
        return {**arrays, "added": self.added}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self.added = int(state["added"])
        for name in _ARRAYS:
            getattr(self, name)[: len(self)] = np.asarray(state[name])


_ARRAYS = (
    "observations",
    "actions",
    "rewards",
    "intrinsic",
    "next_observations",
    "terminated",
    "first",
)
