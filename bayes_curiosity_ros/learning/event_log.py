"""Event files for TensorBoard: what came of every episode, for who asks for them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from bayes_curiosity_ros.errors import ConfigError, unknown_name
from bayes_curiosity_ros.learning.episode_log import EpisodeRow

if TYPE_CHECKING:
    from torch.utils.tensorboard.writer import SummaryWriter

LOGS = ("tensorboard",)
FOLDER = "tensorboard"  # in the folder of a run
FLUSH_S = 5


def require_log(name: str) -> None:
    """Check that a kind of log can be written; "" is none.

    Raises:
        ConfigError: there is no such kind, or its package is not installed.
    """
    if name and name not in LOGS:
        raise unknown_name("log", name, LOGS)
    if name and find_spec("tensorboard") is None:
        raise ConfigError(f"log {name!r} needs tensorboard: pip install tensorboard")


class EventLog:
    """Event files of one run. One that cannot be written is given up, and ends no run.

    Args:
        folder: folder of the run.
        log: "tensorboard", or "" to write nothing.
        timesteps: control steps that the run goes on from; what a folder has of later ones is
            not shown any more.

    Raises:
        ConfigError: there is no such kind of log, or its package is not installed.
    """

    def __init__(self, folder: Path, log: str = "tensorboard", timesteps: int = 0) -> None:
        require_log(log)
        self._writer: SummaryWriter | None = None
        if log:
            # Here, as it takes a second to import.
            from torch.utils.tensorboard.writer import SummaryWriter

            purge = timesteps + 1 if timesteps else None
            where = str(folder / FOLDER)
            self._writer = SummaryWriter(where, purge_step=purge, flush_secs=FLUSH_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def add(self, row: EpisodeRow, steps_per_second: float) -> None:
        """One more episode of a run that goes at this speed."""
        values = {
            "episode/success": float(row.outcome == "success"),
            "episode/extrinsic_return": row.extrinsic_return,
            "episode/intrinsic_return": row.intrinsic_return,
            "episode/curiosity": row.mean_curiosity,
            "episode/steps": float(row.steps),
            "run/information": row.information,
            "run/steps_per_second": steps_per_second,
        }
        self.add_numbers(values, row.timesteps)

    def add_numbers(self, values: Mapping[str, float], step: int) -> None:
        """Numbers by their names; those that are not known (NaN) are left out."""
        for name, value in values.items():
            if np.isfinite(value):
                self._write("add_scalar", name, value, step)

    def add_picture(self, name: str, picture: np.ndarray, step: int) -> None:
        """A picture, (H, W, 3) uint8."""
        self._write("add_image", name, picture, step, dataformats="HWC")

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _write(self, how: str, *what: object, **options: str) -> None:
        if self._writer is None:
            return
        try:
            getattr(self._writer, how)(*what, **options)
        except OSError as error:
            self._writer = None
            logging.getLogger(__name__).warning(f"no more events for TensorBoard: {error}")
