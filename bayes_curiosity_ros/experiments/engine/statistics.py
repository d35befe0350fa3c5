"""What the experiments' analyses share: rows by run, the end of a run, the first success."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from bayes_curiosity_ros.experiments.engine.jobs import Cell, Row
from bayes_curiosity_ros.learning.intervals import FINAL_SHARE, Interval

RESAMPLES = 10_000
TAILS = (2.5, 97.5)  # in per cent, what an interval leaves out


def by_run(rows: Iterable[Row]) -> dict[Cell, dict[int, list[Row]]]:
    """Rows by cell, then by seed, in their order."""
    runs: dict[Cell, dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        runs[row.cell][row.seed].append(row)
    return runs


def final_part(timesteps: np.ndarray) -> np.ndarray:
    """Which of these times (K,) are in the last tenth of the run: (K,) bool."""
    return timesteps > (1 - FINAL_SHARE) * timesteps[-1]


def first_success(run: Sequence[Row]) -> float:
    """Steps to the end of a run's first successful episode; infinite: never."""
    steps = run[-1].first_success
    return float(steps) if steps >= 0 else float("inf")


def interquartile_mean(values: np.ndarray) -> np.ndarray:
    """Mean of the middle half along the last axis; ends of the half count in part: (…,)."""
    ordered = np.sort(values, axis=-1)
    count = ordered.shape[-1]
    quarter = count / 4
    # How much of each value lies between the quarters.
    places = np.arange(count)
    weights = np.clip(places + 1, quarter, count - quarter) - np.clip(
        places, quarter, count - quarter
    )
    return ordered @ weights / weights.sum()


def resampled(
    values: np.ndarray, rng: np.random.Generator, resamples: int = RESAMPLES
) -> np.ndarray:
    """Sets of runs, drawn with replacement: (resamples, seeds)."""
    drawn: np.ndarray = values[rng.integers(len(values), size=(resamples, len(values)))]
    return drawn


def percentile_interval(value: float, drawn: np.ndarray) -> Interval:
    """A value with what 95 % of its resampled ones lie in."""
    lower, upper = np.percentile(drawn, TAILS)
    return Interval(value, float(lower), float(upper))


def bootstrap(values: np.ndarray, resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """The interquartile mean over seeds, with its 95 % interval by a percentile bootstrap.

    Args:
        values: (seeds,), one per run.
        resamples: sets of runs drawn.
        seed: of the draws.
    """
    drawn = resampled(values, np.random.default_rng(seed), resamples)
    return percentile_interval(float(interquartile_mean(values)), interquartile_mean(drawn))
