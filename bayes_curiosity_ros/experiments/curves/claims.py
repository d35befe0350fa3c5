"""The paper's claims about the curves, put to the data. What they say is computed, never kept."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bayes_curiosity_ros.experiments.curves.analysis import (
    Curve,
    Curves,
    first_time,
    grid_of,
    of_task,
)
from bayes_curiosity_ros.experiments.engine.tables import steps_text as steps

OURS = "curiosity"
VANILLA = "none"
HALF = 0.5
ARRIVED = 0.75
# How many times the steps the paper says that others need.
FACTORS = {"visual_reach": 5.0, "visual_grasp": 3.0}


@dataclass(frozen=True)
class Verdict:
    """A claim, whether the data bears it out, and the numbers."""

    claim: str
    holds: bool
    evidence: str


def verdicts(curves: Curves) -> list[Verdict]:
    """Every claim for which there are curves."""
    found = []
    for task in dict.fromkeys(cell.task for cell in curves):
        others = of_task(curves, task)
        ours = others.pop(OURS, None)
        if ours is None or not others:
            continue
        if task == "grasp":
            found.append(dominance(task, ours, others))
        elif task in ("reach", "arm_reach"):
            found.append(sooner(task, ours, others))
        elif task in FACTORS:
            found.append(fewer_steps(task, ours, others, FACTORS[task]))
    return found


def dominance(task: str, ours: Curve, others: dict[str, Curve]) -> Verdict:
    """Our lower quartile above everyone's upper one throughout the middle half of training."""
    shares = {}
    grid = grid_of([ours, *others.values()])
    middle = (grid >= 0.25 * grid[-1]) & (grid <= 0.75 * grid[-1])
    for name, other in others.items():
        above = ours.quartiles(grid)[0] > other.quartiles(grid)[2]
        shares[name] = float(above[middle].mean()), float(above.mean())
    evidence = "; ".join(
        f"{name}: {half:.0%} of the middle half, {whole:.0%} of all"
        for name, (half, whole) in shares.items()
    )
    return Verdict(
        f"{task}: curiosity's lower quartile is above the upper quartile of every other method "
        "throughout the middle half of training",
        all(half == 1.0 for half, _ in shares.values()),
        evidence,
    )


def sooner(task: str, ours: Curve, others: dict[str, Curve]) -> Verdict:
    """Our lower quartile passes half of the best final value first."""
    level = HALF * max(curve.final() for curve in [ours, *others.values()])
    times = {name: lower_quartile_reaches(curve, level) for name, curve in others.items()}
    mine = lower_quartile_reaches(ours, level)
    evidence = f"level {level:.4f}; curiosity: {steps(mine)}; " + "; ".join(
        f"{name}: {steps(time)}" for name, time in times.items()
    )
    return Verdict(
        f"{task}: curiosity's lower quartile passes half of the best final value before any other "
        "method's",
        math.isfinite(mine) and all(mine < time for time in times.values()),
        evidence,
    )


def fewer_steps(task: str, ours: Curve, others: dict[str, Curve], factor: float) -> Verdict:
    """Vanilla needs `factor` times our steps to where curiosity arrives, or never does."""
    level = ARRIVED * ours.final()
    mine = median_reaches(ours, level)
    parts, holds = [], False
    for name, other in others.items():
        theirs = median_reaches(other, level)
        ratio = theirs / mine if math.isfinite(mine) else 0.0
        if math.isfinite(theirs):
            parts.append(f"{name}: {steps(theirs)}, {ratio:.1f} times")
        else:
            parts.append(
                f"{name}: never in {steps(other.budget)}, {other.budget / mine:.1f} times"
            )
        if name == VANILLA:
            holds = ratio >= factor
    return Verdict(
        f"{task}: to reach {ARRIVED:.0%} of curiosity's final value, vanilla needs at least "
        f"{factor:g} times its steps, or never does",
        holds,
        f"level {level:.4f}; curiosity: {steps(mine)}; " + "; ".join(parts),
    )


def lower_quartile_reaches(curve: Curve, level: float) -> float:
    """Steps until the lower quartile over seeds is at a level."""
    grid = grid_of([curve])
    return first_time(grid, curve.quartiles(grid)[0], level)


def median_reaches(curve: Curve, level: float) -> float:
    """Steps until the median over seeds is at a level."""
    grid = grid_of([curve])
    return first_time(grid, curve.quartiles(grid)[1], level)
