"""What came of every episode: a CSV file, and where training stands now."""

from __future__ import annotations

import csv
import dataclasses
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bayes_curiosity_ros.learning.episodes import Episodes

LOG = "episodes.csv"  # in the folder of a run
RECENT = 10
LONG = 100


@dataclass(frozen=True)
class EpisodeRow:
    """One finished episode.

    Attributes:
        timesteps: control steps of the run so far, this episode's included.
        outcome: success, failure or time_limit.
        mean_curiosity: c averaged over the episode, in [nats].
        information: what the curiosity's model had learnt since its prior before this episode,
            in [nats]; 0 where there is none.
    """

    episode: int
    timesteps: int
    steps: int
    outcome: str
    extrinsic_return: float
    intrinsic_return: float
    mean_curiosity: float
    information: float = 0.0

    @staticmethod
    def of(
        episode: Episodes,
        number: int,
        timesteps: int,
        rewards: np.ndarray,
        curiosity: np.ndarray,
        information: float,
    ) -> EpisodeRow:
        """The row of one episode.

        Args:
            episode: the episode alone.
            number: its number.
            timesteps: control steps of the run so far.
            rewards: (T + 1,) intrinsic rewards of its observations, the first included.
            curiosity: (T + 1,) c of the same.
            information: as above.
        """
        ended = "failure" if episode.terminated[0] else "time_limit"
        return EpisodeRow(
            number,
            timesteps,
            episode.steps,
            "success" if episode.succeeded[0] else ended,
            float(episode.returns()[0]),
            float(rewards[1:].sum()),
            float(curiosity.mean()),
            information,
        )


COLUMNS = tuple(field.name for field in dataclasses.fields(EpisodeRow))


def read_log(path: Path) -> list[EpisodeRow]:
    """All rows of a log, in order; one of an older version has fewer columns."""
    with path.open(newline="") as file:
        return [
            EpisodeRow(
                int(row["episode"]),
                int(row["timesteps"]),
                int(row["steps"]),
                row["outcome"],
                *(float(row[name]) for name in COLUMNS[4:] if name in row),
            )
            for row in csv.DictReader(file)
        ]


def successes_per_timestep(rows: list[EpisodeRow]) -> float:
    """The paper's metric over these episodes."""
    steps = sum(row.steps for row in rows)
    return sum(row.outcome == "success" for row in rows) / steps if steps else 0.0


def success_rate(rows: Sequence[EpisodeRow]) -> float:
    """Share of these episodes that succeeded; 0 where there are none."""
    return sum(row.outcome == "success" for row in rows) / max(len(rows), 1)


def progress_line(rows: Sequence[EpisodeRow], budget: int, steps_per_second: float) -> str:
    """Where a run stands, on one line: success is of the last `LONG` episodes.

    Args:
        rows: the run's newest episodes, at least one.
        budget: control steps after which the run ends.
        steps_per_second: how fast it goes.
    """
    row, left = rows[-1], "?"
    if steps_per_second > 0:
        left_s = round(max(budget - row.timesteps, 0) / steps_per_second)
        left = f"{left_s // 60}:{left_s % 60:02d}"
    return (
        f"episode {row.episode:5d}  step {row.timesteps:6d}/{budget}  "
        f"success {success_rate(rows[-LONG:]):4.0%}  learnt {row.information:5.0f} nats  "
        f"{steps_per_second:4.0f} steps/s  {left} left"
    )


class EpisodeLog:
    """Appends rows to a file; one line is written at once, so a crash loses at most one.

    Args:
        path: of the CSV file.
        until: keep rows of episodes up to this one, which a checkpoint knows; 0 for none.

    Attributes:
        kept: rows that were in the file before.
        recent: the newest rows, `LONG` of them at most.
    """

    def __init__(self, path: Path, until: int = 0) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.kept = [row for row in read_log(path) if row.episode <= until] if until else []
        self.recent = deque(self.kept[-LONG:], maxlen=LONG)
        self._file = path.open("w", newline="", buffering=1)
        self._writer = csv.writer(self._file)
        self._writer.writerow(COLUMNS)
        self._writer.writerows(dataclasses.astuple(row) for row in self.kept)

    def add(self, row: EpisodeRow) -> None:
        """One more episode."""
        self.recent.append(row)
        self._writer.writerow(dataclasses.astuple(row))

    @property
    def successes_per_timestep(self) -> float:
        """Over the most recent episodes."""
        return successes_per_timestep(list(self.recent)[-RECENT:])

    @property
    def mean_return(self) -> float:
        """Extrinsic, over the most recent episodes."""
        recent = list(self.recent)[-RECENT:]
        return sum(r.extrinsic_return for r in recent) / max(len(recent), 1)

    def close(self) -> None:
        """Finish the file."""
        self._file.close()
