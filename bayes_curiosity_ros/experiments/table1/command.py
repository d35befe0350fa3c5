"""The paper's Table I: every task, learner, method and seed, or any slice of them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bayes_curiosity_ros.experiments.engine.arguments import add_experiment_arguments
from bayes_curiosity_ros.experiments.engine.store import all_rows
from bayes_curiosity_ros.experiments.table1.analysis import Cells, cells_of
from bayes_curiosity_ros.experiments.table1.table import to_markdown
from bayes_curiosity_ros.files import write_atomically


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `bayes-curiosity experiment table1`."""
    add_experiment_arguments(parser, "table1.yaml", "output/table1", "0-9", together=10)


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, then write the table and the figures of all that is in the folder."""
    # Here, as it brings what only the arm needs.
    from bayes_curiosity_ros.experiments.engine.running import chosen_settings, run_missing

    settings = chosen_settings(arguments)
    run_missing(settings, arguments, keep_checkpoints=False)
    cells = write_table(arguments.output, settings.points)
    if not arguments.no_plots:
        from bayes_curiosity_ros.experiments.table1.plots import plot_curves

        plot_curves(cells, arguments.output)
    print(f"rows, table and figures are in {arguments.output}", file=sys.stderr)
    return 0


def write_table(folder: Path, points: int) -> Cells:
    """Write and print table.md of all rows in the folder; what came of each cell."""
    cells = cells_of(all_rows(folder), points)
    markdown = to_markdown(cells)
    write_atomically(folder / "table.md", markdown.encode())
    print(markdown)
    return cells
