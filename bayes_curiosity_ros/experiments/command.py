"""`bayes-curiosity experiment NAME`: the paper's experiments."""

from __future__ import annotations

import argparse
import importlib
from typing import Any

# name: (module with `add_arguments(parser)` and `run(arguments) -> int`, one-line help)
EXPERIMENTS: dict[str, tuple[str, str]] = {
    "table1": (
        "bayes_curiosity_ros.experiments.table1.command",
        "sparse classic control: 4 tasks, 3 learners, 4 bonuses",
    ),
    "tune": (
        "bayes_curiosity_ros.experiments.table1.tune",
        "the weights of the table's bonuses, on seeds it does not report",
    ),
    "curves": (
        "bayes_curiosity_ros.experiments.curves.command",
        "the arm's learning curves: reach and grasp, from coordinates and from images",
    ),
    "arm": (
        "bayes_curiosity_ros.experiments.arm.command",
        "the arm's own learning curve: reach with curiosity and RND, over ROS",
    ),
    "ablations": (
        "bayes_curiosity_ros.experiments.curves.ablations",
        "curiosity on Cartesian grasp, one part changed at a time",
    ),
}


class LateParser(argparse.ArgumentParser):
    """Learns an experiment's options when it is chosen: Table I needs no MuJoCo."""

    module = ""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        importlib.import_module(self.module).add_arguments(self)
        return super().parse_known_args(args, namespace)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One sub-subcommand per experiment."""
    experiments = parser.add_subparsers(
        dest="experiment", required=True, metavar="EXPERIMENT", parser_class=LateParser
    )
    for name, (module, summary) in EXPERIMENTS.items():
        experiment = experiments.add_parser(
            name,
            help=summary,
            description=summary,
            formatter_class=parser.formatter_class,
        )
        experiment.module = module


def run(arguments: argparse.Namespace) -> int:
    """Run the chosen experiment."""
    return int(importlib.import_module(EXPERIMENTS[arguments.experiment][0]).run(arguments))
