"""`bayes-curiosity experiment NAME`: the paper's experiments."""

from __future__ import annotations

import argparse

from bayes_curiosity_ros.experiments import table1, tune


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One sub-subcommand per experiment."""
    experiments = parser.add_subparsers(dest="experiment", required=True, metavar="EXPERIMENT")
    table = experiments.add_parser(
        "table1",
        help="sparse classic control: 4 tasks, 3 learners, 4 bonuses",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    table1.add_arguments(table)
    table.set_defaults(run_experiment=table1.run)
    tuning = experiments.add_parser(
        "tune",
        help="the weights of the table's bonuses, on seeds it does not report",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    tune.add_arguments(tuning)
    tuning.set_defaults(run_experiment=tune.run)


def run(arguments: argparse.Namespace) -> int:
    """Run the chosen experiment."""
    return int(arguments.run_experiment(arguments))
