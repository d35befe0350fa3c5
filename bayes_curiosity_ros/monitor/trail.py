"""Where the hand has been in the last episodes, and where a limit held it."""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import numpy as np

EPISODES = 6
POINTS = 400  # of one episode
LIMITS = 60
LEAST_M = 0.004  # a hand that moved less has not moved
NEWEST, OLDEST = np.array([40, 170, 255]), np.array([70, 78, 92])
EMPTY = np.empty((0, 3), dtype=np.float32)


class Trail:
    """Positions of the hand, episode by episode.

    Attributes:
        changed: whether there is something new to draw; whoever draws sets it back.
    """

    def __init__(self) -> None:
        self._episodes: deque[deque[np.ndarray]] = deque(maxlen=EPISODES)
        self._limits: deque[np.ndarray] = deque(maxlen=LIMITS)
        self._episode: int | None = None
        self.changed = False

    def begin(self, episode: int) -> bool:
        """Whether an episode begins, or was under way."""
        if episode == self._episode:
            return False
        self._episode = episode
        self._episodes.append(deque(maxlen=POINTS))
        return True

    def add(self, position: np.ndarray) -> None:
        """The hand is here, (3,) in [m]."""
        if not self._episodes:
            self._episodes.append(deque(maxlen=POINTS))
        path = self._episodes[-1]
        if not path or np.linalg.norm(path[-1] - position) >= LEAST_M:
            path.append(np.array(position, dtype=np.float32))
            self.changed = True

    def limit(self, position: np.ndarray) -> None:
        """A limit changed what the arm was asked for, with the hand here."""
        if not any(np.linalg.norm(known - position) < 5 * LEAST_M for known in self._limits):
            self._limits.append(np.array(position, dtype=np.float32))
            self.changed = True

    @property
    def limits(self) -> np.ndarray:
        """(L, 3) where limits were hit."""
        return np.stack(self._limits) if self._limits else EMPTY

    def segments(self) -> tuple[np.ndarray, np.ndarray]:
        """(S, 2, 3) lines, and (S, 2, 3) their colours: the older, the darker."""
        lines, colors = [], []
        for age, path in enumerate(reversed(self._episodes)):
            share = age / max(EPISODES - 1, 1)
            color = ((1 - share) * NEWEST + share * OLDEST).astype(np.uint8)
            for ends in pairwise(path):
                lines.append(np.stack(ends))
                colors.append(np.stack([color, color]))
        if not lines:
            return np.empty((0, 2, 3), np.float32), np.empty((0, 2, 3), np.uint8)
        return np.stack(lines), np.stack(colors)
