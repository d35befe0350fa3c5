"""What an episode teaches, observation by observation: equation (6) of docs/method.md.

    c_t = log(1 + β φ_tᵀ (P + β Σ_{s<t} φ_s φ_sᵀ)⁻¹ φ_t)

In the coordinates w = R⁻ᵀφ, in which the posterior P = RᵀR before the episode is the identity, the
rows b_t = [√β w_t, e_t] have the Gram matrix I + β W Wᵀ, and c_t = 2 log L_tt with its Cholesky
factor L. Near the prior that matrix has entries of 10⁶ where L_tt is about 1, and factoring it
would lose what the rows keep: L then comes from an orthogonalisation of the rows themselves.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from bayes_curiosity_ros.curiosity.workspace import workspace

FOLDED_ROWS = 128
GRAM_COLUMNS = 12  # of a Gram matrix, multiplied at a time
LARGEST_ENTRY = 1e4  # of a Gram matrix whose factor is good to 1e-11


def information_gains(whitened: np.ndarray, noise_precision: float) -> np.ndarray:
    """c_t of every observation of E episodes side by side: (E, T) in [nats], ≥ 0.

    Args:
        whitened: (E, T, M) rows R⁻ᵀφ in the order of the episode; zero rows earn nothing, so that
            shorter episodes may be padded with them.
        noise_precision: β.
    """
    gram = _gram(whitened)
    gram *= noise_precision
    diagonal = np.einsum("ett->et", gram)
    uneven = diagonal.max(axis=1) > LARGEST_ENTRY
    diagonal += 1.0
    if not uneven.any():
        lengths = _lengths(gram)
    else:
        lengths = np.empty_like(diagonal)
        lengths[~uneven] = _lengths(gram[~uneven])
        lengths[uneven] = _lengths_by_rows(noise_precision**0.5 * whitened[uneven])
    return np.maximum(2.0 * np.log(lengths), 0.0)


def _gram(rows: np.ndarray) -> np.ndarray:
    """W Wᵀ of each W of (E, T, M) on and below the diagonal, (E, T, T); above it, anything.

    Valid until the next call. A few columns at a time, so that little above the diagonal is made.
    """
    count, length, _ = rows.shape
    gram = workspace.take("gram", count * length, length, torch.float64).zero_().numpy()
    gram = gram.reshape(count, length, length)
    for start in range(0, length, GRAM_COLUMNS):
        end = start + GRAM_COLUMNS
        some = rows[:, start:end].swapaxes(1, 2)
        np.matmul(rows[:, start:], some, out=gram[:, start:, start:end])
    return gram


def _lengths(gram: np.ndarray) -> np.ndarray:
    """L_tt of matrices of which only what is on and below the diagonal counts: (E, T)."""
    return np.einsum("ett->et", np.linalg.cholesky(gram))


def _lengths_by_rows(rows: np.ndarray) -> np.ndarray:
    """L_tt of I + rows rowsᵀ without forming it: (E, T)."""
    identity = np.broadcast_to(np.eye(rows.shape[1]), (len(rows), rows.shape[1], rows.shape[1]))
    columns = torch.from_numpy(np.concatenate([rows, identity], axis=2)).mT
    return torch.linalg.qr(columns, mode="r").R.diagonal(dim1=1, dim2=2).abs().numpy()


class EpisodeGain:
    """The same for an episode under way, one observation at a time.

    An observation costs O(t (M + t)) after t others, and no more than after `FOLDED_ROWS` of them
    or half as many as there are features. Its gain is twice the log of the length of what its row
    has that no earlier one had; as e_t is among it, that is never below 1.

    Args:
        size: M, features of an observation.
        noise_precision: β.
    """

    def __init__(self, size: int, noise_precision: float) -> None:
        self._size = size
        self._folded_rows = max(FOLDED_ROWS, size // 2)  # folding costs O(M³)
        self._scale = noise_precision**0.5
        self._turn: np.ndarray | None = None  # from rows as they come to rows after folding
        self._clear()

    def preview(self, whitened: np.ndarray) -> float:
        """What an observation (M,) would earn now; changes nothing."""
        return self._gain(_length(self._residual(self._scaled(whitened))))

    def take(self, whitened: np.ndarray) -> float:
        """What the next observation (M,) earns; later ones earn less for it."""
        row = self._scaled(whitened)
        residual = self._residual(row)
        length = _length(residual)
        self._rows[self._count] = row
        np.divide(residual, length, out=self._basis[self._count, : len(residual)])
        self._count += 1
        if self._count == self._folded_rows:
            self._fold()
        return self._gain(length)

    def _clear(self) -> None:
        self._count = 0
        self._rows = np.zeros((self._folded_rows, self._size))
        self._basis = np.zeros((self._folded_rows, self._size + self._folded_rows))

    def _scaled(self, whitened: np.ndarray) -> np.ndarray:
        row = self._scale * whitened
        return row if self._turn is None else row @ self._turn

    def _residual(self, row: np.ndarray) -> np.ndarray:
        """What is new in a row: (M + t + 1,); orthogonalised twice, against rounding."""
        residual = np.zeros(self._size + self._count + 1)
        residual[: self._size] = row
        residual[-1] = 1.0
        known = self._basis[: self._count, : len(residual)]
        for _ in range(2):
            residual -= (known @ residual) @ known
        return residual

    def _fold(self) -> None:
        """Turn to coordinates in which all that was seen so far is the identity again."""
        factor = np.linalg.qr(np.concatenate([np.eye(self._size), self._rows]), mode="r")
        turn = np.linalg.inv(factor)
        self._turn = turn if self._turn is None else self._turn @ turn
        self._clear()

    @staticmethod
    def _gain(length: float) -> float:
        return max(0.0, 2.0 * float(np.log(length)))


def _length(row: np.ndarray) -> float:
    return math.sqrt(row.dot(row))
