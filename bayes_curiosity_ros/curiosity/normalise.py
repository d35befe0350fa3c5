"""Running mean and standard deviation of a stream of batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayes_curiosity_ros.errors import InputError


class RunningMoments:
    """Mean and deviation of everything seen so far, in float64.

    Batches are merged by the pairwise formula of Chan, Golub and LeVeque (1979), which does not
    cancel the way a running sum of squares does.
    """

    def __init__(self, shape: tuple[int, ...] = ()) -> None:
        """Start with nothing seen.

        Args:
            shape: shape of one element of the stream.
        """
        self.count = 0
        self.mean = np.zeros(shape)
        self._squares = np.zeros(shape)

    def update(self, batch: np.ndarray) -> None:
        """Take in a batch: (N, *shape). An empty one changes nothing."""
        if batch.shape[1:] != self.mean.shape:
            raise InputError(
                f"a batch of shape {batch.shape} does not fit a stream of {self.mean.shape}"
            )
        if len(batch) == 0:
            return
        mean = batch.mean(axis=0, dtype=np.float64)
        squares = np.square(batch - mean).sum(axis=0)
        total = self.count + len(batch)
        shift = mean - self.mean
        self._squares = self._squares + squares + shift**2 * (self.count * len(batch) / total)
        self.mean = self.mean + shift * (len(batch) / total)
        self.count = total

    def deviation(self, floor: float = 0.0) -> np.ndarray:
        """Standard deviation, at least `floor`; 1 while nothing has been seen."""
        if self.count == 0:
            return np.ones_like(self._squares)
        return np.asarray(np.maximum(np.sqrt(self._squares / self.count), floor))

    def state_dict(self) -> dict[str, Any]:
        """Count, mean and sum of squared deviations."""
        return {"count": self.count, "mean": self.mean.copy(), "squares": self._squares.copy()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave; of another shape: rejected, no change."""
        mean, squares = np.array(state["mean"]), np.array(state["squares"])
        if mean.shape != self.mean.shape or squares.shape != self.mean.shape:
            raise InputError(f"moments have shape {mean.shape}; expected {self.mean.shape}")
        self.count, self.mean, self._squares = int(state["count"]), mean, squares
