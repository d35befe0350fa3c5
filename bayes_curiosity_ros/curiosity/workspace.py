"""Buffers kept between calls, one set per thread.

Allocating a megabyte afresh for every batch costs more in page faults than the arithmetic on it
(measured for 2,048 rows of 65 features: 1.9 ms against 0.9 ms, encoder included).
"""

from __future__ import annotations

import threading

import torch
from torch import Tensor

MAX_KEPT_ROWS = 4096


class Workspace(threading.local):
    """Hands out uninitialised buffers; each is valid until its slot is asked for again."""

    def __init__(self) -> None:
        self._buffers: dict[tuple[str, int, torch.dtype], Tensor] = {}

    def take(self, slot: str, rows: int, columns: int, dtype: torch.dtype) -> Tensor:
        """A (rows, columns) buffer of this slot."""
        key = (slot, columns, dtype)
        buffer = self._buffers.get(key)
        if buffer is None or len(buffer) < rows:
            with torch.inference_mode(False):  # to be written to in and out of inference mode
                buffer = torch.empty(rows, columns, dtype=dtype)
            if rows <= MAX_KEPT_ROWS:
                self._buffers[key] = buffer
        return buffer[:rows]


workspace = Workspace()
