"""Who finds the cylinder at the end, with intervals, and what they tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bayes_curiosity_ros.experiments.engine.statistics import FINAL_SHARE, Interval
from bayes_curiosity_ros.experiments.parked.settings import IN_PROCESS, OVER_ROS
from bayes_curiosity_ros.learning.episode_log import EpisodeRow

Z = 1.959964  # of a 95 % interval
WORDS = {
    "curiosity": "with curiosity",
    "none": "without",
    "placebo": "with the placebo, the same rewards shuffled over the steps",
}


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


def compared(ours: Share, theirs: Share) -> str:
    """Ours against theirs: above or below where the intervals do not meet, else undecided."""
    mine, other = ours.interval, theirs.interval
    if mine.lower > other.upper:
        return "above"
    return "below" if mine.upper < other.lower else "undecided"


def verdict(ends: Mapping[str, Share]) -> str:
    """What the intervals say of curiosity, in one or two sentences.

    Args:
        ends: success at the end, by method; curiosity and at least one to compare with.
    """
    found = {name: compared(ends[OVER_ROS], ends[name]) for name in IN_PROCESS if name in ends}
    ours = f"{ends[OVER_ROS].interval.value:.0%}"
    if set(found.values()) == {"above"}:
        return (
            f"yes. The arm finds the cylinder in {ours} of the episodes with curiosity: more "
            + ("often than " + _listed(found, ends, " and than ") + ".")
        )
    worse = [name for name, said in found.items() if said == "below"]
    if worse:
        return (
            f"no. The arm finds the cylinder in {ours} of the episodes with curiosity: less "
            + ("often than " + _listed(worse, ends, " and than ") + ".")
        )
    open_ = [name for name, said in found.items() if said == "undecided"]
    return (
        f"undecided. With curiosity {ours} of the episodes succeed, which these runs do not tell "
        f"apart from {_listed(open_, ends, ' and from ')}. More --timesteps may."
    )


def summary(ends: Mapping[str, Share]) -> str:
    """A line per run and the verdict, as they are printed and kept."""
    width = max(map(len, ends))
    return "\n".join(
        [
            "Success over the last tenth of the episodes, exploration noise included, with 95 % "
            "interval:",
            *(f"    {name:{width}}  {share}" for name, share in ends.items()),
            f"Does curiosity carry? {verdict(ends).capitalize()}",
            "The intervals are of these runs' episodes, all of one seed; `bayes-curiosity "
            "experiment exploration` compares seeds.",
        ]
    )


def _listed(
    names: Sequence[str] | Mapping[str, str], ends: Mapping[str, Share], joint: str
) -> str:
    return joint.join(f"{WORDS[name]} ({ends[name].interval.value:.0%})" for name in names)
