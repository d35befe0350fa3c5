"""`bayes-curiosity experiment memory`: SAC with demonstrations in its memory, and curiosity."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from bayes_curiosity_ros.experiments.engine.arguments import add_experiment_arguments
from bayes_curiosity_ros.experiments.engine.jobs import Cell
from bayes_curiosity_ros.experiments.engine.report import Report, run_and_report
from bayes_curiosity_ros.experiments.memory.analysis import Evaluations, evaluations_of
from bayes_curiosity_ros.experiments.memory.table import to_markdown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    add_experiment_arguments(parser, "memory.yaml", "output/memory", "0-9")


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, then report on all that is in the folder."""
    return run_and_report(arguments, REPORT)


def _plot(cells: Mapping[Cell, Evaluations], path: Path) -> None:
    # Here, as matplotlib takes a while.
    from bayes_curiosity_ros.experiments.engine.plots import plot_successes

    plot_successes(cells, path, "success rate without noise")


REPORT = Report(evaluations_of, to_markdown, _plot, "memory.png")
