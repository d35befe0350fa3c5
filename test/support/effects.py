"""When something took effect on the graph."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from typing import Any

from bayes_curiosity_ros.nodes.background import BackgroundNode
from support.waiting import WAIT_S, until


class Heard:
    """All that is said on a topic, with when it came.

    Attributes:
        last: the newest message; None before there is one.
    """

    def __init__(self, background: BackgroundNode, kind: type, topic: str, qos: Any) -> None:
        self.last: Any = None
        self._messages: queue.Queue[tuple[float, Any]] = queue.Queue()
        background.node.create_subscription(kind, topic, self._put, qos)

    def _put(self, message: Any) -> None:
        self.last = message
        self._messages.put((time.monotonic(), message))

    def after(self, start_s: float, fits: Callable[[Any], bool] = lambda message: True) -> float:
        """Time in [s] from `start_s` to the first message after it that fits."""
        deadline = time.monotonic() + WAIT_S
        while (left := deadline - time.monotonic()) > 0:
            try:
                came_s, message = self._messages.get(timeout=left)
            except queue.Empty:
                break
            if came_s >= start_s and fits(message):
                return came_s - start_s
        raise AssertionError(f"no such message within {WAIT_S} s; the last was {self.last}")


class Effects:
    """How long orders took to have an effect, the shortest time of each in [s].

    A machine whose neighbours are busy makes anything late; what is slow by itself is late
    whenever it is tried. So tries are repeated until one was in time, and the shortest counts.

    Args:
        bound_s: time within which each order has to have its effect.
    """

    def __init__(self, bound_s: float) -> None:
        self.took_s: dict[str, float] = {}
        self._bound_s = bound_s

    def note(self, name: str, took_s: float) -> None:
        """One try took so long."""
        self.took_s[name] = min(took_s, self.took_s.get(name, took_s))

    def require(self, attempt: Callable[[], None], *names: str) -> None:
        """Repeat an attempt, which notes times, until each of these was within the bound."""

        def in_time() -> bool:
            attempt()
            return all(self.took_s[name] <= self._bound_s for name in names)

        assert until(in_time), f"later than {self._bound_s} s, whenever tried: {self.took_s}"
