"""`bayes-curiosity experiment exploration`: the arm parked aside, with every bonus and none."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from bayes_curiosity_ros.experiments.engine.arguments import add_experiment_arguments
from bayes_curiosity_ros.experiments.engine.jobs import Cell
from bayes_curiosity_ros.experiments.engine.report import Report, run_and_report
from bayes_curiosity_ros.experiments.engine.successes import Successes
from bayes_curiosity_ros.experiments.exploration.table import successes_of, to_markdown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    add_experiment_arguments(parser, "exploration.yaml", "output/exploration", "0-9")


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, then report on all that is in the folder."""
    return run_and_report(arguments, REPORT)


def _plot(cells: Mapping[Cell, Successes], path: Path) -> None:
    # Here, as matplotlib takes a while.
    from bayes_curiosity_ros.experiments.engine.plots import plot_successes

    plot_successes(cells, path, "success rate")


REPORT = Report(successes_of, to_markdown, _plot, "exploration.png")
