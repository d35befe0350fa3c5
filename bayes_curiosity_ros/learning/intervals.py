"""How far a share can be trusted, and whether two of them can be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bayes_curiosity_ros.learning.episode_log import EpisodeRow

Z = 1.959964  # of a 95 % interval
FINAL_SHARE = 0.1
FEWEST_EPISODES = 50


@dataclass(frozen=True)
class Interval:
    """An estimate and how far it can be trusted.

    Attributes:
        value: the estimate.
        lower, upper: ends of its 95 % interval.
    """

    value: float
    lower: float
    upper: float

    def against(self, other: Interval) -> str:
        """Whether this one is "above" or "below" another; "" where they meet."""
        if self.lower > other.upper:
            return "above"
        return "below" if self.upper < other.lower else ""

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.lower:.3f}, {self.upper:.3f}]"


@dataclass(frozen=True)
class Share:
    """How many of some trials succeeded.

    Attributes:
        successes: trials that succeeded.
        trials: all of them.
    """

    successes: int
    trials: int

    @property
    def interval(self) -> Interval:
        """The share that succeeded, with Wilson's 95 % interval; all is possible of none."""
        if not self.trials:
            return Interval(0.0, 0.0, 1.0)
        n, share = self.trials, self.successes / self.trials
        center = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
        half = Z / (1 + Z**2 / n) * (share * (1 - share) / n + Z**2 / (4 * n**2)) ** 0.5
        lower, upper = min(center - half, share), max(center + half, share)  # but for rounding
        return Interval(share, max(lower, 0.0), min(upper, 1.0))


def by_episode(rows: Sequence[EpisodeRow]) -> Share:
    """How many of these episodes succeeded."""
    return Share(sum(row.outcome == "success" for row in rows), len(rows))


def by_step(rows: Sequence[EpisodeRow]) -> Share:
    """How many of these episodes' control steps ended in success: the paper's metric.

    A step is a trial of its own if success is equally likely at each, and a time limit cuts the
    waiting short. Episodes that take much the same time vary less: their interval is too wide
    rather than too narrow.
    """
    return Share(by_episode(rows).successes, sum(row.steps for row in rows))


def at_the_end(rows: Sequence[EpisodeRow]) -> Share:
    """How many of the last tenth of a run's episodes succeeded."""
    return by_episode(rows[-max(1, round(FINAL_SHARE * len(rows))) :])


def ends(rows: Sequence[EpisodeRow]) -> tuple[Sequence[EpisodeRow], Sequence[EpisodeRow]]:
    """A run's first and last episodes: a tenth of it each, but 50 at least, and half at most."""
    count = min(max(FEWEST_EPISODES, round(FINAL_SHARE * len(rows))), len(rows) // 2)
    return rows[:count], rows[len(rows) - count :]


def judged(rows: Sequence[EpisodeRow]) -> str:
    """Whether a finished run succeeds more often per control step than it did at first."""
    first, last = ends(rows)
    words = {"above": "learnt", "below": "worse than at first", "": "not told apart"}
    return words[by_step(last).interval.against(by_step(first).interval)]
