"""Whether an arm stands still: measured from its states over a window of time, never assumed."""

from __future__ import annotations

from collections import deque

import numpy as np

WINDOW_S = 0.2
# Noise of encoders is below this; over the window it is a speed of 0.6 degrees per second.
REST_RAD = 0.002
# States further apart than this say nothing about what was between them.
GAP_S = 0.5


class Standstill:
    """Collects joint angles until they have stayed the same for a whole window.

    Args:
        window_s: for how long the joints must not have moved.
        tolerance_rad: by how much they may differ all the same.
    """

    def __init__(self, window_s: float = WINDOW_S, tolerance_rad: float = REST_RAD) -> None:
        self._window_s = window_s
        self._tolerance_rad = tolerance_rad
        self._samples: deque[tuple[float, np.ndarray]] = deque()

    def forget(self) -> None:
        """Begin again: what was measured before does not count."""
        self._samples.clear()

    def add(self, time_s: float, joints: np.ndarray) -> None:
        """Take in a state that was received at this steady time; the same one counts once."""
        if self._samples and time_s <= self._samples[-1][0]:
            return
        if self._samples and time_s - self._samples[-1][0] > GAP_S:
            self.forget()
        self._samples.append((time_s, np.array(joints)))
        while len(self._samples) > 1 and self._samples[1][0] <= time_s - self._window_s:
            self._samples.popleft()

    @property
    def measured(self) -> bool:
        """Whether the joints stood still for a whole window."""
        if not self._samples or self.span_s < self._window_s:
            return False
        return self.way_rad < self._tolerance_rad

    @property
    def span_s(self) -> float:
        """Time between the oldest and the newest state in [s]."""
        return self._samples[-1][0] - self._samples[0][0] if self._samples else 0.0

    @property
    def way_rad(self) -> float:
        """Largest way of any joint in the window, the short way round, in [rad]."""
        if not self._samples:
            return 0.0
        newest = self._samples[-1][1]
        return max(float(np.abs(wrapped(joints - newest)).max()) for _, joints in self._samples)


def wrapped(angle: np.ndarray) -> np.ndarray:
    """The same angles between -pi and pi."""
    return (angle + np.pi) % (2 * np.pi) - np.pi
