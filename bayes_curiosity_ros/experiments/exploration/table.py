"""Who finds the goal: a table with intervals, and what they tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bayes_curiosity_ros.experiments.engine.comparisons import median_steps, told
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
Against curiosity: better or worse where the interval of the difference of the two says so, from 5
seeds on. Whole run: the mean over all of the run and all seeds. Found by: seeds with a success at
all. First success, half succeed: median over seeds of the steps until then.
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
        steps_text(median_steps(successes.first_success).value),
        steps_text(median_steps(successes.steps_to(HALF)).value),
    ]


def _verdict(theirs: Successes, ours: Successes | None) -> str:
    if ours is None or ours is theirs:
        return "–"
    return told(theirs.final(), ours.final())
