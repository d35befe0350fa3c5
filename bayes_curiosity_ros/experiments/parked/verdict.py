"""Who finds the cylinder at the end, with intervals, and what they tell apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bayes_curiosity_ros.experiments.parked.settings import OVER_ROS
from bayes_curiosity_ros.learning.intervals import Share

WORDS = {"none": "without it", "placebo": "with the placebo"}


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
            *(f"    {name:{width}}  {_told(share)}" for name, share in ends.items()),
            f"Does curiosity carry? {verdict(ends)}",
            "The placebo has the same rewards, shuffled over the steps. The intervals are of the",
            "episodes of one seed; `bayes-curiosity experiment exploration` compares seeds.",
        ]
    )


def _told(share: Share) -> str:
    found = share.interval
    return (
        f"{found.value:5.1%}  [{found.lower:5.1%}, {found.upper:5.1%}]  "
        f"{share.successes} of {share.trials} episodes"
    )


def _listed(names: Sequence[str], ends: Mapping[str, Share]) -> str:
    return " and ".join(f"{_percent(ends, name)} {WORDS[name]}" for name in names)


def _percent(ends: Mapping[str, Share], name: str) -> str:
    return f"{ends[name].interval.value:.0%}"
