"""The bonuses' weights for Table I: the same trials for every bonus, and one rule to choose.

The rule, per task and bonus: of every run, take the mean return of all its evaluations, the area
under its learning curve, which counts how soon a run learns as well as where it ends. Average that
over seeds and learners (returns of one task have one scale, whoever learns), and choose the weight
with the highest average; of equal ones, the smallest.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from bayes_curiosity_ros.configuration.ranges import parse_ranges
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.experiments.engine.arguments import add_experiment_arguments
from bayes_curiosity_ros.experiments.engine.jobs import Row
from bayes_curiosity_ros.experiments.engine.store import all_rows
from bayes_curiosity_ros.experiments.engine.tables import markdown_table
from bayes_curiosity_ros.experiments.table1.analysis import CellReturns, cells_of
from bayes_curiosity_ros.files import write_atomically

if TYPE_CHECKING:
    from bayes_curiosity_ros.experiments.engine.settings import ExperimentSettings

FIRST_SEED = 100  # those below are for reporting
LEGEND = "Per learner: mean return of all evaluations; of the last tenth of the budget."
Trials = dict[float, dict[str, CellReturns]]  # by weight, then learner


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
    """Raise ConfigError unless every method has a weight, and every bonus equally many."""
    for name, task in settings.tasks.items():
        for key, method in task.methods.items():
            if "weight" not in method.options:
                raise ConfigError(f"{name}: method {key!r} has no weight to choose; leave it out")
        counts = Counter(method.bonus for method in task.methods.values())
        if len(set(counts.values())) != 1:
            raise ConfigError(f"{name}: {dict(counts)} weights; give every bonus equally many")


def measured(rows: Iterable[Row], settings: ExperimentSettings) -> dict[tuple[str, str], Trials]:
    """What the trials of these settings came to, by (task, bonus)."""
    returns = cells_of(rows, settings.points)
    trials: dict[tuple[str, str], Trials] = {}
    for cell in settings.cells():
        method = settings.tasks[cell.task].methods[cell.method]
        weights = trials.setdefault((cell.task, method.bonus), {})
        if cell in returns:
            weights.setdefault(method.options["weight"], {})[cell.learner] = returns[cell]
    return {key: weights for key, weights in trials.items() if weights}


def choose(trials: Trials) -> float:
    """The weight that the rule above takes."""
    return min(trials, key=lambda weight: (-average(trials[weight].values()), weight))


def average(cells: Iterable[CellReturns]) -> float:
    """Mean return over all evaluations, seeds and learners."""
    return float(np.mean([cell.returns.mean() for cell in cells]))


def to_markdown(cells: Mapping[tuple[str, str], Trials]) -> str:
    """A row per task, bonus and weight, a column per learner; the chosen weight is bold."""
    tried = [learners for trials in cells.values() for learners in trials.values()]
    names = list(dict.fromkeys(name for learners in tried for name in learners))
    rows = [
        _row(task, bonus, weight, trials, names)
        for (task, bonus), trials in cells.items()
        for weight in sorted(trials)
    ]
    head = ["task", "bonus", "weight", "average", *names, "seeds"]
    return f"{LEGEND}\n\n{markdown_table(head, rows)}"


def _row(task: str, bonus: str, weight: float, trials: Trials, names: list[str]) -> list[str]:
    learners = trials[weight]
    return [
        task,
        bonus,
        f"**{weight:g}**" if weight == choose(trials) else f"{weight:g}",
        f"{average(learners.values()):.1f}",
        *(_measured_text(learners.get(name)) for name in names),
        str(min(len(cell.returns) for cell in learners.values())),
    ]


def _measured_text(cell: CellReturns | None) -> str:
    if cell is None:
        return "–"
    return f"{cell.returns.mean():.1f}; {cell.scores().mean():.1f}"
