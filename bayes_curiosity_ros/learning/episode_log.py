"""What came of every episode: a CSV file, and where training stands now."""

from __future__ import annotations

import csv
import dataclasses
from collections import deque
from dataclasses import dataclass
from pathlib import Path

RECENT = 10


@dataclass(frozen=True)
class EpisodeRow:
    """One finished episode.

    Attributes:
        timesteps: control steps of the run so far, this episode's included.
        outcome: success, failure or time_limit.
        mean_curiosity: c averaged over the episode, in [nats].
    """

    episode: int
    timesteps: int
    steps: int
    outcome: str
    extrinsic_return: float
    intrinsic_return: float
    mean_curiosity: float


COLUMNS = tuple(field.name for field in dataclasses.fields(EpisodeRow))


def read_log(path: Path) -> list[EpisodeRow]:
    """All rows of a log, in order."""
    with path.open(newline="") as file:
        return [
            EpisodeRow(
                int(row["episode"]),
                int(row["timesteps"]),
                int(row["steps"]),
                row["outcome"],
                *(float(row[name]) for name in COLUMNS[4:]),
            )
            for row in csv.DictReader(file)
        ]


def successes_per_timestep(rows: list[EpisodeRow]) -> float:
    """The paper's metric over these episodes."""
    steps = sum(row.steps for row in rows)
    return sum(row.outcome == "success" for row in rows) / steps if steps else 0.0


class EpisodeLog:
    """Appends rows to a file; one line is written at once, so a crash loses at most one.

    Args:
        path: of the CSV file.
        until: keep rows of episodes up to this one, which a checkpoint knows; 0 for none.
    """

    def __init__(self, path: Path, until: int = 0) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = [row for row in read_log(path) if row.episode <= until] if until else []
        self.recent = deque(kept[-RECENT:], maxlen=RECENT)
        self._file = path.open("w", newline="", buffering=1)
        self._writer = csv.writer(self._file)
        self._writer.writerow(COLUMNS)
        self._writer.writerows(dataclasses.astuple(row) for row in kept)

    def add(self, row: EpisodeRow) -> None:
        """One more episode."""
        self.recent.append(row)
        self._writer.writerow(dataclasses.astuple(row))

    @property
    def successes_per_timestep(self) -> float:
        """Over the most recent episodes."""
        return successes_per_timestep(list(self.recent))

    @property
    def mean_return(self) -> float:
        """Extrinsic, over the most recent episodes."""
        return sum(r.extrinsic_return for r in self.recent) / max(len(self.recent), 1)

    def close(self) -> None:
        """Finish the file."""
        self._file.close()
