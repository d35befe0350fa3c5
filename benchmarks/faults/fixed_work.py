"""A fixed piece of work, to tell a slow machine from slow nodes.

Neighbours slow a processor down, by taking its caches and its memory's time too: a loop that needs
neither does not notice. So the work is what nodes do: Python, small arrays, messages as large as
an image through the system, and memory that no cache holds.
"""

from __future__ import annotations

import socket
import time
from types import TracebackType

import numpy as np

LOOPS, MESSAGES, PLACES = 10_000, 4000, 1_000_000
MESSAGE = bytes(16 * 1024)
MEMORY = 1 << 23  # float64 numbers: 64 MB


class FixedWork:
    """What the work needs, for as long as the context lasts."""

    def __enter__(self) -> FixedWork:
        self._ends = socket.socketpair()
        self._memory = np.ones(MEMORY)
        self._places = np.random.default_rng(0).integers(MEMORY, size=PLACES)
        self.cpu_s()  # to warm up
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for end in self._ends:
            end.close()

    def cpu_s(self) -> float:
        """Processor time in [s] that the work takes at this moment."""
        began = time.process_time()
        self._calculate()
        self._send()
        self._memory[self._places].sum()
        return time.process_time() - began

    def _calculate(self) -> None:
        vector = np.zeros(64)
        for number in range(LOOPS):
            vector[number % 64] += float(np.dot(vector, vector)) + len(str(number))
            vector *= 0.5

    def _send(self) -> None:
        here, there = self._ends
        for _ in range(MESSAGES):
            here.sendall(MESSAGE)
            received = 0
            while received < len(MESSAGE):
                received += len(there.recv(len(MESSAGE)))
