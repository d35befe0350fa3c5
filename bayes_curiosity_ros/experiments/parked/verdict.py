"""Who finds the cylinder at the end, with intervals, and what they tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bayes_curiosity_ros.experiments.engine.statistics import FINAL_SHARE, Interval
from bayes_curiosity_ros.experiments.parked.settings import OVER_ROS
from bayes_curiosity_ros.learning.episode_log import EpisodeRow

Z = 1.959964  # of a 95 % interval
WORDS = {"none": "without it", "placebo": "with the placebo"}


@dataclass(frozen=True)
class Share:
    """How many of some episodes succeeded.

    Attributes:
        successes: episodes that succeeded.
        episodes: all of them.
    """

    successes: int
    episodes: int

    @property
    def interval(self) -> Interval:
        """The share that succeeded, with Wilson's 95 % interval; all is possible of none."""
        if not self.episodes:
            return Interval(0.0, 0.0, 1.0)
        n, share = self.episodes, self.successes / self.episodes
        center = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
        half = Z / (1 + Z**2 / n) * (share * (1 - share) / n + Z**2 / (4 * n**2)) ** 0.5
        lower, upper = min(center - half, share), max(center + half, share)  # but for rounding
        return Interval(share, max(lower, 0.0), min(upper, 1.0))

    def __str__(self) -> str:
        found = self.interval
        return (
            f"{found.value:5.1%}  [{found.lower:5.1%}, {found.upper:5.1%}]  "
            f"{self.successes} of {self.episodes} episodes"
        )


def share_of(episodes: Sequence[EpisodeRow]) -> Share:
    """How many of these episodes succeeded."""
    return Share(sum(row.outcome == "success" for row in episodes), len(episodes))


def at_the_end(episodes: Sequence[EpisodeRow]) -> Share:
    """How many of the last tenth of a run's episodes succeeded."""
    return share_of(episodes[-max(1, round(FINAL_SHARE * len(episodes))) :])


def verdict(ends: Mapping[str, Share]) -> str:
    """What the intervals say of curiosity, in plain words.

    Args:
        ends: success at the end, by method; curiosity and at least one to compare with.
    """
    others = [name for name in ends if name != OVER_ROS]
    mine = ends[OVER_ROS].interval
    said = {name: mine.against(ends[name].interval) for name in others}
    worse = [name for name in others if said[name] == "below"]
    alike = [name for name in others if not said[name]]
    ours = f"{_percent(ends, OVER_ROS)} of the episodes succeed with curiosity"
    if worse:
        return f"No: {ours}, but {_listed(worse, ends)}; the intervals do not meet."
    if alike:
        return f"Undecided: {ours}, {_listed(alike, ends)}; the intervals meet."
    return f"Yes: {ours}, {_listed(others, ends)}; the intervals do not meet."


def summary(ends: Mapping[str, Share]) -> str:
    """A line per run and the verdict, as they are printed and kept."""
    width = max(map(len, ends))
    return "\n".join(
        [
            "Success over the last tenth of the episodes, exploration noise included, with its "
            "95 % interval:",
            *(f"    {name:{width}}  {share}" for name, share in ends.items()),
            f"Does curiosity carry? {verdict(ends)}",
            "The placebo has the same rewards, shuffled over the steps. The intervals are of the",
            "episodes of one seed; `bayes-curiosity experiment exploration` compares seeds.",
        ]
    )


def _listed(names: Sequence[str], ends: Mapping[str, Share]) -> str:
    return " and ".join(f"{_percent(ends, name)} {WORDS[name]}" for name in names)


def _percent(ends: Mapping[str, Share], name: str) -> str:
    return f"{ends[name].interval.value:.0%}"
