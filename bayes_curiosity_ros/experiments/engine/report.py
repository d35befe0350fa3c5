"""What most experiments do: run what is missing, then a table and a figure of all there is."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from bayes_curiosity_ros.experiments.engine.jobs import Row
from bayes_curiosity_ros.experiments.engine.running import chosen_settings, run_missing
from bayes_curiosity_ros.experiments.engine.store import all_rows
from bayes_curiosity_ros.files import write_atomically

Cells = TypeVar("Cells")


@dataclass(frozen=True)
class Report(Generic[Cells]):
    """What is made of an experiment's rows.

    Attributes:
        cells_of: from rows to what the table and the figure are made of.
        to_markdown: the table.
        plot: draws the figure at a path.
        figure: name of that file.
    """

    cells_of: Callable[[Iterable[Row]], Cells]
    to_markdown: Callable[[Cells], str]
    plot: Callable[[Cells, Path], None]
    figure: str

    def write(self, folder: Path, plots: bool = True) -> None:
        """Write and print the table of all rows in a folder, and draw the figure if wanted."""
        cells = self.cells_of(all_rows(folder))
        markdown = self.to_markdown(cells)
        write_atomically(folder / "table.md", markdown.encode())
        print(markdown)
        if plots:
            self.plot(cells, folder / self.figure)
        print(f"rows, table and figure are in {folder}", file=sys.stderr)


def run_and_report(arguments: argparse.Namespace, report: Report[Cells]) -> int:
    """Run what is missing, then report on all that is in the folder.

    Args:
        arguments: those of `add_experiment_arguments`.
        report: what is made of the rows.
    """
    run_missing(chosen_settings(arguments), arguments, keep_checkpoints=False)
    report.write(arguments.output, not arguments.no_plots)
    return 0
