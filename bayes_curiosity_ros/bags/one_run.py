"""One run at a time in a bag: messages of another one in the same graph are left out, counted."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from bayes_curiosity_ros.bags.peek import LEARNER_STATUS, STEP_TYPES, UNREADABLE, run_of
from bayes_curiosity_ros.bags.storage import Record
from bayes_curiosity_ros.runs import NOBODY, SILENCE_S, OtherRunError, Tenancy

OF_A_RUN = STEP_TYPES | {LEARNER_STATUS}


class OneRun:
    """Says of each message whether it belongs to the run that is recorded: the first one heard.

    When that is over, or silent for long, the next one is recorded.

    Args:
        clock: monotonic time in [s].

    Attributes:
        runs: the runs recorded so far, in their order.
        strangers: number of messages of other runs, by topic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._tenancy = Tenancy("recorder", SILENCE_S, clock)
        self._over: set[int] = set()
        self.runs: list[int] = []
        self.strangers: Counter[str] = Counter()

    def keeps(self, record: Record, type_name: str) -> bool:
        """Whether to record a message; one that names no run while none is under way, too."""
        if type_name not in OF_A_RUN:
            return True
        try:
            run = run_of(type_name, record.data)
            if run not in self._over:  # late words of one that has ended
                self._tenancy.take(run)
        except OtherRunError:
            self.strangers[record.topic] += 1
            return False
        except UNREADABLE:
            return True  # damaged: whoever reads the bag is told
        if run not in (NOBODY, *self.runs):
            self.runs.append(run)
        return True

    def end(self, run: int) -> None:
        """The run is over, as its learner says."""
        self._over.add(run)
        self._tenancy.leave(run)
