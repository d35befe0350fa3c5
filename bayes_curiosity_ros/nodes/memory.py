"""Memory that a process no longer needs."""

from __future__ import annotations

import ctypes
from typing import Any

from bayes_curiosity_ros.nodes.run import STEADY_CLOCK

# Time between two returns of memory to the system, in [s]: each takes a millisecond.
GIVE_BACK_S = 1.0


def give_back_now_and_then(node: Any) -> None:
    """For nodes that hold much for a moment, again and again."""
    node.create_timer(GIVE_BACK_S, give_back, clock=STEADY_CLOCK)


def give_back() -> None:
    """Return memory that was freed to the system, where the C library knows how (glibc).

    It keeps what lies between blocks that are in use. A node that holds many messages for a moment
    would stay as large as at its worst moment, and a little larger after every worse one.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
