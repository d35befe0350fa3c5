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
from typing import Any, Generic, Protocol, TypeVar

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.files import write_atomically

PARSERS = {"int": int, "float": float, "str": str}


class StoredRow(Protocol):
    """A dataclass of numbers and strings: where one run stood at one time."""

    @property
    def job(self) -> Any:
        """The run that it belongs to."""
        ...

    @property
    def timesteps(self) -> int:
        """Of training, so far."""
        ...


class Settings(Protocol):
    """What rows depend on."""

    def fingerprint(self) -> str:
        """Equal for equal settings; stored beside the rows."""
        ...

    def budget(self, job: Any) -> int | None:
        """Timesteps at which a job is finished; None for one that is not of these settings."""
        ...


RowT = TypeVar("RowT", bound=StoredRow)


class Store(Generic[RowT]):
    """A folder with `rows.csv` and the `settings.json` that its rows were made with."""

    def __init__(self, folder: Path, settings: Settings, row_type: type[RowT]) -> None:
        """Open or make the folder.

        Args:
            folder: where.
            settings: of the rows.
            row_type: the dataclass whose fields are the columns.

        Raises:
            ConfigError: it cannot be written, holds rows of other settings, or another process
                is writing to it.
        """
        self.folder = folder
        self.path = folder / "rows.csv"
        self.settings = settings
        self.row_type = row_type
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

    def load(self) -> list[RowT]:
        """The rows of finished jobs; what an interruption left half written is dropped."""
        if not self.path.exists():
            return []
        rows = list(
            {(row.job, row.timesteps): row for row in read_rows(self.path, self.row_type)}.values()
        )
        by_job: dict[Any, list[RowT]] = defaultdict(list)
        for row in rows:
            by_job[row.job].append(row)
        whole = {job for job, mine in by_job.items() if self._finished(job, mine)}
        kept = [row for row in rows if row.job in whole]
        write_atomically(self.path, self._to_csv(kept, header=True).encode())
        return kept

    def append(self, rows: Iterable[RowT]) -> None:
        """Add a finished job's rows, synced to disk."""
        text = self._to_csv(rows, header=not self.path.exists())
        with self.path.open("a", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    def _finished(self, job: Any, rows: list[RowT]) -> bool:
        budget = self.settings.budget(job)
        return budget is not None and max(row.timesteps for row in rows) >= budget

    def _to_csv(self, rows: Iterable[RowT], header: bool) -> str:
        buffer = io.StringIO()
        columns = [field.name for field in dataclasses.fields(self.row_type)]  # type: ignore[arg-type]
        writer = csv.DictWriter(buffer, columns, lineterminator="\n")
        if header:
            writer.writeheader()
        writer.writerows(dataclasses.asdict(row) for row in rows)  # type: ignore[call-overload]
        return buffer.getvalue()


def read_rows(path: Path, row_type: type[RowT]) -> list[RowT]:
    """Every whole line of a CSV file; half a line is left out."""
    with path.open(newline="") as file:
        return [row for raw in csv.DictReader(file) if (row := _parse(raw, row_type)) is not None]


def _parse(raw: dict[str, str], row_type: type[RowT]) -> RowT | None:
    fields = dataclasses.fields(row_type)  # type: ignore[arg-type]
    try:
        return row_type(
            **{field.name: PARSERS[str(field.type)](raw[field.name]) for field in fields}
        )
    except (KeyError, TypeError, ValueError):
        return None
