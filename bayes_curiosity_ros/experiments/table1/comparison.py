"""Methods beside the curiosity of a table made earlier: rewards by interval, first successes."""

from __future__ import annotations

from bayes_curiosity_ros.experiments.engine.comparisons import told
from bayes_curiosity_ros.experiments.engine.jobs import Cell
from bayes_curiosity_ros.experiments.engine.statistics import bootstrap
from bayes_curiosity_ros.experiments.engine.tables import markdown_table
from bayes_curiosity_ros.experiments.table1.analysis import CellReturns, Cells
from bayes_curiosity_ros.experiments.table1.table import OURS, first_success_text
from bayes_curiosity_ros.learning.intervals import Interval

HEAD = ["task", "learner", "method", "reward", "against the table", "first success", "sooner"]
LEGEND = f"""\
Reward: per seed, the mean extrinsic return of the evaluations (no noise, no bonus) in the last
tenth of the budget; interquartile mean over seeds with its 95 % interval by bootstrap. Against
the table: better or worse than its {OURS} where the interval of the difference of the two says so,
from 5 seeds on. First success: median (range) of training steps to the end of the first successful
episode, and how many seeds had one. Sooner: whether that median is before the table's.
"""


def to_markdown(mine: Cells, table: Cells) -> str:
    """Every cell that has its counterpart in the table, which is the row above it."""
    rows = []
    for cell, returns in mine.items():
        counterpart = cell._replace(method=OURS)
        if counterpart in table:
            theirs = table[counterpart]
            rows.append(_row(counterpart, theirs, "–", "–"))
            rows.append(_row(cell, returns, _verdict(returns, theirs), _sooner(returns, theirs)))
    return "\n".join([LEGEND, markdown_table(HEAD, rows)])


def _row(cell: Cell, returns: CellReturns, verdict: str, sooner: str) -> list[str]:
    reward = _text(bootstrap(returns.scores()))
    return [*cell, reward, verdict, first_success_text(returns), sooner]


def _text(interval: Interval) -> str:
    return f"{interval.value:.1f} [{interval.lower:.1f}, {interval.upper:.1f}]"


def _verdict(mine: CellReturns, theirs: CellReturns) -> str:
    return told(mine.scores(), theirs.scores())


def _sooner(mine: CellReturns, theirs: CellReturns) -> str:
    ours, other = mine.median_first_success(), theirs.median_first_success()
    return "as soon" if ours == other else "yes" if ours < other else "no"
