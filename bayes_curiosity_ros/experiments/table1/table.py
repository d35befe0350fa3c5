"""The table as Markdown: ours beside the paper's."""

from __future__ import annotations

import math
from collections import Counter

from bayes_curiosity_ros.experiments.engine.comparisons import (
    NOT_TOLD_APART,
    probability_of_improvement,
    told,
)
from bayes_curiosity_ros.experiments.engine.jobs import Cell
from bayes_curiosity_ros.experiments.engine.statistics import bootstrap
from bayes_curiosity_ros.experiments.engine.tables import markdown_table, steps_text
from bayes_curiosity_ros.experiments.table1 import paper
from bayes_curiosity_ros.experiments.table1.analysis import CellReturns, Cells, speedup
from bayes_curiosity_ros.learning.intervals import Interval

OURS, VANILLA = "curiosity", "none"
MOST = 0.9
HEAD = [
    "task", "method", "reward", "paper", "speedup", "paper", "to 90 %", "first success",
    "whole run", "seeds",
]  # fmt: skip
MARKS = {"": "", "never learned": " †", "not matched": " ‡"}
LEGEND = """\
Reward: per seed, the mean extrinsic return of the evaluations (no noise, no bonus) in the last
tenth of the budget; median (lower, upper quartile) over seeds. Speedup: the baseline's steps to
the best of its median curve ÷ curiosity's steps to match it; above 1, curiosity was faster.
† the baseline never learned: its whole budget stands for its steps. ‡ curiosity never matched
it: its whole budget stands for its steps. To 90 %: the same for nine tenths of the way from the
baseline's start to its best. First success: median (range) of training steps to the end of the
first successful episode, and how many seeds had one. Whole run: per seed, the mean return of all
evaluations; interquartile mean over seeds with its 95 % interval by bootstrap.
"""
CELL_BY_CELL = """\
Its mean return of the whole run, and whether that is better or worse than with each other method,
where the interval of the difference says so.
"""
BY_INTERVAL = """\
In how many cells the 95 % interval of the difference of the interquartile means over seeds is
above 0, holds it, is below it. Chance: that a run of curiosity is above a run of the other method
on a cell drawn at random, with its interval; 0.5 is alike.
"""
MEASURES = {"the end": CellReturns.scores, "mean over training": CellReturns.means}


def to_markdown(cells: Cells) -> str:
    """One table per learner, tasks and methods as rows, then how the claims fared."""
    parts = [LEGEND]
    for learner in dict.fromkeys(cell.learner for cell in cells):
        rows = [_row(cells, cell) for cell in cells if cell.learner == learner]
        parts.append(f"## {learner}\n\n{markdown_table(HEAD, rows)}")
    return "\n".join([*parts, _claims(cells), *_cell_by_cell(cells), *_by_interval(cells)])


def _row(cells: Cells, cell: Cell) -> list[str]:
    returns = cells[cell]
    return [
        cell.task,
        cell.method,
        quartiles_text(returns.quartiles()),
        quartiles_text(paper.REWARD[cell]) if cell in paper.REWARD else "–",
        _speedup(cells, cell),
        f"{paper.SPEEDUP[cell]:g}" if cell in paper.SPEEDUP else "–",
        _speedup(cells, cell, MOST),
        first_success_text(returns),
        interval_text(bootstrap(returns.means())),
        str(len(returns.returns)),
    ]


def interval_text(interval: Interval) -> str:
    """A return [its interval]."""
    return f"{interval.value:.1f} [{interval.lower:.1f}, {interval.upper:.1f}]"


def quartiles_text(values: tuple[float, float, float]) -> str:
    """Median (lower, upper quartile)."""
    return "{:.1f} ({:.1f}, {:.1f})".format(*values)


