"""What a driver says of its joints, and where they were at a time between two of its messages."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sensor_msgs.msg import JointState

from bayes_curiosity_ros.robot.arms.real import wrapped

KEPT = 1000  # states, a second of the fastest drivers
GAPS = 5  # between states, to know how often they come
COMPARED = 100  # states over which the quickest delivery is looked for


@dataclass(frozen=True)
class Measured:
    """One joint state.

    Attributes:
        at_s: when it was measured, on this process's monotonic clock in [s].
        positions: (J,) in [rad], turns counted as the driver does.
        velocities: (J,) in [rad/s].
    """

    at_s: float
    positions: np.ndarray
    velocities: np.ndarray


class StampedClock:
    """Turns stamps of another machine's clock into this process's monotonic time.

    The quickest of the last deliveries is taken for immediate, so the two clocks need not agree.
    """

    def __init__(self) -> None:
        self._delays: deque[float] = deque(maxlen=COMPARED)
        self._last_s = 0.0

    def local(self, stamp_s: float, received_s: float) -> float | None:
        """When it was measured; None for a message that is no newer than the one before."""
        if stamp_s == 0.0:
            return received_s
        if stamp_s <= self._last_s:
            return None
        self._last_s = stamp_s
        self._delays.append(received_s - stamp_s)
        return stamp_s + min(self._delays)


class JointStates:
    """The newest joint states, those of some names among others.

    Args:
        names: the driver's names of the joints.
        turns_freely: (J,) whether a joint's angle may be reported another turn away.
        to_rad_s: factor from the driver's velocities to [rad/s].
        clock: monotonic time in [s].
    """

    def __init__(
        self,
        names: tuple[str, ...],
        turns_freely: np.ndarray,
        to_rad_s: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._names = names
        self._turns_freely = turns_freely
        self._to_rad_s = to_rad_s
        self._clock = clock
        self._stamps = StampedClock()
        self._news = threading.Condition()
        self._kept: deque[Measured] = deque(maxlen=KEPT)

    @property
    def newest(self) -> Measured | None:
        """The newest state, None before the first."""
        with self._news:
            return self._kept[-1] if self._kept else None

    def forget(self) -> None:
        """Begin anew, for a driver that may have been restarted."""
        with self._news:
            self._kept.clear()
            self._stamps = StampedClock()

    def take(self, message: JointState) -> None:
        """Other joints in the message are none of ours; a broken one is as good as none."""
        measured = self._read(message)
        if measured is None:
            return
        with self._news:
            stamp = message.header.stamp
            at_s = self._stamps.local(stamp.sec + stamp.nanosec * 1e-9, measured.at_s)
            if at_s is not None:
                self._kept.append(replace(measured, at_s=at_s))
                self._news.notify_all()

    def wait(self, since_s: float, deadline_s: float) -> Measured | None:
        """A state measured at `since_s` or later; None when there is none by the deadline."""
        with self._news:
            self._news.wait_for(
                lambda: bool(self._kept) and self._kept[-1].at_s >= since_s,
                max(deadline_s - self._clock(), 0.0),
            )
            newest = self._kept[-1] if self._kept else None
        return newest if newest is not None and newest.at_s >= since_s else None

    def period_s(self, deadline_s: float) -> float | None:
        """Usual time between two states in [s]; None when too few come by the deadline."""
        with self._news:
            self._news.wait_for(
                lambda: len(self._kept) > GAPS, max(deadline_s - self._clock(), 0.0)
            )
            times = [state.at_s for state in self._kept][-GAPS - 1 :]
        return float(np.median(np.diff(times))) if len(times) > GAPS else None

    def moved(self, start_s: float, end_s: float, dense_s: float) -> np.ndarray:
        """(J,) by how much the joints moved between two times in the past, in [rad].

        Positions are interpolated between states that are less than `dense_s` apart. Where they
        are further apart, the last one before the motion and the first one after it count: the
        arm must rest at both ends.
        """
        with self._news:
            states = list(self._kept)
        before = self._around(states, start_s, dense_s, outside=0)
        after = self._around(states, end_s, dense_s, outside=1)
        return self._way(before, after)

    def _around(
        self, states: list[Measured], time_s: float, dense_s: float, outside: int
    ) -> np.ndarray:
        """(J,) positions at a time; of the state before (0) or after (1) it where they are rare."""
        later = next((i for i, state in enumerate(states) if state.at_s >= time_s), len(states))
        pair = states[max(later - 1, 0)], states[min(later, len(states) - 1)]
        gap_s = pair[1].at_s - pair[0].at_s
        if not 0.0 < gap_s < dense_s:
            return pair[outside].positions
        share = (time_s - pair[0].at_s) / gap_s
        return pair[0].positions + share * self._way(pair[0].positions, pair[1].positions)

    def _way(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        way = end - start
        return np.where(self._turns_freely, wrapped(way), way)

    def _read(self, message: JointState) -> Measured | None:
        try:
            where = [message.name.index(name) for name in self._names]
            positions = np.array([message.position[index] for index in where])
            velocities = np.zeros(len(where))
            if message.velocity:
                velocities = np.array([message.velocity[index] for index in where])
        except (ValueError, IndexError):
            return None
        if not (np.isfinite(positions).all() and np.isfinite(velocities).all()):
            return None
        return Measured(self._clock(), positions, velocities * self._to_rad_s)
