"""`bayes-curiosity experiment ablations`: what each part of the method is worth."""

from __future__ import annotations

import argparse
import sys

from bayes_curiosity_ros.experiments.curves.command import (
    add_shared_arguments,
    run_missing,
    write_table,
)
from bayes_curiosity_ros.experiments.curves.jobs import LONG_WINDOW
from bayes_curiosity_ros.experiments.curves.settings import load_ablations
from bayes_curiosity_ros.experiments.engine.running import add_files_arguments, chosen
from bayes_curiosity_ros.resources import find


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("--variant", nargs="+", metavar="NAME", help="only these variants")
    add_files_arguments(parser, find("config/experiments", "ablations.yaml"), "output/ablations")
    add_shared_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, then table and figure."""
    settings = load_ablations(arguments.config)
    (task,) = settings.tasks
    variants = chosen("variant", arguments.variant, tuple(settings.methods[task]))
    run_missing(settings, [task], variants, arguments)
    curves = write_table(arguments.output, claims=False)[LONG_WINDOW]
    if not arguments.no_plots:
        from bayes_curiosity_ros.experiments.curves.plots import plot_panels

        plot_panels(curves, task, settings.panels, arguments.output / "ablations.png")
    print(f"rows, table and figure are in {arguments.output}", file=sys.stderr)
    return 0
