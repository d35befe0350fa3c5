"""The paper's Table I: every task, learner, method and seed, or any slice of them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.experiments.engine.arguments import add_experiment_arguments
from bayes_curiosity_ros.experiments.engine.store import ROWS, all_rows
from bayes_curiosity_ros.experiments.table1 import comparison
from bayes_curiosity_ros.experiments.table1.analysis import Cells, cells_of
from bayes_curiosity_ros.experiments.table1.table import to_markdown
from bayes_curiosity_ros.files import write_atomically


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `bayes-curiosity experiment table1`."""
    add_experiment_arguments(parser, "table1.yaml", "output/table1", "0-9", together=10)
    parser.add_argument(
        "--against",
        type=Path,
        metavar="FOLDER",
        help="results whose curiosity the methods are compared with, in comparison.md",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, then write the table and the figures of all that is in the folder."""
    # Here, as it brings what only the arm needs.
    from bayes_curiosity_ros.experiments.engine.running import chosen_settings, run_missing

    settings = chosen_settings(arguments)
    if arguments.against is not None:
        _require_rows(arguments.against)
    run_missing(settings, arguments, keep_checkpoints=False)
    cells = write_table(arguments.output, settings.points)
    if arguments.against is not None:
        table = cells_of(all_rows(arguments.against), settings.points)
        _write(arguments.output / "comparison.md", comparison.to_markdown(cells, table))
    if not arguments.no_plots:
        from bayes_curiosity_ros.experiments.table1.plots import plot_curves

        plot_curves(cells, arguments.output)
    print(f"rows, table and figures are in {arguments.output}", file=sys.stderr)
    return 0


def write_table(folder: Path, points: int) -> Cells:
    """Write and print table.md of all rows in the folder; what came of each cell."""
    cells = cells_of(all_rows(folder), points)
    _write(folder / "table.md", to_markdown(cells))
    return cells


def _require_rows(folder: Path) -> None:
    if not (folder / ROWS).exists():
        raise ConfigError(f"--against {folder} has no {ROWS}; name a folder with results")


def _write(path: Path, markdown: str) -> None:
    write_atomically(path, markdown.encode())
    print(markdown)
