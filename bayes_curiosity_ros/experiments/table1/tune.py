"""The bonuses' weights for Table I: the same trials for every bonus, and one rule to choose.

The rule, per task and bonus: of every run, take the mean return of all its evaluations, the area
under its learning curve, which counts how soon a run learns as well as where it ends. Average that
over seeds and learners (returns of one task have one scale, whoever learns), and choose the weight
with the highest average; of equal ones, the smallest.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.experiments.engine.running import (
    add_files_arguments,
    add_place_arguments,
    add_seeds_argument,
    check_place,
)
from bayes_curiosity_ros.experiments.engine.store import Store
from bayes_curiosity_ros.experiments.table1.analysis import Cell, cells_of
from bayes_curiosity_ros.experiments.table1.command import check_buildable, jobs_of, run_missing
from bayes_curiosity_ros.experiments.table1.jobs import Row
from bayes_curiosity_ros.experiments.table1.settings import (
    ALGORITHMS,
    BONUSES,
    TableSettings,
    known_name,
    load_settings,
    parse_file,
)
from bayes_curiosity_ros.files import write_atomically
from bayes_curiosity_ros.resources import find

Trials = dict[float, dict[str, Cell]]  # by weight, then learner


@dataclass(frozen=True)
class Plan:
    """What to try.

    Attributes:
        algorithms: the learners that every weight is tried with.
        weights: of each bonus, equally many.
    """

    algorithms: Sequence[str]
    weights: Mapping[str, Sequence[float]]

    def __post_init__(self) -> None:
        if not self.algorithms:
            raise ConfigError("algorithms is empty; name at least one")
        for algorithm in self.algorithms:
            known_name("algorithm", algorithm, ALGORITHMS)
        for bonus in self.weights:
            known_name("bonus", bonus, [name for name in BONUSES if name != "none"])
        counts = {bonus: len(values) for bonus, values in self.weights.items()}
        if len(set(counts.values())) != 1 or 0 in counts.values():
            raise ConfigError(f"weights has {counts} values; give every bonus equally many")

    def trials(self, settings: TableSettings) -> list[TableSettings]:
        """The table's settings, cut down to the learners, with the first weights, the second …"""
        return [
            self._trial(settings, index) for index in range(len(next(iter(self.weights.values()))))
        ]

    def _trial(self, settings: TableSettings, index: int) -> TableSettings:
        cells = {
            task: {name: row[name] for name in self.algorithms}
            for task, row in settings.cells.items()
        }
        bonuses = {
            task: {
                bonus: {**settings.bonuses[task].get(bonus, {}), "weight": values[index]}
                for bonus, values in self.weights.items()
            }
            for task in cells
        }
        return dataclasses.replace(settings, cells=cells, bonuses=bonuses)


def load_plan(path: Path) -> Plan:
    """Read and check a tuning file.

    Raises:
        ConfigError: the file is missing, not YAML, or does not fit.
    """
    return parse_file(path, _parse)


def _parse(raw: Mapping[str, Any]) -> Plan:
    weights = {bonus: [float(value) for value in row] for bonus, row in raw["weights"].items()}
    return Plan([str(name) for name in raw["algorithms"]], weights)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `bayes-curiosity experiment tune`."""
    table, trials = (
        find("config/experiments", "table1.yaml"),
        find("config/experiments", "table1_tuning.yaml"),
    )
    parser.add_argument("--task", nargs="+", metavar="NAME", help="only these tasks")
    add_seeds_argument(parser, "100-102")
    add_files_arguments(parser, table, "output/tuning")
    parser.add_argument("--tuning", type=Path, default=trials, metavar="FILE", help="what to try")
    add_place_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the trials that are missing, then write what they came to and what to choose."""
    plan = load_plan(arguments.tuning)
    trials = plan.trials(load_settings(arguments.config))
    arguments.algorithm, arguments.bonus = list(plan.algorithms), list(plan.weights)
    jobs = jobs_of(arguments, trials[0])
    reported = [job.seed for job in jobs if job.seed < 100]
    if reported:
        raise ConfigError(f"seed {reported[0]} is for reporting; tune on seeds 100 and above")
    check_place(arguments)
    for trial in trials:
        check_buildable(jobs, trial)
    for index, trial in enumerate(trials):
        store = Store(_folder(arguments.output, index), trial, Row)
        done = {row.job for row in store.load()}
        run_missing([job for job in jobs if job not in done], trial, store, arguments)
        del store  # its lock too: the next lines open the folder again
    markdown = to_markdown(measured(arguments.output, trials), plan.algorithms)
    write_atomically(arguments.output / "table.md", markdown.encode())
    print(markdown)
    print(f"rows and table are in {arguments.output}", file=sys.stderr)
    return 0


def measured(folder: Path, trials: Sequence[TableSettings]) -> dict[tuple[str, str], Trials]:
    """What the trials in a folder came to, by (task, bonus).

    Raises:
        ConfigError: they were made with other settings.
    """
    cells: dict[tuple[str, str], Trials] = {}
    for index, trial in enumerate(trials):
        rows = Store(_folder(folder, index), trial, Row).load()
        for (task, algorithm, bonus), cell in cells_of(rows, trial.evaluations).items():
            weight = trial.bonuses[task][bonus]["weight"]
            cells.setdefault((task, bonus), {}).setdefault(weight, {})[algorithm] = cell
    return cells


def _folder(output: Path, index: int) -> Path:
    return output / f"trial_{index}"


def choose(trials: Trials) -> float:
    """The weight that the rule above takes."""
    return min(trials, key=lambda weight: (-average(trials[weight].values()), weight))


def average(cells: Iterable[Cell]) -> float:
    """Mean return over all evaluations, seeds and learners."""
    return float(np.mean([cell.returns.mean() for cell in cells]))


def to_markdown(cells: Mapping[tuple[str, str], Trials], algorithms: Sequence[str]) -> str:
    """A row per task, bonus and weight, a column per learner; the chosen weight is bold."""
    head = ["task", "bonus", "weight", "average", *algorithms, "seeds"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for (task, bonus), trials in cells.items():
        chosen = choose(trials)
        for weight, learners in sorted(trials.items()):
            fields = [
                task,
                bonus,
                f"**{weight:g}**" if weight == chosen else f"{weight:g}",
                f"{average(learners.values()):.1f}",
                *(_measured_text(learners[name]) for name in algorithms),
                str(min(len(cell.returns) for cell in learners.values())),
            ]
            lines.append("| " + " | ".join(fields) + " |")
    explained = "Per learner: mean return of all evaluations; of the last tenth of the budget."
    return "\n".join([explained, "", *lines, ""])


def _measured_text(cell: Cell) -> str:
    return f"{cell.returns.mean():.1f}; {cell.scores().mean():.1f}"
