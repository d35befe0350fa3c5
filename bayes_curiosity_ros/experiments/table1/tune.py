"""The bonuses' weights for Table I: the same trials for every bonus, and one rule to choose.

The rule, per task and bonus: of every run, take the mean return of all its evaluations, the area
under its learning curve, which counts how soon a run learns as well as where it ends. Average that
over seeds and learners (returns of one task have one scale, whoever learns), and choose the trial
with the highest average; of equal ones, the first. A bonus is a panel of the configuration file,
its trials are the panel's methods.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from bayes_curiosity_ros.configuration.ranges import parse_ranges
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.experiments.engine.arguments import add_experiment_arguments
from bayes_curiosity_ros.experiments.engine.jobs import Cell, Row
from bayes_curiosity_ros.experiments.engine.store import all_rows
from bayes_curiosity_ros.experiments.engine.tables import markdown_table
from bayes_curiosity_ros.experiments.table1.analysis import CellReturns, cells_of
from bayes_curiosity_ros.files import write_atomically

if TYPE_CHECKING:
    from bayes_curiosity_ros.experiments.engine.settings import ExperimentSettings

FIRST_SEED = 100  # those below are for reporting
LEGEND = "Per learner: mean return of all evaluations; of the last tenth of the budget."
Trials = dict[str, dict[str, CellReturns]]  # by the trial's method, then learner


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `bayes-curiosity experiment tune`."""
    add_experiment_arguments(parser, "table1_tuning.yaml", "output/tuning", "100-102", together=10)


def run(arguments: argparse.Namespace) -> int:
    """Run the trials that are missing, then write what they came to and what to choose."""
    # Here, as it brings what only the arm needs.
    from bayes_curiosity_ros.experiments.engine.running import chosen_settings, run_missing

    settings = chosen_settings(arguments)
    check(settings)
    reported = [seed for seed in parse_ranges(arguments.seeds, "--seeds") if seed < FIRST_SEED]
    if reported:
        raise ConfigError(
            f"seed {reported[0]} is for reporting; tune on seeds {FIRST_SEED} and above"
        )
    run_missing(settings, arguments, keep_checkpoints=False)
    markdown = to_markdown(measured(all_rows(arguments.output), settings))
    write_atomically(arguments.output / "table.md", markdown.encode())
    print(markdown)
    print(f"rows and table are in {arguments.output}", file=sys.stderr)
    return 0


def check(settings: ExperimentSettings) -> None:
    """Raise ConfigError unless every method is a bonus's trial, and every bonus has as many."""
    trials = {method for methods in settings.panels.values() for method in methods}
    for name, task in settings.tasks.items():
        for method in task.methods:
            if method not in trials:
                raise ConfigError(f"{name}: method {method!r} is in no panel; leave it out")
        counts = {
            bonus: sum(method in task.methods for method in methods)
            for bonus, methods in settings.panels.items()
        }
        if len({count for count in counts.values() if count}) != 1:
            raise ConfigError(f"{name}: {counts} trials; give every bonus equally many")


def measured(rows: Iterable[Row], settings: ExperimentSettings) -> dict[tuple[str, str], Trials]:
    """What the trials of these settings came to, by (task, bonus)."""
    returns = cells_of(rows, settings.points)
    found: dict[tuple[str, str], Trials] = {}
    for name, task in settings.tasks.items():
        for bonus, methods in settings.panels.items():
            for cell in (Cell(name, learner, m) for m in methods for learner in task.learners):
                if cell in returns:
                    trials = found.setdefault((name, bonus), {})
                    trials.setdefault(cell.method, {})[cell.learner] = returns[cell]
    return found


def choose(trials: Trials) -> str:
    """The trial that the rule above takes."""
    return max(trials, key=lambda method: average(trials[method].values()))


def average(cells: Iterable[CellReturns]) -> float:
    """Mean return over all evaluations, seeds and learners."""
    return float(np.mean([cell.returns.mean() for cell in cells]))


def to_markdown(cells: Mapping[tuple[str, str], Trials]) -> str:
    """A row per task, bonus and trial, a column per learner; the chosen trial is bold."""
    tried = [learners for trials in cells.values() for learners in trials.values()]
    names = list(dict.fromkeys(name for learners in tried for name in learners))
    rows = [
        _row(task, bonus, method, trials, names)
        for (task, bonus), trials in cells.items()
        for method in trials
    ]
    head = ["task", "bonus", "trial", "average", *names, "seeds"]
    return f"{LEGEND}\n\n{markdown_table(head, rows)}"


def _row(task: str, bonus: str, method: str, trials: Trials, names: list[str]) -> list[str]:
    learners = trials[method]
    return [
        task,
        bonus,
        f"**{method}**" if method == choose(trials) else method,
        f"{average(learners.values()):.1f}",
        *(_measured_text(learners.get(name)) for name in names),
        str(min(len(cell.returns) for cell in learners.values())),
    ]


def _measured_text(cell: CellReturns | None) -> str:
    if cell is None:
        return "–"
    return f"{cell.returns.mean():.1f}; {cell.scores().mean():.1f}"
