"""Methods beside each other, with intervals: differences, chances, profiles, steps to a goal.

All intervals are 95 % percentile bootstraps over runs. Where there are several tasks, runs are
drawn anew within each (a stratified bootstrap), as in Agarwal and others 2021.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bayes_curiosity_ros.experiments.engine.statistics import (
    TAILS,
    interquartile_mean,
    percentile_interval,
    resampled,
)
from bayes_curiosity_ros.learning.intervals import Interval

NOT_TOLD_APART, TOO_FEW = "not told apart", "too few seeds"
FEWEST_RUNS = 5  # of each side, to say which is better: an interval of fewer is too narrow


def difference(mine: np.ndarray, theirs: np.ndarray, seed: int = 0) -> Interval:
    """How far the interquartile mean of one method is above another's.

    Args:
        mine: (seeds,), one number per run.
        theirs: (other seeds,), likewise; runs of the two are not paired.
        seed: of the draws.
    """
    rng = np.random.default_rng(seed)
    drawn = interquartile_mean(resampled(mine, rng)) - interquartile_mean(resampled(theirs, rng))
    value = interquartile_mean(mine) - interquartile_mean(theirs)
    return percentile_interval(float(value), drawn)


def verdict(difference: Interval, runs: int) -> str:
    """What a difference says, where more is better.

    Args:
        difference: of two methods.
        runs: of the one that has fewer.
    """
    if runs < FEWEST_RUNS:
        return TOO_FEW
    if difference.lower > 0:
        return "better"
    return "worse" if difference.upper < 0 else NOT_TOLD_APART


def told(mine: np.ndarray, theirs: np.ndarray) -> str:
    """Whether one method is better or worse than another, by the interval of their difference.

    Args:
        mine: (seeds,), one number per run.
        theirs: (other seeds,), likewise.
    """
    return verdict(difference(mine, theirs), min(len(mine), len(theirs)))


def aggregate(tasks: Sequence[np.ndarray], seed: int = 0) -> Interval:
    """The interquartile mean over the runs of all tasks together.

    Args:
        tasks: (seeds,) scores of each task, on a scale that they share.
        seed: of the draws.
    """
    return _stratified(tasks, lambda runs: interquartile_mean(np.concatenate(runs, -1)), seed)


def profile(
    tasks: Sequence[np.ndarray], levels: np.ndarray, seed: int = 0, resamples: int = 2000
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Share of runs whose score is above each level, and the ends of its interval: (L,) each.

    Args:
        tasks: as of `aggregate`; every task counts the same.
        levels: (L,).
        seed: of the draws.
        resamples: sets of runs drawn.
    """
    rng = np.random.default_rng(seed)
    drawn = [resampled(runs, rng, resamples) for runs in tasks]

    def shares(each: Sequence[np.ndarray], level: float) -> np.ndarray:
        return np.mean([(runs > level).mean(-1) for runs in each], axis=0)

    ends = [np.percentile(shares(drawn, level), TAILS) for level in levels]
    lower, upper = np.array(ends).reshape(-1, 2).T
    return np.array([float(shares(tasks, level)) for level in levels]), lower, upper


def probability_of_improvement(
    tasks: Sequence[tuple[np.ndarray, np.ndarray]], seed: int = 0, resamples: int = 2000
) -> Interval:
    """How likely a run of one method is above a run of another, on a task drawn at random.

    Args:
        tasks: scores (seeds,) of the one and of the other, of each task; equal ones count half.
        seed: of the draws.
        resamples: sets of runs drawn.
    """
    rng = np.random.default_rng(seed)
    drawn = [
        _chance(resampled(mine, rng, resamples), resampled(theirs, rng, resamples))
        for mine, theirs in tasks
    ]
    value = np.mean([_chance(mine[None], theirs[None])[0] for mine, theirs in tasks])
    return percentile_interval(float(value), np.mean(drawn, axis=0))


def median_steps(steps: np.ndarray, seed: int = 0) -> Interval:
    """Steps that half of the runs need; infinite where half of them never get there.

    Runs that never got there are censored on the right: all that is known is that they need more
    than their budget. The median needs no more, as long as it is below that.

    Args:
        steps: (seeds,), infinite for runs that never got there.
        seed: of the draws.
    """
    drawn = _median(resampled(steps, np.random.default_rng(seed)))
    ordered = np.sort(drawn)
    lower, upper = (ordered[round(end / 100 * (len(ordered) - 1))] for end in TAILS)
    return Interval(float(_median(steps)), float(lower), float(upper))


def _median(steps: np.ndarray) -> np.ndarray:
    """Along the last axis; the later one of two in the middle, as infinity has no mean."""
    ordered: np.ndarray = np.sort(steps, axis=-1)[..., steps.shape[-1] // 2]
    return ordered


def _chance(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Share of pairs (…,) in which the one is above; equal ones count half."""
    pairs = mine[..., :, None], theirs[..., None, :]
    above, equal = np.greater(*pairs), np.equal(*pairs)
    chance: np.ndarray = above.mean((-2, -1)) + 0.5 * equal.mean((-2, -1))
    return chance


def _stratified(
    tasks: Sequence[np.ndarray], statistic: Callable[[Sequence[np.ndarray]], np.ndarray], seed: int
) -> Interval:
    rng = np.random.default_rng(seed)
    drawn = statistic([resampled(runs, rng) for runs in tasks])
    return percentile_interval(float(statistic(tasks)), drawn)
