"""The observations of a run's episodes on disk: where it has been, without a recorder."""

from __future__ import annotations

import logging
import os
import zlib
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

from bayes_curiosity_ros.csv_files import line_of, read_csv, scan, to_csv
from bayes_curiosity_ros.errors import DamagedFileError
from bayes_curiosity_ros.files import read_file, write_atomically

NAME = "observations.f32"
KIND = np.dtype("<f4")  # half the size, and exact enough to draw


@dataclass(frozen=True)
class Part:
    """What one episode has in the file.

    Attributes:
        episode: its number.
        first: where its bytes begin.
        size: number of its bytes.
        numbers_crc32: their checksum.
    """

    episode: int
    first: int
    size: int
    numbers_crc32: int

    def of(self, data: bytes) -> bytes:
        """Its bytes; empty where they are not as they were written."""
        part = data[self.first : self.first + self.size]
        return part if zlib.crc32(part) == self.numbers_crc32 else b""


COLUMNS = ("episode", "first", "size", "numbers_crc32")


class Trail:
    """Appends the numbers of observations to a file, episode by episode.

    A table beside it says which bytes are whose, and has their checksums.

    Args:
        path: path of the file.
        until: number of the newest episode that stays, which a checkpoint knows; 0 to begin
            again.
        count: episodes that there were when the checkpoint was written.
    """

    def __init__(self, path: Path, until: int = 0, count: int = 0) -> None:
        kept = _kept(path, until) if until else {}
        if len(kept) < count:
            logging.getLogger(__name__).warning(
                f"{path} lacks {count - len(kept)} of {count} episodes; going on without them"
            )
        parts, data = _joined(kept)
        write_atomically(path, data)
        write_atomically(table_of(path), to_csv(COLUMNS, map(astuple, parts)).encode())
        self._end = len(data)
        self._file = path.open("ab")
        self._table = table_of(path).open("a", newline="", buffering=1)

    def add(self, episode: int, vectors: np.ndarray) -> None:
        """One more episode: (T + 1, D), the first and the last observation included."""
        data = vectors.astype(KIND).tobytes()
        self._file.write(data)
        self._file.flush()
        self._table.write(line_of(astuple(Part(episode, self._end, len(data), zlib.crc32(data)))))
        self._end += len(data)

    def sync(self) -> None:
        """Wait until all of it is on disk, before a checkpoint that counts on it."""
        os.fsync(self._file.fileno())
        os.fsync(self._table.fileno())

    def close(self) -> None:
        """Finish the files."""
        self._file.close()
        self._table.close()


def read_trail(path: Path, size: int) -> np.ndarray:
    """All observations of a run, in order: (N, D). What a crash left of a last one is left out.

    Args:
        path: path of the file.
        size: numbers of an observation.

    Raises:
        DamagedFileError: the file or the table beside it is missing or damaged.
    """
    data, parts = read_file(path), read_csv(table_of(path), COLUMNS, _part)
    whole = [part.of(data) for part in parts]
    if not all(whole):
        raise DamagedFileError(
            f"{path} is damaged: {whole.count(b'')} of {len(whole)} episodes are not as they "
            "were written; take a copy of it, or begin again with --restart"
        )
    return np.frombuffer(b"".join(whole), KIND).reshape(-1, size).astype(float)


def table_of(path: Path) -> Path:
    """The table beside a file of observations."""
    return path.with_suffix(".csv")


def _kept(path: Path, until: int) -> dict[int, bytes]:
    """Bytes of the episodes that stay, of those that can be had."""
    try:
        data, parts = read_file(path), scan(table_of(path), COLUMNS, _part).rows
    except DamagedFileError:
        return {}
    kept = {part.episode: part.of(data) for part in parts if part.episode <= until}
    return {episode: numbers for episode, numbers in sorted(kept.items()) if numbers}


def _joined(kept: Mapping[int, bytes]) -> tuple[list[Part], bytes]:
    """Episodes one after the other, and where each is."""
    parts: list[Part] = []
    for episode, data in kept.items():
        first = parts[-1].first + parts[-1].size if parts else 0
        parts.append(Part(episode, first, len(data), zlib.crc32(data)))
    return parts, b"".join(kept.values())


def _part(values: Mapping[str, str]) -> Part:
    return Part(*(int(values[name]) for name in COLUMNS))
