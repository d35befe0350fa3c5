"""Looking at an arm at rest: it can fail there, too."""

from __future__ import annotations

from collections.abc import Callable

from bayes_curiosity_ros.robot.arms.arm import Arm, ArmError

# Time between two looks, in [s].
POLL_S = 0.1
# An answer that is late at rest endangers nobody; so many in a row are a fault.
MISSES = 2


class RestingLook:
    """Asks an arm for its state now and then.

    Args:
        arm: the arm.
        timeout_s: longest wait for an answer, in [s].
        clock: monotonic time in [s].
    """

    def __init__(self, arm: Arm, timeout_s: float, clock: Callable[[], float]) -> None:
        self._arm, self._timeout_s, self._clock = arm, timeout_s, clock
        self._looked_s, self._misses = 0.0, 0

    def trouble(self) -> ArmError | None:
        """What is wrong with the arm; None while nothing is, and where no look is due."""
        if self._clock() - self._looked_s < POLL_S:
            return None
        self._looked_s = self._clock()
        try:
            self._arm.state(self._timeout_s)
        except ArmError as error:
            self._misses += 1
            return error if self._misses >= MISSES else None
        self._misses = 0
        return None
