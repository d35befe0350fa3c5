"""From rows to curves, scores, speedups and first successes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from bayes_curiosity_ros.experiments.engine.jobs import Cell, Row
from bayes_curiosity_ros.experiments.engine.statistics import by_run, final_part, first_success

SMOOTHING = 3
LEARNED_SHARE = 0.05


@dataclass(frozen=True)
class CellReturns:
    """What all seeds of one cell came to.

    Attributes:
        timesteps: (K,) nominal steps of the evaluations, the one before training included.
        returns: (seeds, K) extrinsic return of each evaluation.
        first_success: (seeds,) steps to the first successful training episode; infinite: never.
    """

    timesteps: np.ndarray
    returns: np.ndarray
    first_success: np.ndarray

    def scores(self) -> np.ndarray:
        """(seeds,): mean return of the evaluations in the last tenth of the budget."""
        return self.returns[:, final_part(self.timesteps)].mean(axis=1)

    def means(self) -> np.ndarray:
        """(seeds,): mean return of all evaluations, the one before training left out."""
        return self.returns[:, 1:].mean(axis=1)

    def quartiles(self) -> tuple[float, float, float]:
        """Median, lower and upper quartile of the scores over seeds."""
        lower, median, upper = np.percentile(self.scores(), [25, 50, 75])
        return float(median), float(lower), float(upper)

    def curve(self) -> np.ndarray:
        """(K,): median over seeds, smoothed by a centred mean of three evaluations."""
        return smooth(np.median(self.returns, axis=0))

    def learned(self) -> bool:
        """Whether the median curve ever rose clearly above where it began."""
        curve = self.curve()
        return bool(curve.max() > curve[0] + LEARNED_SHARE * max(abs(curve[0]), 1.0))

    def median_first_success(self) -> float:
        """Steps; infinite when half of the seeds or more never succeeded."""
        ordered = np.sort(self.first_success)
        middle = len(ordered) // 2
        if len(ordered) % 2:
            return float(ordered[middle])
        return float((ordered[middle - 1] + ordered[middle]) / 2)


Cells = Mapping[Cell, CellReturns]


@dataclass(frozen=True)
class Speedup:
    """Baseline's steps to its best ÷ curiosity's steps to match it.

    Attributes:
        value: the ratio; above 1, curiosity was faster.
        mark: "" plainly; "never learned" when the baseline did not: its whole budget stands for
            its steps, and curiosity must clearly exceed it; "not matched" when curiosity never
            did: its whole budget stands for its steps, so the true ratio is smaller.
    """

    value: float
    mark: str = ""


def smooth(values: np.ndarray) -> np.ndarray:
    """Centred mean of three, of what there is at the ends."""
    kernel = np.ones(SMOOTHING)
    return np.convolve(values, kernel, "same") / np.convolve(np.ones(len(values)), kernel, "same")


def speedup(baseline: CellReturns, curiosity: CellReturns, share: float = 1.0) -> Speedup | None:
    """How much sooner curiosity reaches the baseline's best; None if neither learned.

    Args:
        baseline: to be faster than.
        curiosity: the same learner with it.
        share: of the way from the baseline's start to its best, if not all of it.
    """
    theirs, ours = baseline.curve(), curiosity.curve()
    if baseline.learned():
        target = theirs.max() - (1 - share) * (theirs.max() - theirs[0])
        steps = baseline.timesteps[np.flatnonzero(theirs >= target)[0]]
        mark = ""
    else:
        target = theirs.max() + LEARNED_SHARE * max(abs(theirs[0]), 1.0)
        steps, mark = baseline.timesteps[-1], "never learned"
    reached = np.flatnonzero(ours >= target)
    if len(reached) == 0:
        if mark:
            return None
        return Speedup(float(steps / curiosity.timesteps[-1]), "not matched")
    first = max(curiosity.timesteps[reached[0]], curiosity.timesteps[1])
    return Speedup(float(steps / first), mark)


def cells_of(rows: Iterable[Row], points: int) -> dict[Cell, CellReturns]:
    """Rows by cell, aligned on the nominal times of their evaluations.

    Args:
        rows: of any cells; all are evaluated.
        points: evaluations of a run, the one before training left out.
    """
    return {cell: _returns(list(runs.values()), points) for cell, runs in by_run(rows).items()}


def _returns(runs: list[list[Row]], points: int) -> CellReturns:
    """Align seeds: an evaluation belongs to the last nominal time that it has passed."""
    budget = min(run[-1].timesteps for run in runs)
    grid = np.arange(points + 1) * budget / points
    returns = np.empty((len(runs), len(grid)))
    for index, run in enumerate(runs):
        taken = np.array([row.timesteps for row in run])
        which = np.searchsorted(taken, grid, side="left").clip(0, len(run) - 1)
        returns[index] = np.array([row.evaluation_return for row in run])[which]
    return CellReturns(grid, returns, np.array([first_success(run) for run in runs]))
