"""The numbers of past episodes, as the page's curves need them."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

WINDOW = 10  # episodes that the success rate is over
KEPT = 5000
DRAWN = 400  # points of a curve that a browser is sent


class EpisodePoint(NamedTuple):
    """One episode.

    Attributes:
        episode: its number.
        success: 1 for a success, else 0.
        extrinsic_return: sum of the task's rewards.
        curiosity: mean of c over its steps in [nats].
        information: what the model had gained when it ended in [nats].
        steps_per_s: control steps a second of the whole run.
    """

    episode: int
    success: float
    extrinsic_return: float
    curiosity: float
    information: float
    steps_per_s: float


class History:
    """The newest episodes. An earlier number begins the story again from there, as in a replay."""

    def __init__(self) -> None:
        self._points: deque[EpisodePoint] = deque(maxlen=KEPT)

    def __len__(self) -> int:
        return len(self._points)

    def add(self, point: EpisodePoint) -> None:
        """One more episode."""
        while self._points and self._points[-1].episode >= point.episode:
            self._points.pop()
        self._points.append(point)

    def columns(self) -> dict[str, np.ndarray]:
        """A column per number, thinned to what can be seen; success is a rate."""
        table = np.array(self._points, dtype=float).reshape(-1, len(EpisodePoint._fields))
        table[:, 1] = _rate(table[:, 1])
        stride = max(1, -(-len(table) // DRAWN))
        thinned = table[::-1][::stride][::-1]
        return dict(zip(EpisodePoint._fields, thinned.T, strict=True))


def _rate(successes: np.ndarray) -> np.ndarray:
    """Mean over the last `WINDOW` episodes at each."""
    sums = np.concatenate([[0.0], np.cumsum(successes)])
    ends = np.arange(1, len(successes) + 1)
    starts = np.maximum(ends - WINDOW, 0)
    rate: np.ndarray = (sums[ends] - sums[starts]) / np.maximum(ends - starts, 1)
    return rate
