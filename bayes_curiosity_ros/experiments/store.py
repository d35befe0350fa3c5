"""Rows on disk: a CSV that an interruption cannot spoil."""

from __future__ import annotations

import csv
import dataclasses
import fcntl
import io
import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.experiments.jobs import Job, Row
from bayes_curiosity_ros.experiments.settings import TableSettings
from bayes_curiosity_ros.files import write_atomically

COLUMNS = [field.name for field in dataclasses.fields(Row)]
PARSERS = {"int": int, "float": float, "str": str}


class Store:
    """A folder with `rows.csv` and the `settings.json` that its rows were made with."""

    def __init__(self, folder: Path, settings: TableSettings) -> None:
        """Open or make the folder.

        Raises:
            ConfigError: it cannot be written, holds rows of other settings, or another process
                is writing to it.
        """
        self.folder = folder
        self.path = folder / "rows.csv"
        self.settings = settings
        fingerprint = settings.fingerprint()
        stored = folder / "settings.json"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not stored.exists():
                write_atomically(stored, fingerprint.encode())
            elif not os.access(folder, os.W_OK):
                raise PermissionError(13, "Permission denied")
        except OSError as error:
            raise ConfigError(f"cannot write to {folder}: {error.strerror}") from None
        self._lock = self._claim()
        if stored.read_text() != fingerprint:
            raise ConfigError(
                f"{folder} holds results of other settings; choose another --output, "
                "or remove it to start again"
            )

    def _claim(self) -> io.TextIOWrapper:
        """Hold the folder until this process ends; two writers would do every job twice."""
        lock = (self.folder / ".lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(f"another process is writing to {self.folder}") from None
        return lock

    def load(self) -> list[Row]:
        """The rows of finished jobs; what an interruption left half written is dropped."""
        if not self.path.exists():
            return []
        with self.path.open(newline="") as file:
            parsed = [row for raw in csv.DictReader(file) if (row := _parse(raw)) is not None]
        rows = list({(row.job, row.timesteps): row for row in parsed}.values())
        by_job: dict[Job, list[Row]] = defaultdict(list)
        for row in rows:
            by_job[row.job].append(row)
        whole = {job for job, mine in by_job.items() if self._finished(job, mine)}
        kept = [row for row in rows if row.job in whole]
        write_atomically(self.path, _to_csv(kept, header=True).encode())
        return kept

    def append(self, rows: Iterable[Row]) -> None:
        """Add a finished job's rows, synced to disk."""
        text = _to_csv(rows, header=not self.path.exists())
        with self.path.open("a", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    def _finished(self, job: Job, rows: list[Row]) -> bool:
        cell = self.settings.cells.get(job.task, {}).get(job.algorithm)
        return cell is not None and max(row.timesteps for row in rows) >= cell.timesteps


def _parse(raw: dict[str, str]) -> Row | None:
    try:
        return Row(
            **{
                field.name: PARSERS[str(field.type)](raw[field.name])
                for field in dataclasses.fields(Row)
            }
        )
    except (KeyError, TypeError, ValueError):
        return None


def _to_csv(rows: Iterable[Row], header: bool) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(dataclasses.asdict(row) for row in rows)
    return buffer.getvalue()
