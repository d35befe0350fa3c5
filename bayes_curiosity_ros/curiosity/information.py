"""What an episode teaches, observation by observation: equation (6) of docs/method.md.

    c_t = log(1 + β φ_tᵀ (P + β Σ_{s<t} φ_s φ_sᵀ)⁻¹ φ_t)

In the coordinates w = R⁻ᵀφ, in which the posterior P = RᵀR before the episode is the identity, the
rows b_t = [√β w_t, e_t] have the Gram matrix I + β W Wᵀ, and c_t = 2 log L_tt with its Cholesky
factor L. Near the prior that matrix has entries of 10⁶ where L_tt is about 1, and factoring it
would lose what the rows keep: L then comes from an orthogonalisation of the rows themselves.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

FIRST_ROWS = 64
LARGEST_ENTRY = 1e4  # of a Gram matrix whose factor is good to 1e-11


def information_gains(whitened: Tensor, noise_precision: float) -> Tensor:
    """c_t of every observation of E episodes side by side: (E, T) in [nats], ≥ 0.

    Args:
        whitened: (E, T, M) rows R⁻ᵀφ in the order of the episode; zero rows earn nothing, so that
            shorter episodes may be padded with them.
        noise_precision: β.
    """
    gram = noise_precision * whitened @ whitened.mT
    diagonal = gram.diagonal(dim1=1, dim2=2)
    uneven = diagonal.amax(dim=1) > LARGEST_ENTRY
    diagonal += 1.0
    lengths = torch.empty_like(diagonal)
    lengths[~uneven] = torch.linalg.cholesky(gram[~uneven]).diagonal(dim1=1, dim2=2)
    lengths[uneven] = _lengths_by_rows(noise_precision**0.5 * whitened[uneven])
    return lengths.log_().mul_(2.0).clamp_min_(0.0)


def _lengths_by_rows(rows: Tensor) -> Tensor:
    """L_tt of I + rows rowsᵀ without forming it: (E, T)."""
    identity = torch.eye(rows.shape[1], dtype=rows.dtype).expand(len(rows), -1, -1)
    factor = torch.linalg.qr(torch.cat([rows, identity], dim=2).mT, mode="r").R
    return factor.diagonal(dim1=1, dim2=2).abs()


class EpisodeGain:
    """The same for an episode under way, one observation at a time.

    An observation costs O(t (M + t)) after t others. Its gain is twice the log of the length of
    what its row has that no earlier one had; as e_t is among it, that is never below 1.

    Args:
        size: M, features of an observation.
        noise_precision: β.
    """

    def __init__(self, size: int, noise_precision: float) -> None:
        self._size = size
        self._scale = noise_precision**0.5
        self._count = 0
        self._basis = np.zeros((FIRST_ROWS, size + FIRST_ROWS))

    def __len__(self) -> int:
        return self._count

    def preview(self, whitened: np.ndarray) -> float:
        """What an observation (M,) would earn now; changes nothing."""
        return self._gain(self._residual(whitened))

    def take(self, whitened: np.ndarray) -> float:
        """What the next observation (M,) earns; later ones earn less for it."""
        residual = self._residual(whitened)
        self._basis[self._count, : len(residual)] = residual / np.linalg.norm(residual)
        self._count += 1
        return self._gain(residual)

    def _residual(self, whitened: np.ndarray) -> np.ndarray:
        """What is new in a row: (M + t + 1,). Twice is enough (Giraud and others 2005)."""
        if self._count == len(self._basis):
            self._grow()
        width = self._size + self._count + 1
        row = np.zeros(width)
        row[: self._size] = self._scale * whitened
        row[-1] = 1.0
        known = self._basis[: self._count, :width]
        for _ in range(2):
            row -= (known @ row) @ known
        return row

    def _grow(self) -> None:
        wider = np.zeros((2 * len(self._basis), self._size + 2 * len(self._basis)))
        wider[: len(self._basis), : self._basis.shape[1]] = self._basis
        self._basis = wider

    @staticmethod
    def _gain(residual: np.ndarray) -> float:
        return max(0.0, 2.0 * float(np.log(np.linalg.norm(residual))))
