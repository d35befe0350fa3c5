"""The same sums as encoder and regression, for a few vectors at a time, without torch.

For one observation the cost is in calls, not in arithmetic. Between other work, with cold caches,
torch takes 0.3 ms for what NumPy does in 0.05 ms (measured); from about a hundred rows on, torch
is as fast.
"""

from __future__ import annotations

import math

import numpy as np
from torch import Tensor, nn

from bayes_curiosity_ros.curiosity.encoder import Encoder
from bayes_curiosity_ros.curiosity.inputs import finite_rows

MAX_ROWS = 64


class SmallBatch:
    """An encoder of vectors as arrays: views of its tensors, which follow every change."""

    def __init__(self, encoder: Encoder) -> None:
        self._offset, self._scale = _view(encoder.offset), _view(encoder.scale)
        self._frequencies, self._phases = _view(encoder.frequencies), _view(encoder.phases)
        self._amplitude = np.float32(math.sqrt(2.0 / max(encoder.config.fourier_features, 1)))
        self._layers = [
            (_view(layer.weight).T, _view(layer.bias))
            for layer in encoder.mlp
            if isinstance(layer, nn.Linear)
        ]

    def quadratic(self, vectors: np.ndarray, whitener: Tensor) -> np.ndarray:
        """φᵀP⁻¹φ of each row, as `BayesianLinearRegression.quadratic` has it: (N,) float64."""
        values = finite_rows("vectors", vectors, len(self._offset))
        values -= self._offset
        values *= self._scale
        for weight, bias in self._layers:
            values = values @ weight
            values += bias
            np.tanh(values, out=values)
        if self._frequencies.size:
            values = self._amplitude * np.cos(values @ self._frequencies + self._phases)
        matrix = whitener.numpy()
        # The last feature is the constant 1: its row is an intercept.
        whitened = values.astype(np.float64) @ matrix[:-1] + matrix[-1]
        return np.einsum("ij,ij->i", whitened, whitened)


def _view(tensor: Tensor) -> np.ndarray:
    return tensor.detach().numpy()
