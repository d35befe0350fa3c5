"""From rows to success without noise: when it was reached, and whether it stayed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayes_curiosity_ros.experiments.engine.jobs import Cell, Row
from bayes_curiosity_ros.experiments.engine.statistics import bootstrap, by_run
from bayes_curiosity_ros.learning.intervals import Interval

WANTED = 0.9
LAST = 3  # evaluations that the end of a run is judged by


@dataclass(frozen=True)
class Evaluations:
    """All seeds of one cell.

    Attributes:
        timesteps: (K,) of each run's rows.
        rates: (K,) of each run: share of successful episodes without noise.
    """

    timesteps: Sequence[np.ndarray]
    rates: Sequence[np.ndarray]

    def __len__(self) -> int:
        return len(self.rates)

    def steps_to(self, wanted: float = WANTED) -> np.ndarray:
        """(seeds,) steps until so many episodes succeed; infinite: never."""
        runs = zip(self.timesteps, self.rates, strict=True)
        return np.array([_first(times, rates >= wanted) for times, rates in runs])

    def steps_interval(self, wanted: float = WANTED) -> Interval:
        """The same: interquartile mean over seeds, and its interval.

        A seed that never gets there counts as if it had at its last step: the value is then too
        small, and the table says how many there are.
        """
        last = np.array([times[-1] for times in self.timesteps])
        return bootstrap(np.minimum(self.steps_to(wanted), last))

    def final(self) -> Interval:
        """Success at the end: mean of each run's last evaluations, over seeds as above."""
        return bootstrap(np.array([rates[-LAST:].mean() for rates in self.rates]))

    def best(self) -> Interval:
        """The best evaluation of each run, over seeds as above."""
        return bootstrap(np.array([rates.max() for rates in self.rates]))

    def lost(self) -> np.ndarray:
        """(seeds,) how far each run is below its best at its end."""
        return np.array([rates.max() - rates[-LAST:].mean() for rates in self.rates])


def evaluations_of(rows: Iterable[Row]) -> dict[Cell, Evaluations]:
    """Rows by cell."""
    return {cell: _evaluations(runs) for cell, runs in by_run(rows).items()}


def _evaluations(runs: Mapping[int, list[Row]]) -> Evaluations:
    rows = list(runs.values())
    return Evaluations(
        [np.array([row.timesteps for row in run], dtype=float) for run in rows],
        [np.array([row.evaluation_success_rate for row in run]) for run in rows],
    )


def _first(times: np.ndarray, reached: np.ndarray) -> float:
    found = np.flatnonzero(reached)
    return float(times[found[0]]) if len(found) else float("inf")
