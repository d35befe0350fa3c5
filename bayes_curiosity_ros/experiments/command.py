"""`bayes-curiosity experiment NAME`: the paper's experiments."""

from __future__ import annotations

import argparse
from types import ModuleType

from bayes_curiosity_ros.experiments import table1
from bayes_curiosity_ros.experiments.curves import ablations
from bayes_curiosity_ros.experiments.curves import command as curves

# name: (module with `add_arguments(parser)` and `run(arguments) -> int`, one-line help)
EXPERIMENTS: dict[str, tuple[ModuleType, str]] = {
    "table1": (table1, "sparse classic control: 4 tasks, 3 learners, 4 bonuses"),
    "curves": (curves, "the arm's learning curves: reach and grasp, 4 bonuses"),
    "ablations": (ablations, "curiosity on Cartesian grasp, one part changed at a time"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One sub-subcommand per experiment."""
    experiments = parser.add_subparsers(dest="experiment", required=True, metavar="EXPERIMENT")
    for name, (module, summary) in EXPERIMENTS.items():
        experiment = experiments.add_parser(
            name,
            help=summary,
            description=summary,
            formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        )
        module.add_arguments(experiment)
        experiment.set_defaults(run_experiment=module.run)


def run(arguments: argparse.Namespace) -> int:
    """Run the chosen experiment."""
    return int(arguments.run_experiment(arguments))
