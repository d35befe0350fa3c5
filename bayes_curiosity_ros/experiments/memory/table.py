"""How soon it succeeds, whether it goes on, and what the bonus adds: a table with intervals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bayes_curiosity_ros.experiments.engine.comparisons import difference, median_steps, verdict
from bayes_curiosity_ros.experiments.engine.jobs import Cell
from bayes_curiosity_ros.experiments.engine.statistics import bootstrap
from bayes_curiosity_ros.experiments.engine.tables import markdown_table, steps_text
from bayes_curiosity_ros.experiments.memory.analysis import WANTED, Evaluations, rival_of
from bayes_curiosity_ros.learning.intervals import Interval

HEAD = ["task", "method", "found by", "first success", "steps to 90 %", "seeds there"]
HEAD += ["at the end", "most lost", "whole run", "against none"]
LEGEND = """\
Success rate of episodes without noise. Found by: seeds with a success while exploring; first
success: median of the steps until then. Steps to 90 %: until an evaluation has as much; a seed
that never does counts with its last step. At the end: mean of the last three evaluations. Most
lost: how far the worst seed is below its best evaluation then. Whole run: mean of all
evaluations. Against none: how far the whole run is above that of no bonus from the same
demonstrations. Intervals: 95 %, by bootstrap over seeds; all but that of the first success are of
interquartile means.
"""


def to_markdown(cells: Mapping[Cell, Evaluations]) -> str:
    """A row per task and method."""
    rows = [_row(cell, cells) for cell in cells]
    return "\n".join([LEGEND, markdown_table(HEAD, rows)])


def _row(cell: Cell, cells: Mapping[Cell, Evaluations]) -> list[str]:
    mine = cells[cell]
    return [
        cell.task,
        cell.method,
        f"{mine.found()} of {len(mine)}",
        _steps(median_steps(mine.first_success)),
        _steps(mine.steps_interval()),
        f"{int(np.isfinite(mine.steps_to(WANTED)).sum())} of {len(mine)}",
        str(mine.interval()),
        f"{mine.lost().max():.2f}",
        str(bootstrap(mine.overall())),
        _against(cell, cells),
    ]


def _against(cell: Cell, cells: Mapping[Cell, Evaluations]) -> str:
    rival = rival_of(cell, cells)
    if rival is None:
        return "–"
    mine, theirs = cells[cell].overall(), cells[rival].overall()
    found = difference(mine, theirs)
    return f"{found}, {verdict(found, min(len(mine), len(theirs)))}"


def _steps(interval: Interval) -> str:
    ends = ", ".join(steps_text(end) for end in (interval.lower, interval.upper))
    return f"{steps_text(interval.value)} [{ends}]"
