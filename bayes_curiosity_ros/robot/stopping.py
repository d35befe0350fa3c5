"""Bringing an arm to rest: it is stopped again and again until standstill was measured."""

from __future__ import annotations

import threading
from collections.abc import Callable

from bayes_curiosity_ros.robot.arms.arm import Arm, ArmError

# Time between two attempts to stop an arm that still moves, in [s].
RETRY_S = 0.1
# Time between two looks at an arm that comes to rest, in [s].
LOOK_S = 0.02


class Stopping:
    """One stop at a time.

    `begin` and `attempt` never raise: what went wrong is kept in `trouble`. `begin` may be called
    from any thread, and never waits for another thread's attempt.

    Args:
        arm: the arm to stop.
        clock: monotonic time in [s].
        pause: waits for a time in [s].

    Attributes:
        reason: why it is stopped.
        trouble: what the last attempt failed of; empty where none failed.
        under_way: whether standstill has yet to be measured.
    """

    def __init__(
        self, arm: Arm, clock: Callable[[], float], pause: Callable[[float], None]
    ) -> None:
        self._arm = arm
        self._clock, self._pause = clock, pause
        self._measuring = threading.Lock()
        self._begun_s = self._sent_s = 0.0
        self.reason = self.trouble = ""
        self.under_way = False

    @property
    def lasted_s(self) -> float:
        """Time since the stop began, in [s]."""
        return self._clock() - self._begun_s

    def begin(self, reason: str) -> None:
        """Stop the arm now, and from now on until it stands still."""
        self.reason, self._begun_s, self.under_way = reason, self._clock(), True
        self._send()

    def attempt(self) -> bool:
        """Measure, and stop once more where that is due; whether the arm stands still."""
        with self._measuring:
            if self.under_way and self._is_still():
                self.under_way = False
        if self.under_way and self._clock() - self._sent_s >= RETRY_S:
            self._send()
        return not self.under_way

    def comes_to_rest(self, timeout_s: float) -> bool:
        """Whether the stop under way, if any, ends in standstill in time."""
        deadline_s = self._clock() + timeout_s
        while self.under_way and not self.attempt():
            if self._clock() > deadline_s:
                return False
            self._pause(LOOK_S)
        return True

    def require_rest(self, timeout_s: float) -> None:
        """Measure standstill anew; an arm that moves is stopped.

        Raises:
            ArmError: no standstill was measured in time.
        """
        if not self.under_way and not self._still_within(timeout_s):
            self.begin("the arm moved when it should have stood still")
        if not self.comes_to_rest(timeout_s):
            raise ArmError(
                f"no standstill was measured: {self.trouble or 'the arm moves'}; see that it "
                "stands, by its emergency stop if need be, and that it answers"
            )

    def require_still(self, timeout_s: float) -> None:
        """Wait for standstill without stopping the arm.

        Raises:
            ArmError: it moves on.
        """
        if not self._still_within(timeout_s):
            raise ArmError(f"the arm arrived, but moves still after {timeout_s} s")

    def _still_within(self, timeout_s: float) -> bool:
        deadline_s = self._clock() + timeout_s
        while not self._measured():
            if self._clock() > deadline_s:
                return False
            self._pause(LOOK_S)
        return True

    def _measured(self) -> bool:
        with self._measuring:
            return self._arm.is_still()

    def _send(self) -> None:
        self._sent_s = self._clock()
        try:
            self._arm.stop(self.reason)
        except Exception as error:  # whatever it is, the next attempt must come
            self.trouble = f"the stop failed: {error}"
        else:
            self.trouble = ""

    def _is_still(self) -> bool:
        try:
            return self._arm.is_still()
        except Exception as error:  # as above
            self.trouble = f"standstill cannot be measured: {error}"
            return False
