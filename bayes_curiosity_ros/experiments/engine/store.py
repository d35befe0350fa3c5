"""Rows on disk: a CSV that an interruption cannot spoil, and the settings it was made with."""

from __future__ import annotations

import csv
import dataclasses
import fcntl
import io
import json
import os
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.experiments.engine.jobs import Cell, Job, Row
from bayes_curiosity_ros.files import write_atomically

ROWS, SETTINGS, LOCK = "rows.csv", "settings.json", ".lock"
PARSERS = {"int": int, "float": float, "str": str}
COLUMNS = [field.name for field in dataclasses.fields(Row)]


class StoredSettings(Protocol):
    """What the rows of one cell depend on, but for the seed."""

    @property
    def timesteps(self) -> int:
        """Budget of a run, at which it is finished."""
        ...

    def fingerprint(self) -> dict[str, Any]:
        """Settings as plain values, stored beside the rows; equal for equal settings."""
        ...


class Store:
    """A folder with `rows.csv`, and `settings.json` with what each cell's rows were made with.

    Processes may add rows of different cells to one folder at the same time; a cell has one
    writer.

    Args:
        folder: made if it is not there.
        cells: settings of the cells to be written.

    Raises:
        ConfigError: the folder cannot be written, holds rows of other settings, or another
            process is writing to one of these cells.
    """

    def __init__(self, folder: Path, cells: Mapping[Cell, StoredSettings]) -> None:
        self.folder = folder
        self.cells = cells
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not os.access(folder, os.W_OK):
                raise PermissionError(13, "Permission denied")
            self._claims = [self._claim(cell) for cell in cells]
            self._check_settings()
        except OSError as error:
            raise ConfigError(f"cannot write to {folder}: {error.strerror}") from None

    def load(self) -> list[Row]:
        """Rows of the cells' finished jobs; what an interruption left half written is dropped."""
        with locked(self.folder):
            path = self.folder / ROWS
            if not path.exists():
                return []
            rows = list({(row.job, row.timesteps): row for row in read_rows(path)}.values())
            by_job: dict[Job, list[Row]] = defaultdict(list)
            for row in rows:
                by_job[row.job].append(row)
            whole = {job for job, mine in by_job.items() if self._finished(job, mine)}
            kept = [row for row in rows if row.job in whole]
            write_atomically(path, to_csv(kept, header=True).encode())
        return [row for row in kept if row.cell in self.cells]

    def append(self, rows: Iterable[Row]) -> None:
        """Add a finished job's rows, synced to disk."""
        path = self.folder / ROWS
        with locked(self.folder), path.open("a", newline="") as file:
            if not _ends_with_a_line(path):  # another process crashed while it wrote
                file.write("\n")
            file.write(to_csv(rows, header=file.tell() == 0))
            file.flush()
            os.fsync(file.fileno())

    def _finished(self, job: Job, rows: list[Row]) -> bool:
        """Whether a job is whole; those of other cells are somebody else's business."""
        settings = self.cells.get(job.cell)
        return settings is None or max(row.timesteps for row in rows) >= settings.timesteps

    def _claim(self, cell: Cell) -> io.TextIOWrapper:
        """Hold a cell until this process ends; two writers would do every job twice."""
        path = cell.within(self.folder)
        path.mkdir(parents=True, exist_ok=True)
        lock = (path / LOCK).open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(f"another process is writing to {self.folder}: {cell}") from None
        return lock

    def _check_settings(self) -> None:
        with locked(self.folder):
            stored = read_settings(self.folder)
            mine = {str(c): _as_json(settings.fingerprint()) for c, settings in self.cells.items()}
            for cell, settings in mine.items():
                if stored.get(cell, settings) != settings:
                    raise ConfigError(
                        f"{self.folder} ({cell}) holds results of other settings; choose another "
                        "--output, or remove it to start again"
                    )
            if mine.keys() - stored.keys():
                write_atomically(self.folder / SETTINGS, settings_to_json(stored | mine).encode())


def all_rows(folder: Path) -> list[Row]:
    """The rows of every cell in a folder, whenever they were made; cells in their stored order."""
    place = {cell: index for index, cell in enumerate(read_settings(folder))}
    rows = read_rows(folder / ROWS) if (folder / ROWS).exists() else []
    return sorted(rows, key=lambda row: place.get(str(row.cell), len(place)))


def read_settings(folder: Path) -> dict[str, Any]:
    """Settings of the cells in a folder, by the cell's name; empty where there are none."""
    path = folder / SETTINGS
    return json.loads(path.read_text()) if path.exists() else {}


def settings_to_json(settings: Mapping[str, Any]) -> str:
    """A line per cell."""
    lines = [f"{json.dumps(c)}: {json.dumps(s, sort_keys=True)}" for c, s in settings.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read_rows(path: Path) -> list[Row]:
    """Every whole line of a CSV file; half a line is left out."""
    with path.open(newline="") as file:
        return [row for raw in csv.DictReader(file) if (row := _parse(raw)) is not None]


def to_csv(rows: Iterable[Row], header: bool) -> str:
    """Rows as lines of a CSV file."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(dataclasses.asdict(row) for row in rows)
    return buffer.getvalue()


@contextmanager
def locked(folder: Path) -> Generator[None, None, None]:
    """Have a folder's files to oneself for a moment."""
    with (folder / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _ends_with_a_line(path: Path) -> bool:
    text = path.read_bytes()
    return not text or text.endswith(b"\n")


def _as_json(value: Any) -> Any:
    """A value as it comes back from a JSON file: tuples as lists."""
    return json.loads(json.dumps(value))


def _parse(raw: dict[str, str]) -> Row | None:
    fields = dataclasses.fields(Row)
    try:
        return Row(**{field.name: PARSERS[str(field.type)](raw[field.name]) for field in fields})
    except (KeyError, TypeError, ValueError):
        return None
