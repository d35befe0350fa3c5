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

MAX_ROWS = 64


class SmallBatch:
    """An encoder of vectors as plain arrays, read anew whenever its weights have changed."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._tensors = [*encoder.parameters(), *encoder.buffers()]
        self._seen: list[int] = []
        self._whitener: Tensor | None = None

    def quadratic(self, vectors: np.ndarray, whitener: Tensor) -> np.ndarray:
        """φᵀP⁻¹φ of each row, as `BayesianLinearRegression.quadratic` has it: (N,) float64."""
        self._refresh(whitener)
        values = (self._encoder.checked_vectors(vectors) - self._offset) * self._scale
        for weight, bias in self._layers:
            values = np.tanh(values @ weight + bias)
        if self._frequencies.size:
            values = self._amplitude * np.cos(values @ self._frequencies + self._phases)
        whitened = values.astype(np.float64) @ self._slopes + self._intercept
        return np.einsum("ij,ij->i", whitened, whitened)

    def _refresh(self, whitener: Tensor) -> None:
        versions = [tensor._version for tensor in self._tensors]
        if versions != self._seen:
            self._seen = versions
            self._read_encoder()
        if whitener is not self._whitener:
            self._whitener = whitener
            # The last feature is the constant 1: its row is an intercept.
            self._slopes, self._intercept = whitener[:-1].numpy(), whitener[-1].numpy()

    def _read_encoder(self) -> None:
        encoder = self._encoder
        self._offset, self._scale = _array(encoder.offset), _array(encoder.scale)
        self._frequencies, self._phases = _array(encoder.frequencies), _array(encoder.phases)
        self._amplitude = np.float32(math.sqrt(2.0 / max(encoder.config.fourier_features, 1)))
        self._layers = [
            (np.ascontiguousarray(_array(layer.weight).T), _array(layer.bias))
            for layer in encoder.mlp
            if isinstance(layer, nn.Linear)
        ]


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().numpy().copy()
