"""From rows to success: at the end, on the way, and when it began."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayes_curiosity_ros.experiments.engine.jobs import Cell, Row
from bayes_curiosity_ros.experiments.engine.statistics import (
    bootstrap,
    by_run,
    final_part,
    first_success,
)
from bayes_curiosity_ros.learning.intervals import Interval

HALF = 0.5


@dataclass(frozen=True)
class Successes:
    """All seeds of one cell.

    Attributes:
        seeds: of the runs.
        timesteps: (K,) of each run's rows.
        rates: (K,) of each run: success rate of its training episodes, noise included.
        first_success: steps to each run's first success; infinite: never.
    """

    seeds: Sequence[int]
    timesteps: Sequence[np.ndarray]
    rates: Sequence[np.ndarray]
    first_success: np.ndarray

    def final(self) -> np.ndarray:
        """(seeds,) mean success rate over the last tenth of each run."""
        runs = zip(self.timesteps, self.rates, strict=True)
        return np.array([rates[final_part(times)].mean() for times, rates in runs])

    def overall(self) -> np.ndarray:
        """(seeds,) mean success rate over each whole run: soon and high both count."""
        return np.array([rates.mean() for rates in self.rates])

    def interval(self) -> Interval:
        """Success at the end: interquartile mean over seeds, and its interval."""
        return bootstrap(self.final())

    def half(self) -> np.ndarray:
        """(seeds,) steps until half of the episodes succeed; infinite: never."""
        runs = zip(self.timesteps, self.rates, strict=True)
        return np.array([_first(times, rates >= HALF) for times, rates in runs])

    def at(self, grid: np.ndarray) -> np.ndarray:
        """(seeds, G) success rates at these times, on straight lines between the rows."""
        runs = zip(self.timesteps, self.rates, strict=True)
        return np.array([np.interp(grid, times, rates) for times, rates in runs])


def successes_of(rows: Iterable[Row]) -> dict[Cell, Successes]:
    """Rows by cell."""
    return {cell: _successes(runs) for cell, runs in by_run(rows).items()}


def _successes(runs: Mapping[int, list[Row]]) -> Successes:
    rows = list(runs.values())
    return Successes(
        list(runs),
        [np.array([row.timesteps for row in run], dtype=float) for run in rows],
        [np.array([row.success_rate for row in run]) for run in rows],
        np.array([first_success(run) for run in rows]),
    )


def _first(times: np.ndarray, reached: np.ndarray) -> float:
    found = np.flatnonzero(reached)
    return float(times[found[0]]) if len(found) else float("inf")
