"""Does the regression stay exact, and flat in time, over a million observations?

Two streams of 64 features, because they fail in different ways: one visits every direction, one
never leaves half of them, where a precision kept as such would lose the prior to rounding.
"""

from __future__ import annotations

import copy
import math
import time

import numpy as np
import torch
from tqdm import tqdm

from bayes_curiosity_ros.curiosity.regression import BayesianLinearRegression, RegressionConfig
from benchmarks._report import report

SIZE = 64
EPISODE = 100
DECADES = (10**2, 10**3, 10**4, 10**5, 10**6)
PROBES = 50
CONFIG = RegressionConfig()
ERROR_BAR = 1e-8
TIMED_UPDATES = 300


class Stream:
    """Features Q z: z is tanh of Gaussians in the first `rank` coordinates and 0 beyond."""

    def __init__(self, rank: int, rng: np.random.Generator) -> None:
        self.rank = rank
        self._rng = rng
        self._rotation = np.linalg.qr(rng.normal(size=(SIZE, SIZE)))[0]

    def rows(self, count: int) -> np.ndarray:
        return np.tanh(self._rng.normal(size=(count, self.rank)))

    def rotated(self, coordinates: np.ndarray) -> torch.Tensor:
        columns = coordinates.shape[1]
        return torch.from_numpy(coordinates @ self._rotation[:, :columns].T)


def cholesky(matrix: np.ndarray) -> np.ndarray:
    """In extended precision, which numpy.linalg does not have."""
    factor = np.zeros_like(matrix)
    for i in range(len(matrix)):
        rest = matrix[i:, i] - factor[i:, :i] @ factor[i, :i]
        factor[i:, i] = rest / np.sqrt(rest[0])
    return factor


def reference_log_variance(gram: np.ndarray, probes: np.ndarray) -> np.ndarray:
    """Equation (3) in extended precision; unseen coordinates keep the prior exactly."""
    rank = len(gram)
    precision = CONFIG.prior_precision * np.eye(rank, dtype=np.longdouble)
    factor = cholesky(precision + np.longdouble(CONFIG.noise_precision) * gram)
    whitened = probes[:, :rank].astype(np.longdouble).T
    for i in range(rank):
        whitened[i] = (whitened[i] - factor[i, :i] @ whitened[:i]) / factor[i, i]
    unseen = (probes[:, rank:].astype(np.longdouble) ** 2).sum(axis=1) / CONFIG.prior_precision
    return np.log(1.0 / CONFIG.noise_precision + (whitened**2).sum(axis=0) + unseen)


def worst_errors(rank: int) -> tuple[dict[int, float], dict[int, BayesianLinearRegression]]:
    """Worst error of log σ² in [nats], and the regression itself, at every decade."""
    rng = np.random.default_rng(0)
    stream = Stream(rank, rng)
    regression = BayesianLinearRegression(SIZE, CONFIG)
    gram = np.zeros((rank, rank), dtype=np.longdouble)
    errors, snapshots = {}, {}
    for _ in tqdm(range(DECADES[-1] // EPISODE), desc=f"rank {rank}", disable=None, leave=False):
        rows = stream.rows(EPISODE)
        regression.update(stream.rotated(rows))
        exact = rows.astype(np.longdouble)
        gram += exact.T @ exact
        if regression.count in DECADES:
            probes = np.tanh(rng.normal(size=(PROBES, SIZE)))
            ours = regression.variance(stream.rotated(probes)).log().numpy()
            errors[regression.count] = float(
                np.abs(ours - reference_log_variance(gram, probes)).max()
            )
            snapshots[regression.count] = copy.copy(regression)
    return errors, snapshots


def update_times(snapshots: dict[int, BayesianLinearRegression]) -> dict[int, float]:
    """Median seconds of an update at each decade, measured in turn so that noise hits all."""
    rows = torch.tanh(torch.randn(EPISODE, SIZE, generator=torch.Generator().manual_seed(0)))
    times: dict[int, list[float]] = {count: [] for count in snapshots}
    for _ in range(TIMED_UPDATES):
        for count, regression in snapshots.items():
            start = time.perf_counter()
            regression.update(rows)
            times[count].append(time.perf_counter() - start)
    return {count: float(np.median(values)) for count, values in times.items()}


def main() -> None:
    """Print `regression/worst_error` and `regression/update_growth`."""
    worst = -math.inf
    for rank in (SIZE, SIZE // 2):
        errors, snapshots = worst_errors(rank)
        for count, error in errors.items():
            report(
                f"regression/error/rank_{rank}/{count}",
                error,
                ERROR_BAR,
                unit="nats",
                higher_is_better=False,
                note="peer: the bar",
            )
        worst = max(worst, *errors.values())
    report(
        "regression/worst_error",
        worst,
        ERROR_BAR,
        unit="nats",
        higher_is_better=False,
        note="worst of both streams at every decade; peer: the bar",
    )
    times = update_times(snapshots)
    report(
        "regression/update_growth",
        1e6 * times[DECADES[-1]],
        1e6 * times[DECADES[0]],
        unit="µs",
        higher_is_better=False,
        note=f"update of {EPISODE} observations at 10⁶ against one at 10²; bar: ratio ≥ 1/1.2",
    )


if __name__ == "__main__":
    main()
