"""`bayes-curiosity experiment memory`: SAC with demonstrations in its memory, and curiosity."""

from __future__ import annotations

import argparse
import sys

from bayes_curiosity_ros.experiments.engine.arguments import add_experiment_arguments
from bayes_curiosity_ros.experiments.engine.running import chosen_settings, run_missing
from bayes_curiosity_ros.experiments.engine.store import all_rows
from bayes_curiosity_ros.experiments.memory.analysis import evaluations_of
from bayes_curiosity_ros.experiments.memory.table import to_markdown
from bayes_curiosity_ros.files import write_atomically


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    add_experiment_arguments(parser, "memory.yaml", "output/memory", "0-9")


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, then report on all that is in the folder."""
    settings = chosen_settings(arguments)
    run_missing(settings, arguments, keep_checkpoints=False)
    cells = evaluations_of(all_rows(arguments.output))
    markdown = to_markdown(cells)
    write_atomically(arguments.output / "table.md", markdown.encode())
    print(markdown)
    if not arguments.no_plots:
        from bayes_curiosity_ros.experiments.memory.plots import plot

        plot(cells, arguments.output / "memory.png")
    print(f"rows, table and figure are in {arguments.output}", file=sys.stderr)
    return 0
