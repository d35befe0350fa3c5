"""How long a test waits for an event, and how."""

from __future__ import annotations

import time
from collections.abc import Callable

# Upper bound in [s] for what normally comes within a second or two. It is not a measure of speed:
# four busy neighbours, or a machine four times slower, must not fail a test.
WAIT_S = 120.0
# Time between two looks at what gives no event to wait for, in [s].
LOOK_S = 0.01


def until(condition: Callable[[], bool], timeout_s: float = WAIT_S) -> bool:
    """Whether the condition comes true in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_S)
    return True


def wait_for(condition: Callable[[], bool], what: str, timeout_s: float = WAIT_S) -> None:
    """Wait until the condition is true.

    Raises:
        AssertionError: it did not come true; the message says what was waited for.
    """
    assert until(condition, timeout_s), f"no {what} within {timeout_s} s"
