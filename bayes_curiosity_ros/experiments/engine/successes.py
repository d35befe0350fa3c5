"""From rows to success: at the end, on the way, and when it began."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from bayes_curiosity_ros.experiments.engine.jobs import Cell, Row
from bayes_curiosity_ros.experiments.engine.statistics import (
    bootstrap,
    by_run,
    final_part,
    first_success,
)
from bayes_curiosity_ros.learning.intervals import Interval


@dataclass(frozen=True)
class Successes:
    """All seeds of one cell.

    Attributes:
        seeds: of the runs.
        timesteps: (K,) of each run's rows.
        rates: (K,) of each run: success rate of its episodes.
        first_success: steps to each run's first success in training; infinite: never.
    """

    seeds: Sequence[int]
    timesteps: Sequence[np.ndarray]
    rates: Sequence[np.ndarray]
    first_success: np.ndarray

    @classmethod
    def by_cell(cls, rows: Iterable[Row], rate: Callable[[Row], float]) -> dict[Cell, Self]:
        """Rows by cell.

        Args:
            rows: of any number of runs.
            rate: the success rate that a row has.
        """
        return {
            cell: cls(
                list(runs),
                [np.array([row.timesteps for row in run], dtype=float) for run in runs.values()],
                [np.array([rate(row) for row in run]) for run in runs.values()],
                np.array([first_success(run) for run in runs.values()]),
            )
            for cell, runs in by_run(rows).items()
        }

    def __len__(self) -> int:
        return len(self.seeds)

    def final(self) -> np.ndarray:
        """(seeds,) mean success rate over the last tenth of each run."""
        runs = zip(self.timesteps, self.rates, strict=True)
        return np.array([rates[final_part(times)].mean() for times, rates in runs])

    def interval(self) -> Interval:
        """Success at the end: interquartile mean over seeds, and its interval."""
        return bootstrap(self.final())

    def overall(self) -> np.ndarray:
        """(seeds,) mean success rate over each whole run: soon and high both count."""
        return np.array([rates.mean() for rates in self.rates])

    def found(self) -> int:
        """Seeds with a success at all."""
        return int(np.isfinite(self.first_success).sum())

    def steps_to(self, wanted: float) -> np.ndarray:
        """(seeds,) steps until so large a share of episodes succeeds; infinite: never."""
        runs = zip(self.timesteps, self.rates, strict=True)
        return np.array([_first(times, rates >= wanted) for times, rates in runs])

    def at(self, grid: np.ndarray) -> np.ndarray:
        """(seeds, G) success rates at these times, on straight lines between the rows."""
        runs = zip(self.timesteps, self.rates, strict=True)
        return np.array([np.interp(grid, times, rates) for times, rates in runs])


def _first(times: np.ndarray, reached: np.ndarray) -> float:
    found = np.flatnonzero(reached)
    return float(times[found[0]]) if len(found) else float("inf")
