"""Rows that are only ever appended: the newest in memory, and on disk in files that grow.

A checkpoint of a memory of 100 MB that is written every minute must not write 100 MB. What is new
since the last one is appended to a file beside it, the checkpoint says how far the file goes and
what its checksum is up to there. Both generations of a checkpoint share the files: each counts on
a beginning of them, which never changes. Files of which no row is kept any more are removed.
"""

from __future__ import annotations

import os
import zlib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bayes_curiosity_ros.errors import DamagedFileError
from bayes_curiosity_ros.files import read_file

SEGMENT_ROWS = 32_768  # of one file


@dataclass(frozen=True)
class Segment:
    """One file of rows.

    Attributes:
        first: number of its first row, counted from the first one ever appended.
        rows: how many rows it holds; what is behind them does not count.
        crc32: checksum of their bytes.
    """

    first: int
    rows: int = 0
    crc32: int = 0

    @property
    def end(self) -> int:
        """Number of the row after its last one."""
        return self.first + self.rows

    def grown(self, data: bytes, rows: int) -> Segment:
        """With the bytes of so many more rows behind its own."""
        return Segment(self.first, self.rows + rows, zlib.crc32(data, self.crc32))


class RowLog:
    """The newest rows of a series, and how far it was saved.

    Args:
        name: part of its files' names; no other log of a checkpoint has it.
        capacity: rows kept.
        kind: of a row, a structured type.

    Attributes:
        data: (capacity,) rows, a ring.
        added: rows appended so far; the next one goes to `added % capacity`.
    """

    def __init__(self, name: str, capacity: int, kind: np.dtype) -> None:
        self.name = name
        self.data = np.zeros(capacity, kind)
        self.added = 0
        self._files: RowFiles | None = None

    def __len__(self) -> int:
        return min(self.added, len(self.data))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RowLog):
            return NotImplemented
        return self.added == other.added and bool(np.array_equal(self.kept(), other.kept()))

    __hash__ = None  # type: ignore[assignment]

    def append(self, rows: np.ndarray) -> None:
        """Add rows, overwriting the oldest when full; of more than there is room for, the last."""
        self.added += len(rows)
        rows = rows[-len(self.data) :]
        self.data[self.slots(self.added - len(rows), self.added)] = rows

    def slots(self, first: int, end: int) -> np.ndarray:
        """Where the rows of these numbers are in the ring."""
        return np.arange(first, end) % len(self.data)

    def kept(self) -> np.ndarray:
        """All rows that are kept, the oldest first."""
        return self.data[self.slots(self.added - len(self), self.added)]

    def save(self, checkpoint: Path) -> dict[str, Any]:
        """Append what is new to the files beside a checkpoint; what the checkpoint has to say."""
        if self._files is None or self._files.checkpoint != checkpoint:
            self._files = RowFiles(checkpoint, self.name)
        oldest = self.added - len(self)
        first = max(self._files.end, oldest)
        self._files.append(first, self.data[self.slots(first, self.added)], oldest)
        needed = [each for each in self._files.segments if each.end > oldest]
        about = {"name": self.name, "added": self.added, "row_bytes": self.data.itemsize}
        return about | {"segments": [list(astuple(each)) for each in needed]}

    def load(self, saved: RowLog | SavedRows) -> None:
        """Take over what was saved, in files or as a log; a later save appends to the same files.

        Raises:
            ValueError: the rows are of another kind.
        """
        rows = saved.kept() if isinstance(saved, RowLog) else saved.of(self.data.dtype)
        self.added = saved.added - len(rows)
        self.append(rows)
        self._files = None if isinstance(saved, RowLog) else saved.files


class RowFiles:
    """The files of one log beside one checkpoint.

    Args:
        checkpoint: path of the checkpoint.
        name: of the log.
        segments: that are there, the oldest first.
    """

    def __init__(self, checkpoint: Path, name: str, segments: Sequence[Segment] = ()) -> None:
        self.checkpoint = checkpoint
        self.name = name
        self.segments = list(segments)
        self._oldest: deque[int] = deque(maxlen=2)  # of the last saves, one per generation

    @property
    def end(self) -> int:
        """Number of the row after the last one saved."""
        return self.segments[-1].end if self.segments else 0

    def path(self, segment: Segment) -> Path:
        """The file of a segment."""
        stem = self.checkpoint.stem
        return self.checkpoint.with_name(f"{stem}.{self.name}.{segment.first}.rows")

    def append(self, first: int, rows: np.ndarray, oldest: int) -> None:
        """Write rows, synced to disk; begin files as others are full.

        Args:
            first: number of the first row.
            rows: what to write.
            oldest: number of the oldest row that this save needs.
        """
        while len(rows):
            last = self.segments[-1] if self.segments else None
            if last is None or last.end != first or last.rows >= SEGMENT_ROWS:
                last = Segment(first)
                self.segments.append(last)
            part = rows[: SEGMENT_ROWS - last.rows]
            self.segments[-1] = self._write(last, part)
            first, rows = first + len(part), rows[len(part) :]
        self._remove_before(oldest)

    def _write(self, segment: Segment, rows: np.ndarray) -> Segment:
        path, data = self.path(segment), rows.tobytes()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        with path.open("r+b") as file:
            file.truncate(segment.rows * rows.itemsize)  # a crash may have left more
            file.seek(0, os.SEEK_END)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return segment.grown(data, len(rows))

    def _remove_before(self, oldest: int) -> None:
        """Remove files that neither this save nor the two before it need."""
        needed = min(*self._oldest, oldest) if len(self._oldest) == 2 else 0
        self._oldest.append(oldest)
        while self.segments and self.segments[0].end <= needed:
            self.path(self.segments.pop(0)).unlink(missing_ok=True)


@dataclass(frozen=True)
class SavedRows:
    """What files hold of a log.

    Attributes:
        added: as of `RowLog`.
        data: bytes of the rows in the files, the oldest first.
        files: to go on with.
    """

    added: int
    data: bytes
    files: RowFiles

    def of(self, kind: np.dtype) -> np.ndarray:
        """The rows.

        Raises:
            ValueError: they are of another kind.
        """
        return np.frombuffer(self.data, kind)


def read_rows(checkpoint: Path, about: Mapping[str, Any]) -> SavedRows:
    """What the files beside a checkpoint hold.

    Args:
        checkpoint: path of the newest checkpoint, whichever generation is read.
        about: what `RowLog.save` gave for it.

    Raises:
        DamagedFileError: a file is missing, or not as it was written.
    """
    segments = [Segment(*values) for values in about["segments"]]
    files = RowFiles(checkpoint, about["name"], segments)
    parts = [_part(files.path(segment), segment, about["row_bytes"]) for segment in segments]
    return SavedRows(int(about["added"]), b"".join(parts), files)


def _part(path: Path, segment: Segment, row_bytes: int) -> bytes:
    data = read_file(path)[: segment.rows * row_bytes]
    if zlib.crc32(data) != segment.crc32:
        raise DamagedFileError(
            f"{path} is damaged: its checksum does not fit; take a copy of it, or begin again"
        )
    return data


def forget_rows(checkpoint: Path) -> None:
    """Remove the files of all logs beside a checkpoint."""
    for path in checkpoint.parent.glob(f"{checkpoint.stem}.*.rows"):
        path.unlink()
