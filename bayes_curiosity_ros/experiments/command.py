"""`bayes-curiosity experiment NAME`: the paper's experiments."""

from __future__ import annotations

import argparse

from bayes_curiosity_ros.experiments import table1
from bayes_curiosity_ros.experiments.curves import command as curves


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
    curve = experiments.add_parser(
        "curves",
        help="the arm's learning curves: reach and grasp, 4 bonuses",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    curves.add_arguments(curve)
    curve.set_defaults(run_experiment=curves.run)


def run(arguments: argparse.Namespace) -> int:
    """Run the chosen experiment."""
    return int(arguments.run_experiment(arguments))
