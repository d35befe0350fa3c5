"""Bayesian linear regression: how certain a linear model on features would be.

Equation numbers follow docs/method.md. Everything here is float64. The posterior precision is
kept as its triangular factor R, P = RᵀR, and updated by a QR decomposition of [R; √β Φ]: adding
to P itself would round the prior away in directions not yet seen, which are the very ones that
curiosity is about (the error there grows with βN/α for P, with its square root for R). Where a
batch is large and adds little to what is known, the same R comes from W = ΦR⁻¹ in less
time: R_after = SR with the Cholesky factor S of I + βWᵀW, which is then close to I. From R⁻¹,
found anew when it is first asked for after an update, φᵀP⁻¹φ = ‖R⁻ᵀφ‖² is a sum of squares: never
negative.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bayes_curiosity_ros.curiosity.workspace import workspace
from bayes_curiosity_ros.errors import ConfigError, InputError, LengthError, NotFiniteError

BLOCK_COLUMNS = 257  # the default's 256 features and the constant are one block
PANEL_ROWS = 244  # multiplied with a panel of a triangle at a time: four episodes of 60 steps
WIDE_PANEL, NARROW_PANEL = 64, 16  # columns of a triangle, multiplied at a time
# With AVX-512, NumPy's library leaves out copies of its own for products of so many numbers.
SMALL_PRODUCT = 1_000_000 if torch.backends.cpu.get_cpu_capability() == "AVX512" else 0
FEW_FEATURES = 64  # so many cost next to nothing to decompose
LARGEST_TRACE = 1e4  # of a matrix βWᵀW; the Cholesky factor of I + βWᵀW is then exact enough


@dataclass(frozen=True)
class RegressionConfig:
    """Prior and noise of the regression.

    Attributes:
        prior_precision: α of the prior w ~ N(0, α⁻¹ I).
        noise_precision: β; no predictive variance is below 1/β.
    """

    prior_precision: float = 1e-4
    noise_precision: float = 1e2

    def __post_init__(self) -> None:
        for name in ("prior_precision", "noise_precision"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ConfigError(f"{name} = {value}; it must be finite and above 0")


def posterior_precision(features: Tensor, config: RegressionConfig) -> Tensor:
    """Equation (1) from the prior: P = αI + β ΦᵀΦ. Differentiable."""
    identity = torch.eye(features.shape[1], dtype=features.dtype)
    return config.prior_precision * identity + config.noise_precision * features.T @ features


def whiten(factor: Tensor, features: Tensor) -> Tensor:
    """L⁻¹Φᵀ by a triangular solve: its columns' squared norms are φᵀP⁻¹φ. Differentiable."""
    return torch.linalg.solve_triangular(factor, features.T, upper=False)


def joined_factor(factor: Tensor, rows: Tensor) -> Tensor:
    """The triangular R with RᵀR = factorᵀ factor + rowsᵀ rows, of a triangular factor.

    Goes through the factor's columns block by block. Below a block the factor is zero, so that
    only the block's own rows and `rows` take part: O(M²) for each of `rows`, not O(M³).
    """
    joined = torch.zeros_like(factor)
    for start in range(0, len(factor), BLOCK_COLUMNS):
        block = factor[start : start + BLOCK_COLUMNS, start:]
        width = len(block)
        packed, scales = torch.geqrf(torch.cat([block[:, :width], rows[:, :width]]))
        joined[start : start + width, start : start + width] = packed[:width].triu()
        if width < block.shape[1]:
            beside = torch.cat([block[:, width:], rows[:, width:]])
            beside = torch.ormqr(packed, scales, beside, transpose=True)
            joined[start : start + width, start + width :] = beside[:width]
            rows = beside[width:]
    return joined


def times_triangle(rows: np.ndarray, triangle: np.ndarray, out: np.ndarray) -> None:
    """Write rows @ triangle, of an upper triangle (size, size), leaving its zeros out."""
    width = panel_columns(len(triangle))
    for first in range(0, len(rows), PANEL_ROWS):
        part, product = rows[first : first + PANEL_ROWS], out[first : first + PANEL_ROWS]
        for start in range(0, len(triangle), width):
            end = start + width
            np.matmul(part[:, :end], triangle[:end, start:end], out=product[:, start:end])


def panel_columns(size: int) -> int:
    """How many columns of a triangle (size, size) are multiplied at a time, for speed alone."""
    whole_panels = size - size % NARROW_PANEL
    small = PANEL_ROWS * NARROW_PANEL * whole_panels <= SMALL_PRODUCT
    return NARROW_PANEL if small else WIDE_PANEL


