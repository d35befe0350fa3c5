"""Whether an arm stands still: measured from its states over a window of time, never assumed."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

WINDOW_S = 0.2
# Noise of encoders is below this; over the window it is a speed of 0.6 degrees per second.
REST_RAD = 0.002
# States further apart than this say nothing about what was between them.
GAP_S = 0.5


@dataclass(frozen=True)
class Sample:
    """Joint angles that were measured at some time between two.

    Attributes:
        earliest_s: they were measured no earlier, in steady time.
        latest_s: and no later. A busy computer may come to an answer long after it was given.
        joints: (J,) angles in [rad].
    """

    earliest_s: float
    latest_s: float
    joints: np.ndarray


class Standstill:
    """Collects joint angles until they have stayed the same for a whole window.

    Args:
        window_s: for how long the joints must not have moved.
        tolerance_rad: by how much they may differ all the same.
    """

    def __init__(self, window_s: float = WINDOW_S, tolerance_rad: float = REST_RAD) -> None:
        self._window_s = window_s
        self._tolerance_rad = tolerance_rad
        self._samples: deque[Sample] = deque()

    def forget(self) -> None:
        """Begin again: what was measured before does not count."""
        self._samples.clear()

    def add(self, sample: Sample) -> None:
        """Take in a state; the same one counts once."""
        if self._samples and sample.latest_s <= self._samples[-1].latest_s:
            return
        if self._samples and sample.latest_s - self._samples[-1].earliest_s > GAP_S:
            self.forget()
        self._samples.append(sample)
        begin_s = sample.earliest_s - self._window_s
        while len(self._samples) > 1 and self._samples[1].latest_s <= begin_s:
            self._samples.popleft()

    @property
    def measured(self) -> bool:
        """Whether the joints stood still for a whole window."""
        if not self._samples or self.span_s < self._window_s:
            return False
        return self.way_rad < self._tolerance_rad

    @property
    def span_s(self) -> float:
        """Least time between the oldest and the newest state in [s]."""
        if not self._samples:
            return 0.0
        return self._samples[-1].earliest_s - self._samples[0].latest_s

    @property
    def way_rad(self) -> float:
        """Largest way of any joint in the window, the short way round, in [rad]."""
        if not self._samples:
            return 0.0
        newest = self._samples[-1].joints
        ways = (np.abs(wrapped(sample.joints - newest)) for sample in self._samples)
        return max(float(way.max()) for way in ways)


def wrapped(angle: np.ndarray) -> np.ndarray:
    """The same angles between -pi and pi."""
    return (angle + np.pi) % (2 * np.pi) - np.pi
