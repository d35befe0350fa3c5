"""Who finds the goal: a table with intervals, and what they tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from bayes_curiosity_ros.experiments.engine.jobs import Cell, Row
from bayes_curiosity_ros.experiments.engine.successes import Successes
from bayes_curiosity_ros.experiments.engine.tables import markdown_table, steps_text

OURS = "curiosity"
HALF = 0.5
HEAD = ["task", "method", "success at the end", "against curiosity", "whole run", "found by"]
HEAD += ["first success", "half succeed"]
LEGEND = """\
Success rate of training episodes, exploration noise included. At the end: per seed the mean over
the last tenth of the run; interquartile mean over seeds with its 95 % interval by bootstrap.
Against curiosity: below or above where the intervals do not meet. Whole run: the mean over all of
the run and all seeds. Found by: seeds with a success at all. First success, half succeed: median
over seeds of the steps until then.
"""


def successes_of(rows: Iterable[Row]) -> dict[Cell, Successes]:
    """Rows by cell; rates are those of training, noise included."""
    return Successes.by_cell(rows, lambda row: row.success_rate)


def to_markdown(cells: Mapping[Cell, Successes]) -> str:
    """A row per task and method."""
    rows = [_row(cell, successes, cells) for cell, successes in cells.items()]
    return "\n".join([LEGEND, markdown_table(HEAD, rows)])


def _row(cell: Cell, successes: Successes, cells: Mapping[Cell, Successes]) -> list[str]:
    return [
        cell.task,
        cell.method,
        str(successes.interval()),
        _verdict(successes, cells.get(cell._replace(method=OURS))),
        f"{successes.overall().mean():.3f}",
        f"{successes.found()} of {len(successes)}",
        steps_text(_median(successes.first_success)),
        steps_text(_median(successes.steps_to(HALF))),
    ]


def _verdict(theirs: Successes, ours: Successes | None) -> str:
    if ours is None or ours is theirs:
        return "–"
    return theirs.interval().against(ours.interval()) or "not told apart"


def _median(steps: np.ndarray) -> float:
    """A value that a seed had, so that infinity needs no arithmetic."""
    return float(np.percentile(steps, 50, method="higher"))