def turned_factor(factor: Tensor, whitened: np.ndarray, noise_precision: float) -> Tensor | None:
    """The triangular R with RᵀR = factorᵀ (I + βWᵀW) factor, of whitened rows W.

    None where βWᵀW is too large for its Cholesky factor to be exact in all directions.
    """
    gram = torch.from_numpy(whitened.T @ whitened).mul_(noise_precision)
    if not float(gram.trace()) <= LARGEST_TRACE:  # nor where it is not a number
        return None
    gram.diagonal().add_(1.0)
    turn = torch.linalg.cholesky(gram).mT.contiguous()
    turned = torch.empty_like(turn)
    times_triangle(turn.numpy(), factor.numpy(), turned.numpy())
    return turned


class _Factor:
    """The triangular factor R of a posterior, and its inverse once that was asked for.

    Nothing is ever written into it, so that copies of a regression share it.
    """

    def __init__(self, matrix: Tensor) -> None:
        # One memory layout, whether computed or loaded: with another, some processors' libraries
        # round the inverse differently.
        self.matrix = matrix.contiguous()

    @cached_property
    def inverse(self) -> Tensor:
        identity = torch.eye(len(self.matrix), dtype=torch.float64)
        return torch.linalg.solve_triangular(self.matrix, identity, upper=True).contiguous()

    @cached_property
    def inverse_array(self) -> np.ndarray:
        return self.inverse.numpy()


