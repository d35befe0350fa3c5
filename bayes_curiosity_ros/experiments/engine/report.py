"""What most experiments do: run what is missing, then a table and a figure of all there is."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from bayes_curiosity_ros.experiments.engine.jobs import Row
from bayes_curiosity_ros.experiments.engine.running import chosen_settings, run_missing
from bayes_curiosity_ros.experiments.engine.store import all_rows
from bayes_curiosity_ros.files import write_atomically

Cells = TypeVar("Cells")


def run_and_report(
    arguments: argparse.Namespace,
    cells_of: Callable[[Iterable[Row]], Cells],
    to_markdown: Callable[[Cells], str],
    plot: Callable[[Cells, Path], None],
    figure: str,
) -> int:
    """Run what is missing, then report on all that is in the folder.

    Args:
        arguments: those of `add_experiment_arguments`.
        cells_of: from rows to what the table and the figure are made of.
        to_markdown: the table.
        plot: draws the figure at a path.
        figure: name of that file.
    """
    run_missing(chosen_settings(arguments), arguments, keep_checkpoints=False)
    cells = cells_of(all_rows(arguments.output))
    markdown = to_markdown(cells)
    write_atomically(arguments.output / "table.md", markdown.encode())
    print(markdown)
    if not arguments.no_plots:
        plot(cells, arguments.output / figure)
    print(f"rows, table and figure are in {arguments.output}", file=sys.stderr)
    return 0
