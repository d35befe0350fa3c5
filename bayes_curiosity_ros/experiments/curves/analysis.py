"""From rows to curves: quartiles over seeds, final values, steps to reach a level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayes_curiosity_ros.experiments.engine.jobs import LONG_WINDOW, WINDOW, Cell, Row
from bayes_curiosity_ros.experiments.engine.statistics import by_run, final_part, first_success

LEVELS = (0.25, 0.5, 0.75)
MEASURES = {WINDOW: "successes_per_timestep", LONG_WINDOW: "successes_per_timestep_100"}


@dataclass(frozen=True)
class Run:
    """One seed.

    Attributes:
        seed: of the run.
        timesteps: (K,) increasing.
        values: (K,) successes ÷ timesteps.
        first_success: steps; infinite: never.
    """

    seed: int
    timesteps: np.ndarray
    values: np.ndarray
    first_success: float

    def at(self, grid: np.ndarray) -> np.ndarray:
        """(G,): values at these times, on straight lines between the rows."""
        return np.interp(grid, self.timesteps, self.values)

    def final(self) -> float:
        """Mean over the last tenth of the run."""
        return float(self.values[final_part(self.timesteps)].mean())

    def steps_to(self, level: float) -> float:
        """Timesteps at which `level` is first reached; infinite: never."""
        return first_time(self.timesteps, self.values, level)


@dataclass(frozen=True)
class Curve:
    """All seeds of one cell."""

    runs: Sequence[Run]

    @property
    def begin(self) -> float:
        """Timesteps at which every seed has its first row."""
        return max(float(run.timesteps[0]) for run in self.runs)

    @property
    def budget(self) -> float:
        """Timesteps that every seed took."""
        return min(float(run.timesteps[-1]) for run in self.runs)

    def quartiles(self, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Lower quartile, median and upper quartile over seeds at these times: (G,) each."""
        lower, median, upper = np.percentile([run.at(grid) for run in self.runs], [25, 50, 75], 0)
        return lower, median, upper

    def final(self) -> float:
        """Median over seeds."""
        return float(np.median([run.final() for run in self.runs]))

    def overall(self) -> float:
        """Median over seeds of the mean over all of training: soon and high both count."""
        return float(np.median([run.values.mean() for run in self.runs]))

    def steps_to(self, level: float) -> tuple[float, float, float]:
        """Lower quartile, median and upper quartile over seeds; infinite: never."""
        return ordered_quartiles([run.steps_to(level) for run in self.runs])

    def first_success(self) -> tuple[float, float, float]:
        """Lower quartile, median and upper quartile over seeds; infinite: never."""
        return ordered_quartiles([run.first_success for run in self.runs])


Curves = Mapping[Cell, Curve]


def curves_of(rows: Iterable[Row], window: int) -> dict[Cell, Curve]:
    """Rows by cell, judged over the most recent `window` episodes."""
    trained = [row for row in rows if row.timesteps > 0]
    return {
        cell: Curve([_run(run, MEASURES[window]) for run in runs.values()])
        for cell, runs in by_run(trained).items()
    }


def of_task(curves: Curves, task: str) -> dict[str, Curve]:
    """A task's curves, by name: the method, and the learner where there are several."""
    mine = {cell: curve for cell, curve in curves.items() if cell.task == task}
    several = len({cell.learner for cell in mine}) > 1
    return {f"{c.method} {c.learner}" if several else c.method: curve for c, curve in mine.items()}


def grid_of(curves: Sequence[Curve], points: int = 200) -> np.ndarray:
    """Times at which all of these curves can be compared."""
    begin, end = max(c.begin for c in curves), min(c.budget for c in curves)
    return np.linspace(begin, end, points + 1)


def first_time(times: np.ndarray, values: np.ndarray, level: float) -> float:
    """When a series first reaches a level; infinite: never, or there is nothing to reach."""
    reached = np.flatnonzero(values >= level)
    return float(times[reached[0]]) if level > 0 and len(reached) else float("inf")


def ordered_quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Quartiles that are values themselves, so that infinity needs no arithmetic."""
    lower, median, upper = np.percentile(values, [25, 50, 75], method="higher")
    return float(lower), float(median), float(upper)


def _run(rows: list[Row], measure: str) -> Run:
    return Run(
        rows[-1].seed,
        np.array([row.timesteps for row in rows], dtype=float),
        np.array([getattr(row, measure) for row in rows]),
        first_success(rows),
    )
