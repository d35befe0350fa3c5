"""The observations of a run's episodes on disk: where it has been, without a recorder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bayes_curiosity_ros.learning.episode_log import EpisodeRow

NAME = "observations.f32"
KIND = np.dtype("<f4")  # half the size, and exact enough to draw


class Trail:
    """Appends the numbers of observations to a file, episode by episode.

    Args:
        path: path of the file.
        kept: episodes whose observations stay, which a checkpoint knows; none to begin again.
        size: numbers of an observation.
    """

    def __init__(self, path: Path, kept: Sequence[EpisodeRow], size: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab")
        self._file.truncate(_rows(kept) * size * KIND.itemsize)

    def add(self, vectors: np.ndarray) -> None:
        """One more episode: (T + 1, D), the first and the last observation included."""
        self._file.write(vectors.astype(KIND).tobytes())
        self._file.flush()

    def close(self) -> None:
        """Finish the file."""
        self._file.close()


def read_trail(path: Path, size: int) -> np.ndarray:
    """All observations of a run, in order: (N, D). What a crash left of a last one is left out.

    Args:
        path: path of the file.
        size: numbers of an observation.
    """
    numbers = np.fromfile(path, KIND)
    return numbers[: len(numbers) // size * size].reshape(-1, size).astype(float)


def _rows(episodes: Sequence[EpisodeRow]) -> int:
    return sum(row.steps + 1 for row in episodes)
