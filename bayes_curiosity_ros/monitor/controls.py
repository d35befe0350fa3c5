"""Several watch, one holds the controls: taken and given by a button, lost with the browser."""

from __future__ import annotations

from collections.abc import Callable

# Whoever holds the controls and was not heard of for so long in [s] loses them.
GONE_S = 10.0
# Targets of a browser that was not heard of for so long in [s] are not published any more.
SILENT_S = 1.0


class Controls:
    """Who holds the controls, and whether that one drives the hand.

    Args:
        now_s: clock in [s].

    Attributes:
        holder: number of the viewer; None where nobody holds them.
        driving: whether the holder drives the hand.
    """

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._heard_s = 0.0
        self.holder: int | None = None
        self.driving = False

    def take(self, viewer: int) -> bool:
        """Whether a viewer holds them now; another's are not taken away."""
        if self.holder is None:
            self.holder, self.driving = viewer, False
        if self.holder == viewer:
            self._heard_s = self._now_s()
        return self.holder == viewer

    def give(self, viewer: int) -> bool:
        """Whether the viewer held them; nobody does now."""
        if self.holder != viewer:
            return False
        self.holder, self.driving = None, False
        return True

    def hear(self, viewer: int, at_s: float) -> None:
        """A viewer's browser answered at this time."""
        if self.holder == viewer:
            self._heard_s = max(self._heard_s, at_s)

    @property
    def heard(self) -> bool:
        """Whether the holder's browser answered a moment ago."""
        return self.holder is not None and self._now_s() - self._heard_s < SILENT_S

    def expire(self) -> int | None:
        """The viewer that just lost them, as its browser is gone; None where nobody did."""
        if self.holder is None or self._now_s() - self._heard_s < GONE_S:
            return None
        lost, self.holder, self.driving = self.holder, None, False
        return lost
