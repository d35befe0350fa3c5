"""Where runs stand while they go on: a line each, from the logs that they write."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from bayes_curiosity_ros.errors import DamagedFileError
from bayes_curiosity_ros.learning.episode_log import EpisodeRow, progress_line, read_log

REFRESH_S = 1.0
QUIET_S = 15.0  # where there is no terminal to draw a line again


class Display:
    """Shows runs in a thread of its own while the caller waits for them.

    Args:
        logs: logs of the runs' episodes by what a run is called; they need not be there yet.
        budget: control steps of each run.
    """

    def __init__(self, logs: Mapping[str, Path], budget: int) -> None:
        self._logs = logs
        self._budget = budget
        self._speeds: dict[str, _Speed] = {}
        self._drawn = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()
        self._draw()

    def _watch(self) -> None:
        while not self._over.wait(REFRESH_S if sys.stdout.isatty() else QUIET_S):
            self._draw()

    def _draw(self) -> None:
        """Draw all lines, over the old ones where there is a terminal."""
        lines = [line for name in self._logs if (line := self.line(name))]
        live = sys.stdout.isatty()
        if live:
            width = shutil.get_terminal_size().columns - 1
            lines = [f"\r\x1b[K{line[:width]}" for line in lines]
        up = f"\x1b[{self._drawn}A" if live and self._drawn else ""
        print(up + "".join(f"{line}\n" for line in lines), end="", flush=True)
        self._drawn = len(lines)

    def line(self, name: str) -> str:
        """Where a run stands; "" before its first episode is over."""
        episodes = read_soon(self._logs[name])
        if not episodes:
            return ""
        steps = episodes[-1].timesteps
        speed = self._speeds.setdefault(name, _Speed(steps)).at(steps)
        width = max(map(len, self._logs))
        return f"{name:{width}}  {progress_line(episodes, self._budget, speed)}"


class _Speed:
    """Steps per second since a run was first looked at, until it last got on."""

    def __init__(self, steps: int) -> None:
        self._first, self._first_s = steps, time.monotonic()
        self._last, self._last_s = self._first, self._first_s

    def at(self, steps: int) -> float:
        """The speed, now that the run has taken so many steps."""
        if steps != self._last:
            self._last, self._last_s = steps, time.monotonic()
        return (self._last - self._first) / max(self._last_s - self._first_s, 1e-9)


def read_soon(log: Path) -> list[EpisodeRow]:
    """The episodes in a log that is being written; none where it is missing or damaged."""
    try:
        return read_log(log)
    except DamagedFileError:
        return []