class BayesianLinearRegression:
    """The posterior over weights of a linear model, updated batch by batch."""

    def __init__(
        self, size: int, config: RegressionConfig | None = None, target_size: int = 0
    ) -> None:
        """Start at the prior.

        Args:
            size: number of features, the constant one included.
            config: α and β.
            target_size: columns of targets; 0 where only the variance is wanted.
        """
        if size < 1 or target_size < 0:
            raise ConfigError(f"size = {size} must be ≥ 1 and target_size = {target_size} ≥ 0")
        self.size = size
        self.target_size = target_size
        self.config = config or RegressionConfig()
        self.reset()

    def reset(self) -> None:
        """Forget all observations: back to the prior."""
        moment = torch.zeros(self.size, self.target_size, dtype=torch.float64)
        self._adopt(_Factor(self._prior_factor()), moment, 0)

    def update(
        self, features: Tensor, targets: Tensor | None = None, forgetting: float = 1.0
    ) -> None:
        """Equation (1): take in a batch. Rejected input changes nothing.

        Args:
            features: (N, size).
            targets: (N, target_size), needed if and only if target_size > 0.
            forgetting: λ ≤ 1 multiplies what earlier data contributed; the prior stays.
        """
        features = self._checked("features", features, self.size)
        if (targets is None) != (self.target_size == 0):
            raise InputError(
                f"targets must be given exactly when target_size > 0, which is {self.target_size}"
            )
        moment = forgetting * self._moment
        if targets is not None:
            targets = self._checked("targets", targets, self.target_size)
            moment += self.config.noise_precision * features.T @ targets
        factor = self._factor_with(features, forgetting)
        self._adopt(_Factor(factor), moment, self.count + len(features))

    def replace(self, features: Tensor, count: int) -> None:
        """Forget all, take in `features` weighted so that they stand for `count` observations."""
        features = self._checked("features", features, self.size)
        weight = count / max(len(features), 1)
        factor = joined_factor(self._prior_factor(), math.sqrt(weight) * self._scaled(features))
        self._adopt(_Factor(factor), torch.zeros_like(self._moment), count)

    def whitened(self, features: Tensor) -> Tensor:
        """R⁻ᵀφ of each row: (N, size); valid until the next call.

        Args:
            features: (N, size), or (N, size - 1) where the last feature is 1 and left out.
        """
        columns = features.shape[1]
        rows = workspace.take("features", len(features), columns, torch.float64)
        whitened = workspace.take("whitened", len(features), self.size, torch.float64)
        rows.copy_(features)
        if columns == self.size:
            return torch.mm(rows, self.whitener, out=whitened)
        return torch.addmm(self.whitener[-1], rows, self.whitener[:-1], out=whitened)

    def whiten(self, features: np.ndarray, out: np.ndarray) -> None:
        """Write R⁻ᵀφ of each row, (N, size), in half of the arithmetic that `whitened` takes."""
        times_triangle(features, self.whitener_array, out)

    def quadratic(self, features: Tensor) -> Tensor:
        """φᵀP⁻¹φ of each row, as `whitened` takes them: (N,), ≥ 0 by construction."""
        return torch.linalg.vector_norm(self.whitened(features), dim=1).square_()

    def variance(self, features: Tensor) -> Tensor:
        """Equation (3), σ² of each row: (N,), ≥ 1/β."""
        return self.quadratic(features).add_(1.0 / self.config.noise_precision)

    def mean(self, features: Tensor) -> Tensor:
        """Predicted targets: (N, target_size)."""
        return features.to(torch.float64) @ self.weights

    @property
    def whitener(self) -> Tensor:
        """R⁻¹: (size, size)."""
        return self._factor.inverse

    @property
    def whitener_array(self) -> np.ndarray:
        """The same as an array."""
        return self._factor.inverse_array

    @property
    def weights(self) -> Tensor:
        """Equation (2), the posterior mean m: (size, target_size)."""
        return self.whitener @ (self.whitener.T @ self._moment)

    @property
    def precision(self) -> Tensor:
        """P: (size, size)."""
        return self._factor.matrix.T @ self._factor.matrix

    @property
    def log_determinant(self) -> float:
        """log |P|: it grows with everything that was learnt."""
        return float(2.0 * self._factor.matrix.diagonal().abs().log().sum())

    @property
    def information(self) -> float:
        """What was learnt since the prior: log |P| - log |P_0|, in [nats]."""
        return self.log_determinant - self.size * math.log(self.config.prior_precision)

    def state_dict(self) -> dict[str, Any]:
        """Factor, moment and count."""
        return {
            "factor": self._factor.matrix.clone(),
            "moment": self._moment.clone(),
            "count": self.count,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave; of another size or not finite: rejected, no change."""
        matrix = self._checked("factor", state["factor"], self.size)
        moment = self._checked("moment", state["moment"], self.target_size)
        if len(matrix) != self.size or len(moment) != self.size:
            raise LengthError(f"the posterior has {len(matrix)} rows; expected {self.size}")
        factor = _Factor(matrix.clone())
        if not torch.isfinite(factor.inverse).all():
            raise InputError("the posterior is not positive definite; was its file damaged?")
        self._adopt(factor, moment.clone(), int(state["count"]))

    def _prior_factor(self) -> Tensor:
        identity = torch.eye(self.size, dtype=torch.float64)
        return math.sqrt(self.config.prior_precision) * identity

    def _scaled(self, features: Tensor) -> Tensor:
        return math.sqrt(self.config.noise_precision) * features

    def _factor_with(self, features: Tensor, forgetting: float) -> Tensor:
        """The factor of λ(P - αI) + αI + βΦᵀΦ."""
        if forgetting == 1.0 and len(features) >= self.size > FEW_FEATURES:
            buffer = workspace.take("whitened", len(features), self.size, torch.float64).numpy()
            self.whiten(features.numpy(), buffer)
            turned = turned_factor(self._factor.matrix, buffer, self.config.noise_precision)
            if turned is not None:
                return turned
        kept, prior = self._decayed(forgetting)
        return joined_factor(kept, torch.cat([prior, self._scaled(features)]))

    def _decayed(self, forgetting: float) -> tuple[Tensor, Tensor]:
        """A triangle and further rows whose squares add up to λ(P - αI) + αI."""
        factor, prior = self._factor.matrix, self._prior_factor()
        if forgetting == 1.0:
            return factor, prior[:0]
        return math.sqrt(forgetting) * factor, math.sqrt(1.0 - forgetting) * prior

    def _adopt(self, factor: _Factor, moment: Tensor, count: int) -> None:
        """Check first, assign after: a failure leaves the old posterior in place.

        Nothing is ever written into these tensors, so that a shallow copy is a snapshot.
        """
        if not torch.isfinite(factor.matrix).all():
            raise InputError("features are too large: the posterior would not be finite")
        self._factor, self._moment, self.count = factor, moment.contiguous(), count

    @staticmethod
    def _checked(name: str, rows: Tensor, width: int) -> Tensor:
        if rows.ndim != 2 or rows.shape[1] != width:
            raise LengthError(f"{name} has shape {tuple(rows.shape)}; expected (count, {width})")
        rows = rows.detach().to(torch.float64)
        # A finite sum has no other terms, and is found without further memory.
        if not math.isfinite(float(rows.sum())) and not torch.isfinite(rows).all():
            raise NotFiniteError(f"{name} holds a value that is not finite")
        return rows
