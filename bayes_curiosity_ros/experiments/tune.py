"""The bonuses' weights for Table I: the same trials for every bonus, and one rule to choose.

The rule, per task and bonus: take the weight with the highest median return over the tuning
seeds. Weights whose median is less than half that one's interquartile range below it (about a
standard error of a median of so few) count as equal; of equals, the one whose median first success
is earliest wins, then the smallest.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from bayes_curiosity_ros.errors import ConfigError, unknown_name
from bayes_curiosity_ros.experiments.analysis import Cell, cells_of
from bayes_curiosity_ros.experiments.jobs import Row
from bayes_curiosity_ros.experiments.running import (
    add_files_arguments,
    add_place_arguments,
    add_seeds_argument,
    check_place,
)
from bayes_curiosity_ros.experiments.settings import (
    ALGORITHMS,
    BONUSES,
    TableSettings,
    load_settings,
)
from bayes_curiosity_ros.experiments.store import Store
from bayes_curiosity_ros.experiments.table import quartiles_text, thousands
from bayes_curiosity_ros.experiments.table1 import check_buildable, jobs_of, run_missing
from bayes_curiosity_ros.files import write_atomically
from bayes_curiosity_ros.resources import find

TuningCells = dict[tuple[str, str], dict[float, Cell]]  # by (task, bonus), then weight


@dataclass(frozen=True)
class Plan:
    """What to try.

    Attributes:
        algorithm: the learner that all weights are tried with.
        weights: of each bonus, equally many.
    """

    algorithm: str
    weights: Mapping[str, Sequence[float]]

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise unknown_name("algorithm", self.algorithm, ALGORITHMS)
        for bonus in self.weights:
            if bonus not in BONUSES or bonus == "none":
                raise unknown_name("bonus", bonus, [name for name in BONUSES if name != "none"])
        counts = {bonus: len(values) for bonus, values in self.weights.items()}
        if len(set(counts.values())) != 1 or 0 in counts.values():
            raise ConfigError(f"weights has {counts} values; give every bonus equally many")

    def trials(self, settings: TableSettings) -> list[TableSettings]:
        """The table's settings, cut down to the learner, with the first weights, the second …"""
        return [
            self._trial(settings, index) for index in range(len(next(iter(self.weights.values()))))
        ]

    def _trial(self, settings: TableSettings, index: int) -> TableSettings:
        cells = {
            task: {self.algorithm: row[self.algorithm]} for task, row in settings.cells.items()
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
    try:
        raw = yaml.safe_load(path.read_text())
        weights = {bonus: [float(value) for value in row] for bonus, row in raw["weights"].items()}
        return Plan(str(raw["algorithm"]), weights)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML: {str(error).splitlines()[0]}") from None
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise ConfigError(f"{path} does not fit: {error!r}") from None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `bayes-curiosity experiment tune`."""
    table, trials = find("config", "table1.yaml"), find("config", "table1_tuning.yaml")
    parser.add_argument("--task", nargs="+", metavar="NAME", help="only these tasks")
    add_seeds_argument(parser, "100-102")
    add_files_arguments(parser, table, "output/tuning")
    parser.add_argument("--tuning", type=Path, default=trials, metavar="FILE", help="what to try")
    add_place_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the trials that are missing, then write what they came to and what to choose."""
    plan = load_plan(arguments.tuning)
    trials = plan.trials(load_settings(arguments.config))
    arguments.algorithm, arguments.bonus = [plan.algorithm], list(plan.weights)
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
    markdown = to_markdown(measured(arguments.output, trials), plan.algorithm)
    write_atomically(arguments.output / "table.md", markdown.encode())
    print(markdown)
    print(f"rows and table are in {arguments.output}", file=sys.stderr)
    return 0


def measured(folder: Path, trials: Sequence[TableSettings]) -> TuningCells:
    """What the trials in a folder came to.

    Raises:
        ConfigError: they were made with other settings.
    """
    cells: TuningCells = {}
    for index, trial in enumerate(trials):
        rows = Store(_folder(folder, index), trial, Row).load()
        for (task, _, bonus), cell in cells_of(rows, trial.evaluations).items():
            weight = trial.bonuses[task][bonus]["weight"]
            cells.setdefault((task, bonus), {})[weight] = cell
    return cells


def _folder(output: Path, index: int) -> Path:
    return output / f"trial_{index}"


def choose(cells: Mapping[float, Cell]) -> float:
    """The weight that the rule above takes."""
    best = max(cells.values(), key=lambda cell: cell.quartiles()[0])
    median, lower, upper = best.quartiles()
    floor = median - 0.5 * (upper - lower)
    equals = [weight for weight, cell in cells.items() if cell.quartiles()[0] >= floor]
    return min(equals, key=lambda weight: (cells[weight].median_first_success(), weight))


def to_markdown(cells: TuningCells, algorithm: str) -> str:
    """A row per task, bonus and weight; the chosen weight is bold."""
    head = f"| task, {algorithm} | bonus | weight | reward | first success | seeds |"
    lines = [head, "|---" * 6 + "|"]
    for (task, bonus), trials in cells.items():
        chosen = choose(trials)
        for weight, cell in sorted(trials.items()):
            fields = [
                task,
                bonus,
                f"**{weight:g}**" if weight == chosen else f"{weight:g}",
                quartiles_text(cell.quartiles()),
                thousands(cell.median_first_success()),
                str(len(cell.returns)),
            ]
            lines.append("| " + " | ".join(fields) + " |")
    return "\n".join([*lines, ""])
