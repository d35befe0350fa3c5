"""From rows to success without noise: when it was reached, and whether it stayed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bayes_curiosity_ros.experiments.engine.jobs import Cell, Row
from bayes_curiosity_ros.experiments.engine.statistics import bootstrap
from bayes_curiosity_ros.experiments.engine.successes import Successes
from bayes_curiosity_ros.learning.intervals import Interval

WANTED = 0.9
LAST = 3  # evaluations that the end of a run is judged by
PLAIN = "none"  # the method without a bonus


@dataclass(frozen=True)
class Evaluations(Successes):
    """All seeds of one cell, evaluated without noise."""

    def final(self) -> np.ndarray:
        """(seeds,) mean of each run's last evaluations."""
        return np.array([rates[-LAST:].mean() for rates in self.rates])

    def steps_interval(self, wanted: float = WANTED) -> Interval:
        """Steps until so many episodes succeed: interquartile mean over seeds, its interval.

        A seed that never gets there counts as if it had at its last step: the value is then too
        small, and the table says how many there are.
        """
        last = np.array([times[-1] for times in self.timesteps])
        return bootstrap(np.minimum(self.steps_to(wanted), last))

    def lost(self) -> np.ndarray:
        """(seeds,) how far each run is below its best at its end."""
        return np.array([rates.max() for rates in self.rates]) - self.final()


def evaluations_of(rows: Iterable[Row]) -> dict[Cell, Evaluations]:
    """Rows by cell."""
    return Evaluations.by_cell(rows, lambda row: row.evaluation_success_rate)


def rival_of(cell: Cell, cells: Iterable[Cell]) -> Cell | None:
    """The method without a bonus, from the same demonstrations; None where there is no other.

    `curiosity_5` is compared with `none_5`, or, where there is no such method, with `none`.
    """
    known = set(cells)
    _, _, ending = cell.method.partition("_")
    for name in (f"{PLAIN}_{ending}", PLAIN):
        rival = cell._replace(method=name)
        if rival in known:
            return None if rival == cell else rival
    return None
