"""Trials of a campaign on disk: what was made is not made again."""

from __future__ import annotations

import csv
import dataclasses
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Trial:
    """One thing that was done to the stack, and what came of it.

    Attributes:
        part: part of the campaign.
        name: name of the trial, which no other of its part has.
        count: faults in it: kills, messages, damages.
        outcome: what came of it, in a word or two.
        seconds: how long it took, in [s].
        note: what a reader must know to judge it.
    """

    part: str
    name: str
    count: int
    outcome: str
    seconds: float = 0.0
    note: str = ""


COLUMNS = [field.name for field in dataclasses.fields(Trial)]


class Ledger:
    """A CSV file with a row per trial.

    Args:
        path: path of the file; made with the first trial.
        quiet: whether to say nothing of progress.
    """

    def __init__(self, path: Path, quiet: bool = False) -> None:
        self._path = path
        self._quiet = quiet
        self.trials = _read(path) if path.exists() else []

    def of(self, part: str) -> list[Trial]:
        """All trials of a part."""
        return [trial for trial in self.trials if trial.part == part]

    def has(self, part: str, name: str) -> bool:
        """Whether this trial was made already."""
        return any(trial.name == name for trial in self.of(part))

    def add(self, trial: Trial) -> None:
        """Keep one more trial."""
        self.trials.append(trial)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        begins = not self._path.exists()
        with self._path.open("a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            if begins:
                writer.writeheader()
            writer.writerow(dataclasses.asdict(trial))

    def work(
        self, part: str, jobs: Iterable[tuple[str, Callable[[], Trial]]], pause: int = 1
    ) -> list[Trial]:
        """Make the trials that are missing, and give all of this part.

        Args:
            part: part of the campaign.
            jobs: name of each trial, and what makes it.
            pause: trials between two lines about progress.
        """
        listed = list(jobs)
        for number, (name, make) in enumerate(listed, 1):
            if self.has(part, name):
                continue
            began = time.monotonic()
            trial = dataclasses.replace(make(), part=part, name=name)
            self.add(dataclasses.replace(trial, seconds=round(time.monotonic() - began, 2)))
            if number % pause == 0 or number == len(listed):
                self._say(f"{part} {number}/{len(listed)}  {name}: {trial.outcome}")
        return self.of(part)

    def _say(self, line: str) -> None:
        if self._quiet:
            return
        live = sys.stderr.isatty()
        print(f"\r\x1b[K{line}" if live else line, end="" if live else "\n", file=sys.stderr)
        sys.stderr.flush()


def _read(path: Path) -> list[Trial]:
    """Every whole row of the file."""
    with path.open(newline="") as file:
        return [
            Trial(
                row["part"],
                row["name"],
                int(row["count"]),
                row["outcome"],
                float(row["seconds"]),
                row["note"],
            )
            for row in csv.DictReader(file)
            if row.get("note") is not None
        ]
