"""A bounded, uniform sample of a stream of transitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from bayes_curiosity_ros.curiosity.data import Observations, Transitions

_Columns = dict[str, np.ndarray]


class Reservoir:
    """Keeps each transition ever added with the same probability (Vitter's algorithm R)."""

    def __init__(self, capacity: int, seed: int) -> None:
        self.capacity = capacity
        self.seen = 0
        self._rng = np.random.default_rng(seed)
        self._columns: _Columns = {}

    def __len__(self) -> int:
        return min(self.seen, self.capacity)

    def add(self, transitions: Transitions) -> None:
        """Offer every transition; a later one may take an earlier one's place."""
        rows = _columns(transitions)
        if not self._columns:
            self._columns = {
                name: np.zeros((self.capacity, *rows[name].shape[1:]), rows[name].dtype)
                for name in rows
            }
        for row in range(len(transitions)):
            place = self.seen
            if place >= self.capacity:
                place = int(self._rng.integers(self.seen + 1))
            self.seen += 1
            if place < self.capacity:
                for name, column in self._columns.items():
                    column[place] = rows[name][row]

    def transitions(self) -> Transitions:
        """What is kept."""
        kept = {name: column[: len(self)] for name, column in self._columns.items()}
        return Transitions(
            Observations(kept["vectors"], kept.get("images")),
            kept["actions"],
            Observations(kept["next_vectors"], kept.get("next_images")),
        )

    def state_dict(self) -> dict[str, Any]:
        """Contents, count and random state."""
        return {
            "seen": self.seen,
            "columns": {name: torch.from_numpy(c.copy()) for name, c in self._columns.items()},
            "rng": self._rng.bit_generator.state,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self.seen = int(state["seen"])
        self._columns = {name: t.numpy().copy() for name, t in state["columns"].items()}
        self._rng.bit_generator.state = state["rng"]


def _columns(transitions: Transitions) -> _Columns:
    columns = {
        "vectors": transitions.observations.vectors,
        "actions": transitions.actions,
        "next_vectors": transitions.next_observations.vectors,
    }
    if transitions.observations.images is not None:
        columns["images"] = transitions.observations.images
    if transitions.next_observations.images is not None:
        columns["next_images"] = transitions.next_observations.images
    return columns
