"""What joints did between two times, from states that come when the driver pleases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayes_curiosity_ros.robot.arms.driver_states import DriverState
from bayes_curiosity_ros.robot.arms.standstill import wrapped


def moved(
    states: Sequence[DriverState], start_s: float, end_s: float, dense_s: float
) -> np.ndarray:
    """(J,) by how much the joints moved between two times in the past, in [rad].

    Positions are interpolated between states that are less than `dense_s` apart. Where they are
    further apart, the last state before the motion and the first one after it count: the arm must
    rest at both ends. A joint goes the short way round.
    """
    before = _around(states, start_s, dense_s, outside=0)
    after = _around(states, end_s, dense_s, outside=1)
    return wrapped(after - before)


def period_s(states: Sequence[DriverState]) -> float:
    """Usual time between two states in [s]; infinite where there are too few to say."""
    times = [state.measured_s for state in states]
    return float(np.median(np.diff(times))) if len(times) > 1 else np.inf


def _around(
    states: Sequence[DriverState], time_s: float, dense_s: float, outside: int
) -> np.ndarray:
    """(J,) positions at a time; where states are rare, of the one before (0) or after (1) it."""
    times = [state.measured_s for state in states]
    later = int(np.searchsorted(times, time_s))
    pair = states[max(later - 1, 0)], states[min(later, len(states) - 1)]
    gap_s = pair[1].measured_s - pair[0].measured_s
    if not 0.0 < gap_s < dense_s:
        return pair[outside].positions
    share = (time_s - pair[0].measured_s) / gap_s
    return pair[0].positions + share * wrapped(pair[1].positions - pair[0].positions)
