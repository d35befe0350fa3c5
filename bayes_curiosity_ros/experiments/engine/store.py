"""Rows on disk: a CSV that an interruption cannot spoil, and the settings it was made with."""

from __future__ import annotations

import dataclasses
import json
import os
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from bayes_curiosity_ros import csv_files
from bayes_curiosity_ros.errors import ConfigError, DamagedFileError
from bayes_curiosity_ros.experiments.engine.jobs import Cell, Job, Row
from bayes_curiosity_ros.failures import remedy_of
from bayes_curiosity_ros.files import (
    ROOM,
    is_sealed,
    read_file,
    reason_of,
    sealed,
    write_atomically,
)
from bayes_curiosity_ros.locks import LOCK, FolderLock, locked

ROWS, SETTINGS = "rows.csv", "settings.json"
END = "rows.end"  # how long the rows' file is at least, and the checksum of so much of it
CHECKSUM = "checksum"  # entry of the settings that is none of a cell
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
            # Until this process ends: two writers would do every job twice.
            self._claims = [FolderLock(cell.within(folder)) for cell in cells]
            self._check_settings()
        except OSError as error:
            raise ConfigError(f"cannot write to {folder}: {remedy_of(error)}") from None

    def load(self) -> list[Row]:
        """Rows of the cells' finished jobs; what an interruption left half written is dropped."""
        with locked(self.folder / LOCK):
            path = self.folder / ROWS
            if not path.exists():
                return []
            rows = list({(row.job, row.timesteps): row for row in read_rows(path)}.values())
            by_job: dict[Job, list[Row]] = defaultdict(list)
            for row in rows:
                by_job[row.job].append(row)
            whole = {job for job, mine in by_job.items() if self._finished(job, mine)}
            kept = [row for row in rows if row.job in whole]
            path.with_name(END).unlink(missing_ok=True)  # it is no longer the end of this
            write_atomically(path, to_csv(kept, header=True).encode())
            note_end(path)
        return [row for row in kept if row.cell in self.cells]

    def append(self, rows: Iterable[Row]) -> None:
        """Add a finished job's rows, synced to disk."""
        path = self.folder / ROWS
        with locked(self.folder / LOCK), path.open("a", newline="") as file:
            file.truncate(_whole_lines(path))  # another process may have crashed while it wrote
            file.write(to_csv(rows, header=file.tell() == 0))
            file.flush()
            os.fsync(file.fileno())
            note_end(path)

    def _finished(self, job: Job, rows: list[Row]) -> bool:
        """Whether a job is whole; those of other cells are somebody else's business."""
        settings = self.cells.get(job.cell)
        return settings is None or max(row.timesteps for row in rows) >= settings.timesteps

    def _check_settings(self) -> None:
        with locked(self.folder / LOCK):
            stored = read_settings(self.folder)
            mine = {str(c): _as_json(settings.fingerprint()) for c, settings in self.cells.items()}
            for cell, settings in mine.items():
                if stored.get(cell, settings) != settings:
                    raise ConfigError(
                        f"{self.folder} ({cell}) holds results of other settings; choose another "
                        "--output, or remove it to start again"
                    )
            if mine.keys() - stored.keys():
                text = settings_to_json(stored | mine | {CHECKSUM: ROOM.decode()})
                write_atomically(self.folder / SETTINGS, sealed(text.encode()))


def all_rows(folder: Path) -> list[Row]:
    """The rows of every cell in a folder, whenever they were made; cells in their stored order."""
    place = {cell: index for index, cell in enumerate(read_settings(folder))}
    rows = read_rows(folder / ROWS) if (folder / ROWS).exists() else []
    return sorted(rows, key=lambda row: place.get(str(row.cell), len(place)))


def read_settings(folder: Path) -> dict[str, Any]:
    """Settings of the cells in a folder, by the cell's name; empty where there are none.

    Raises:
        DamagedFileError: they are not as they were written.
    """
    path = folder / SETTINGS
    if not path.exists():
        return {}
    data = read_file(path)
    checked = is_sealed(path, data)
    try:
        settings = dict(json.loads(data))
    except (TypeError, ValueError) as error:
        raise DamagedFileError(f"{path} is damaged or no JSON: {reason_of(error)}") from error
    if (settings.pop(CHECKSUM, None) is not None) != checked:
        raise DamagedFileError(f"{path} is damaged: its checksum is gone")
    return settings


def settings_to_json(settings: Mapping[str, Any]) -> str:
    """A line per cell."""
    lines = [f"{json.dumps(c)}: {json.dumps(s, sort_keys=True)}" for c, s in settings.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read_rows(path: Path) -> list[Row]:
    """Every row of a CSV file; half a last line is left out.

    Raises:
        DamagedFileError: there is none, or a line is not as it was written, or gone.
    """
    rows = csv_files.read_csv(path, COLUMNS, _parse)
    _require_end(path)
    return rows


def note_end(path: Path) -> None:
    """Remember how far the rows in a file go: lines that are gone later cannot say so."""
    data = path.read_bytes()
    write_atomically(path.with_name(END), f"{len(data)} {zlib.crc32(data)}\n".encode())


def _require_end(path: Path) -> None:
    """Refuse a file that has lost lines; one of which nothing was noted is taken as it is."""
    end = path.with_name(END)
    if path.name != ROWS or not end.exists():
        return
    try:
        size, checksum = map(int, read_file(end).split())
    except ValueError:
        size, checksum = -1, -1
    data = read_file(path)[: max(size, 0)]
    if (len(data), zlib.crc32(data)) != (size, checksum):
        raise DamagedFileError(
            f"{path} is damaged: lines are gone or changed that {END} beside it knows of. Take a "
            f"copy of both; or, if you changed it yourself, remove {END}"
        )


def to_csv(rows: Iterable[Row], header: bool) -> str:
    """Rows as lines of a CSV file."""
    return csv_files.to_csv(COLUMNS, map(dataclasses.astuple, rows), header)


def _whole_lines(path: Path) -> int:
    """Bytes of a file up to its last line's end."""
    return path.read_bytes().rfind(b"\n") + 1


def _as_json(value: Any) -> Any:
    """A value as it comes back from a JSON file: tuples as lists."""
    return json.loads(json.dumps(value))


def _parse(values: Mapping[str, str]) -> Row:
    fields = dataclasses.fields(Row)
    return Row(**{field.name: PARSERS[str(field.type)](values[field.name]) for field in fields})
