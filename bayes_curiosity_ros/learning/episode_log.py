"""What came of every episode: a CSV file, and where training stands now."""

from __future__ import annotations

import dataclasses
import logging
import os
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bayes_curiosity_ros.csv_files import line_of, read_csv, scan, to_csv
from bayes_curiosity_ros.errors import DamagedFileError
from bayes_curiosity_ros.files import write_atomically
from bayes_curiosity_ros.learning.episodes import Episodes

LOG = "episodes.csv"  # in the folder of a run
RECENT = 10
LONG = 100


@dataclass(frozen=True)
class EpisodeRow:
    """One finished episode.

    Attributes:
        timesteps: control steps of the run so far, this episode's included; those of episodes in
            which a person acted do not count.
        outcome: success, failure or time_limit.
        mean_curiosity: c averaged over the episode, in [nats].
        information: what the curiosity's model had learnt since its prior before this episode,
            in [nats]; 0 where there is none.
        operator_steps: steps that a person took; an episode with any is not learnt from.
    """

    episode: int
    timesteps: int
    steps: int
    outcome: str
    extrinsic_return: float
    intrinsic_return: float
    mean_curiosity: float
    information: float = 0.0
    operator_steps: int = 0

    @staticmethod
    def of(
        episode: Episodes,
        number: int,
        timesteps: int,
        rewards: np.ndarray,
        curiosity: np.ndarray,
        information: float,
        operator_steps: int = 0,
    ) -> EpisodeRow:
        """The row of one episode.

        Args:
            episode: the episode alone.
            number: its number.
            timesteps: control steps of the run so far.
            rewards: (T + 1,) intrinsic rewards of its observations, the first included.
            curiosity: (T + 1,) c of the same.
            information: as above.
            operator_steps: as above.
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
            operator_steps,
        )


COLUMNS = tuple(field.name for field in dataclasses.fields(EpisodeRow))


REQUIRED = 7  # columns of the first version


def read_log(path: Path) -> list[EpisodeRow]:
    """All rows of a log, in order; one of an older version has fewer columns.

    Raises:
        DamagedFileError: there is none, or a line is not as it was written.
    """
    return read_csv(path, COLUMNS, _row, REQUIRED)


def _row(values: Mapping[str, str]) -> EpisodeRow:
    return EpisodeRow(
        int(values["episode"]),
        int(values["timesteps"]),
        int(values["steps"]),
        values["outcome"],
        float(values["extrinsic_return"]),
        float(values["intrinsic_return"]),
        float(values["mean_curiosity"]),
        float(values.get("information", 0.0)),
        int(values.get("operator_steps", 0)),
    )


def of_policy(rows: Iterable[EpisodeRow]) -> list[EpisodeRow]:
    """Those of these episodes in which no person acted."""
    return [row for row in rows if not row.operator_steps]


def successes_per_timestep(rows: list[EpisodeRow]) -> float:
    """The paper's metric over these episodes."""
    steps = sum(row.steps for row in rows)
    return sum(row.outcome == "success" for row in rows) / steps if steps else 0.0


def success_rate(rows: Sequence[EpisodeRow]) -> float:
    """Share of these episodes that succeeded; 0 where there are none."""
    return sum(row.outcome == "success" for row in rows) / max(len(rows), 1)


def progress_line(rows: Sequence[EpisodeRow], budget: int, steps_per_second: float) -> str:
    """Where a run stands, on one line: success is of the policy's last `LONG` episodes.

    Args:
        rows: the run's newest episodes, at least one.
        budget: control steps after which the run ends.
        steps_per_second: how fast it goes.
    """
    row, left, own = rows[-1], "?", of_policy(rows)
    if steps_per_second > 0:
        left_s = round(max(budget - row.timesteps, 0) / steps_per_second)
        left = f"{left_s // 60}:{left_s % 60:02d}"
    return (
        f"episode {row.episode:5d}  step {row.timesteps:6d}/{budget}  "
        f"success {success_rate(own[-LONG:]):4.0%}  learnt {row.information:5.0f} nats  "
        f"{steps_per_second:4.0f} steps/s  {left} left"
    )


class EpisodeLog:
    """Appends rows to a file; one line is written at once, so a crash loses at most one.

    The checkpoint decides which rows there are, the file only shows them: it is cut to them when
    a run goes on, and rows that it has lost are counted and left out.

    Args:
        path: path of the CSV file.
        until: number of the newest episode that a checkpoint knows; 0 to begin again.
        count: rows that there were when the checkpoint was written.

    Attributes:
        count: rows that there should be by now.
        recent: the newest rows, `LONG` of them at most.
    """

    def __init__(self, path: Path, until: int = 0, count: int = 0) -> None:
        kept = _kept(path, until) if until else []
        if len(kept) < count:
            logging.getLogger(__name__).warning(
                f"{path} lacks {count - len(kept)} of {count} rows; going on without them"
            )
        self.count = count
        self.recent = deque(kept[-LONG:], maxlen=LONG)
        write_atomically(path, to_csv(COLUMNS, map(dataclasses.astuple, kept)).encode())
        self._file = path.open("a", newline="", buffering=1)

    def add(self, row: EpisodeRow) -> None:
        """One more episode."""
        self.count += 1
        self.recent.append(row)
        self._file.write(line_of(dataclasses.astuple(row)))

    def sync(self) -> None:
        """Wait until all rows are on disk, before a checkpoint that counts them."""
        os.fsync(self._file.fileno())

    @property
    def successes_per_timestep(self) -> float:
        """Over the policy's most recent episodes."""
        return successes_per_timestep(of_policy(self.recent)[-RECENT:])

    @property
    def mean_return(self) -> float:
        """Extrinsic, over the same."""
        recent = of_policy(self.recent)[-RECENT:]
        return sum(r.extrinsic_return for r in recent) / max(len(recent), 1)

    def close(self) -> None:
        """Finish the file."""
        self._file.close()


def _kept(path: Path, until: int) -> list[EpisodeRow]:
    """Rows up to an episode that can be read, each once."""
    try:
        rows = scan(path, COLUMNS, _row, REQUIRED).rows
    except DamagedFileError:
        return []
    by_episode = {row.episode: row for row in rows if row.episode <= until}
    return [by_episode[episode] for episode in sorted(by_episode)]
