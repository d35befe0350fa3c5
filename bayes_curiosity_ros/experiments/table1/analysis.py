"""From rows to curves, scores, speedups and first successes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bayes_curiosity_ros.experiments.table1.jobs import Row

FINAL_SHARE = 0.1
SMOOTHING = 3
LEARNED_SHARE = 0.05


@dataclass(frozen=True)
class Cell:
    """All seeds of one (task, algorithm, bonus).

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
        late = self.timesteps > (1 - FINAL_SHARE) * self.timesteps[-1]
        return self.returns[:, late].mean(axis=1)

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


def speedup(baseline: Cell, curiosity: Cell, share: float = 1.0) -> Speedup | None:
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


def cells_of(rows: Iterable[Row], evaluations: int) -> dict[tuple[str, str, str], Cell]:
    """Group rows by (task, algorithm, bonus), aligned on the nominal evaluation times."""
    runs: dict[tuple[str, str, str], dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        runs[row.task, row.algorithm, row.bonus][row.seed].append(row)
    return {key: _cell(list(seeds.values()), evaluations) for key, seeds in runs.items()}


def _cell(seeds: list[list[Row]], evaluations: int) -> Cell:
    """Align seeds: an evaluation belongs to the last nominal time that it has passed."""
    budget = min(run[-1].timesteps for run in seeds)
    grid = np.arange(evaluations + 1) * budget / evaluations
    returns = np.empty((len(seeds), len(grid)))
    for index, run in enumerate(seeds):
        taken = np.array([row.timesteps for row in run])
        which = np.searchsorted(taken, grid, side="left").clip(0, len(run) - 1)
        returns[index] = np.array([row.extrinsic_return for row in run])[which]
    first = [float(run[-1].first_success) for run in seeds]
    return Cell(grid, returns, np.array([value if value >= 0 else np.inf for value in first]))
