"""`bayes-curiosity experiment curves`: run what is missing, then table, figures and films."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

from bayes_curiosity_ros.experiments.curves.analysis import MEASURES, Curves, curves_of
from bayes_curiosity_ros.experiments.curves.table import to_markdown
from bayes_curiosity_ros.experiments.engine.arguments import add_experiment_arguments
from bayes_curiosity_ros.experiments.engine.jobs import LONG_WINDOW, WINDOW, Cell
from bayes_curiosity_ros.experiments.engine.running import chosen_settings, run_missing
from bayes_curiosity_ros.experiments.engine.store import all_rows
from bayes_curiosity_ros.files import write_atomically


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `bayes-curiosity experiment curves`."""
    add_experiment_arguments(parser, "curves.yaml", "output/curves", "0-4")
    parser.add_argument("--no-videos", action="store_true", help="leave out the films")


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, then report on all that is in the folder."""
    work = run_missing(chosen_settings(arguments), arguments)
    by_window = write_table(arguments.output)
    if not arguments.no_plots:
        write_figures(by_window, arguments.output)
    if not arguments.no_videos:
        from bayes_curiosity_ros.experiments.curves.films import film_best

        film_best(by_window[LONG_WINDOW], work)
    print(f"rows, table, figures and films are in {arguments.output}", file=sys.stderr)
    return 0


def write_table(
    folder: Path, cells: Collection[Cell] | None = None, claims: bool = True
) -> dict[int, Curves]:
    """Write and print table.md.

    Args:
        folder: of rows and table.
        cells: what the table is about; None for all that is in the folder.
        claims: put the paper's claims to it.

    Returns:
        The curves, by the number of episodes that they are judged over.
    """
    rows = [row for row in all_rows(folder) if cells is None or row.cell in cells]
    by_window: dict[int, Curves] = {window: curves_of(rows, window) for window in MEASURES}
    markdown = to_markdown(by_window, claims)
    write_atomically(folder / "table.md", markdown.encode())
    print(markdown)
    return by_window


def write_figures(by_window: Mapping[int, Curves], folder: Path) -> None:
    """The paper's figure, judged over many episodes, and over as few as the paper's."""
    from bayes_curiosity_ros.experiments.curves.plots import plot_paper

    plot_paper(by_window[LONG_WINDOW], folder / "curves.png")
    plot_paper(by_window[WINDOW], folder / f"curves_{WINDOW}.png")
