"""How soon it succeeds, and whether it goes on: a table with intervals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bayes_curiosity_ros.experiments.engine.jobs import Cell
from bayes_curiosity_ros.experiments.engine.tables import markdown_table, steps_text
from bayes_curiosity_ros.experiments.memory.analysis import Evaluations
from bayes_curiosity_ros.learning.intervals import Interval

HEAD = ["task", "learner", "method", "steps to 90 %", "seeds there", "best", "at the end"]
HEAD += ["most lost"]
LEGEND = """\
Success rate of episodes without noise. Steps to 90 %: until an evaluation has as much; a seed that
never does counts with its last step. Best: of a run's evaluations. At the end: mean of the last
three. All of them: interquartile mean over seeds with its 95 % interval by bootstrap. Most lost:
how far the worst seed is below its best at the end.
"""


def to_markdown(cells: Mapping[Cell, Evaluations]) -> str:
    """A row per task, learner and method."""
    rows = [_row(cell, evaluations) for cell, evaluations in cells.items()]
    return "\n".join([LEGEND, markdown_table(HEAD, rows)])


def _row(cell: Cell, evaluations: Evaluations) -> list[str]:
    there = int(np.isfinite(evaluations.steps_to()).sum())
    return [
        *cell,
        _steps(evaluations.steps_interval()),
        f"{there} of {len(evaluations)}",
        str(evaluations.best()),
        str(evaluations.final()),
        f"{evaluations.lost().max():.2f}",
    ]


def _steps(interval: Interval) -> str:
    ends = ", ".join(steps_text(end) for end in (interval.lower, interval.upper))
    return f"{steps_text(interval.value)} [{ends}]"