def _speedup(cells: Cells, cell: Cell, share: float = 1.0) -> str:
    curious = cells.get(cell._replace(method=OURS))
    if cell.method == OURS or curious is None:
        return "–"
    result = speedup(cells[cell], curious, share)
    return "neither learned" if result is None else f"{result.value:.2f}{MARKS[result.mark]}"


def first_success_text(returns: CellReturns) -> str:
    """Median (range) of the steps to the first success, and how many seeds had one."""
    steps = returns.first_success
    found = int(sum(math.isfinite(value) for value in steps))
    median, best, worst = (
        steps_text(value)
        for value in (returns.median_first_success(), float(steps.min()), float(steps.max()))
    )
    return f"{median} ({best}–{worst}), {found} of {len(steps)}"


def _claims(cells: Cells) -> str:
    """How often curiosity did as well as the paper's, and as well as no bonus."""
    pairs = [
        (cell, returns, vanilla)
        for cell, returns in cells.items()
        if cell.method == OURS and (vanilla := cells.get(cell._replace(method=VANILLA)))
    ]
    total = len(pairs)
    counts = {
        "median ≥ the paper's curiosity median": sum(
            c.quartiles()[0] >= paper.REWARD[cell][0]
            for cell, c, _ in pairs
            if cell in paper.REWARD
        ),
        "median ≥ vanilla's": sum(c.quartiles()[0] >= v.quartiles()[0] for _, c, v in pairs),
        "speedup over vanilla > 1": sum(_faster(c, v, 1.0) for _, c, v in pairs),
        f"speedup to {MOST:.0%} of vanilla's best > 1": sum(
            _faster(c, v, MOST) for _, c, v in pairs
        ),
        "first success no later than vanilla's": sum(
            c.median_first_success() <= v.median_first_success() for _, c, v in pairs
        ),
    }
    lines = [f"- curiosity's {claim}: {count} of {total}" for claim, count in counts.items()]
    return "\n".join(["## Claims\n", *lines, ""])


def _cell_by_cell(cells: Cells) -> list[str]:
    """Of each cell, whether curiosity is told apart from each other method."""
    rivals = list(dict.fromkeys(cell.method for cell in cells if cell.method != OURS))
    rows = [
        [cell.task, cell.learner, interval_text(bootstrap(returns.means()))]
        + [_verdict(returns, cells.get(cell._replace(method=rival))) for rival in rivals]
        for cell, returns in cells.items()
        if cell.method == OURS
    ]
    title = f"## {OURS.capitalize()}, cell by cell\n\n{CELL_BY_CELL}"
    head = ["task", "learner", OURS, *rivals]
    return [title, markdown_table(head, rows), ""] if rivals and rows else []


def _verdict(ours: CellReturns, theirs: CellReturns | None) -> str:
    return "–" if theirs is None else told(ours.means(), theirs.means())


def _by_interval(cells: Cells) -> list[str]:
    """How often curiosity is better or worse than each other method, if there are any."""
    rows = []
    for method in dict.fromkeys(cell.method for cell in cells if cell.method != OURS):
        pairs = [
            (returns, other)
            for cell, returns in cells.items()
            if cell.method == OURS and (other := cells.get(cell._replace(method=method)))
        ]
        for name, score in MEASURES.items() if pairs else ():
            scores = [(score(curious), score(other)) for curious, other in pairs]
            found = Counter(told(*each) for each in scores)
            apart = found["better"], found["worse"]
            counts = [str(count) for count in (apart[0], len(scores) - sum(apart), apart[1])]
            rows.append([method, name, *counts, str(probability_of_improvement(scores))])
    head = ["against", "measured by", "better", NOT_TOLD_APART, "worse", "chance of a higher run"]
    title = f"## {OURS.capitalize()} by intervals\n\n{BY_INTERVAL}"
    return [title, markdown_table(head, rows)] if rows else []


def _faster(curious: CellReturns, vanilla: CellReturns, share: float) -> bool:
    ratio = speedup(vanilla, curious, share)
    return ratio is not None and ratio.value > 1
