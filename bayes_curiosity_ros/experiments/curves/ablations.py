"""`bayes-curiosity experiment ablations`: what each part of the method is worth."""

from __future__ import annotations

import argparse
import sys

from bayes_curiosity_ros.experiments.curves.command import write_table
from bayes_curiosity_ros.experiments.engine.arguments import add_experiment_arguments
from bayes_curiosity_ros.experiments.engine.jobs import LONG_WINDOW
from bayes_curiosity_ros.experiments.engine.running import chosen_settings, run_missing
from bayes_curiosity_ros.experiments.engine.settings import load_settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    add_experiment_arguments(parser, "ablations.yaml", "output/ablations", "0-4")


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, then table and figure of the file's methods."""
    run_missing(chosen_settings(arguments), arguments)
    settings = load_settings(arguments.config)
    by_window = write_table(arguments.output, settings.cells(), claims=False)
    if not arguments.no_plots:
        from bayes_curiosity_ros.experiments.curves.plots import plot_panels

        plot_panels(by_window[LONG_WINDOW], settings.panels, arguments.output / "ablations.png")
    print(f"rows, table and figure are in {arguments.output}", file=sys.stderr)
    return 0
