"""Numbers and times of message fields."""

from __future__ import annotations

import array
import math

import numpy as np
from builtin_interfaces.msg import Time

from bayes_curiosity_ros.nodes.wire import fresh


def doubles(values: np.ndarray) -> array.array:
    """A float64[] field's value; a list would cost a check per number."""
    return array.array("d", np.ascontiguousarray(values, dtype=np.float64).tobytes())


def stamp_of(seconds: float) -> Time:
    """A time of day or of simulation, rounded to nanoseconds."""
    whole = math.floor(seconds)
    nanoseconds = round((seconds - whole) * 1e9)
    if nanoseconds == 1_000_000_000:
        whole, nanoseconds = whole + 1, 0
    stamp = fresh(Time)
    stamp.sec, stamp.nanosec = whole, nanoseconds
    return stamp


def seconds_of(stamp: Time) -> float:
    """The reverse of `stamp_of`."""
    return float(stamp.sec + stamp.nanosec * 1e-9)
