"""How long a call takes."""

from __future__ import annotations

import time
from collections.abc import Callable

MIN_REPETITION_S = 0.05


def calls_per_repetition(call: Callable[[], object]) -> int:
    """How many calls make a repetition long enough to be timed; warms the call up."""
    for _ in range(3):
        call()
    calls = 1
    while repetition_s(call, calls) * calls < MIN_REPETITION_S:
        calls *= 2
    return calls


def repetition_s(call: Callable[[], object], calls: int) -> float:
    """Mean duration in [s] of one call over a repetition of `calls`."""
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls
