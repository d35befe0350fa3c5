"""Event files of a run, written as it goes on: its rows, and pictures of its curiosity."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Self

from bayes_curiosity_ros.experiments.engine.jobs import Row
from bayes_curiosity_ros.learning.event_log import EventLog
from bayes_curiosity_ros.learning.trainer import Trainer

if TYPE_CHECKING:
    from bayes_curiosity_ros.learning.map.log import MapLog

# Columns of a row that event files have.
LOGGED = (
    "success_rate",
    "extrinsic_return",
    "intrinsic_reward",
    "successes_per_timestep",
    "evaluation_return",
    "evaluation_success_rate",
)


class RunLog:
    """Writes nothing unless a kind of log is asked for.

    Args:
        folder: folder of the run's event files.
        log: "tensorboard", or "" for none.
        trainer: the run, at its beginning or where its checkpoint left off.
        written: number of rows that were written before that.
    """

    def __init__(self, folder: Path, log: str, trainer: Trainer, written: int) -> None:
        self._trainer, self._written = trainer, written
        self._events = EventLog(folder, log, trainer.timesteps)
        self._map: MapLog | None = None
        if log:
            # Here, as it takes a second to import.
            from bayes_curiosity_ros.learning.map.log import map_log_of

            self._map = map_log_of(trainer, self._events)
        if not trainer.timesteps:
            self._look(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._events.close()

    def follow(self, rows: list[Row]) -> None:
        """Write the rows that are new, and the map beside them."""
        for row in rows[self._written :]:
            values = {name: getattr(row, name) for name in LOGGED}
            speed = row.timesteps / row.seconds if row.seconds > 0 else math.nan
            self._events.add_numbers({**values, "steps_per_second": speed}, row.timesteps)
            self._written += 1
            if row.timesteps:
                self._look(self._written)

    def _look(self, count: int) -> None:
        if self._map is not None:
            self._map.look(count, self._trainer.timesteps)
