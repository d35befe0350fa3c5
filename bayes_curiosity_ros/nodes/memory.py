"""Memory that a process no longer needs."""

from __future__ import annotations

import ctypes


def give_back() -> None:
    """Return memory that was freed to the system, where the C library knows how (glibc).

    It keeps what lies between blocks that are in use. A node that holds many messages for a moment
    would stay as large as at its worst moment, and a little larger after every worse one.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
