"""Which run a node works for: one at a time, so that two learners never share an arm unawares."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.files import write_atomically

FILE = ".run"
# Who names no run: an old bag's messages, a user's own node.
NOBODY = 0
# A node gives a run up that was not heard for so long, in [s], where another asks for it.
SILENCE_S = 20.0


class OtherRunError(BayesCuriosityError):
    """A node works for another run than the one that asks, or for none yet."""


def new_run() -> int:
    """A run's id: never NOBODY, and never of a seeded generator, as equal seeds may meet."""
    return int.from_bytes(os.urandom(8), "little") or 1


def run_in(folder: Path, again: bool) -> int:
    """Id of the run that a learner begins in a folder.

    Args:
        folder: folder of the run.
        again: whether whoever saw a learner die there started this one in its place: it goes on
            with that one's id, as arm and curiosity still work for it.
    """
    with suppress(OSError, ValueError):
        known = int((folder / FILE).read_text(), 16) if again else NOBODY
        if 0 < known < 1 << 64:
            return known
    return new_run()


def keep_run(folder: Path, run: int) -> None:
    """Have `run_in` find the id again."""
    write_atomically(folder / FILE, f"{run:016x}\n".encode())


def strangers_heard(count: int, run: int) -> str:
    """What a learner heard of other runs, in words; empty for nothing."""
    if not count:
        return ""
    return (
        f"{count} messages of other runs ignored by {name_of(run)}: another stack is in this ROS "
        "domain"
    )


def name_of(run: int) -> str:
    """A run in words."""
    return f"run {run:016x}" if run else "no run in particular"


class Tenancy:
    """The run that a node works for.

    A learner takes the node and leaves it when it is over; one that is silent for too long loses
    it to whoever asks next. While nobody has it, the node serves whoever names no run.

    Args:
        what: the node, in words.
        silence_s: a run that was not heard for so long, in [s], may be replaced.
        clock: monotonic time in [s].

    Attributes:
        run: whom the node works for; NOBODY while it is free.
        strangers: number of requests and messages of others so far.
    """

    def __init__(self, what: str, silence_s: float, clock: Callable[[], float]) -> None:
        self.run = NOBODY
        self.strangers = 0
        self._what = what
        self._silence_s = silence_s
        self._clock = clock
        self._heard_s = 0.0

    def take(self, run: int) -> None:
        """Work for this run from now on.

        Raises:
            OtherRunError: another run has the node, and is not silent.
        """
        if self._left_s() > 0.0:
            self.require(run)
        self.run, self._heard_s = run, self._clock()

    def leave(self, run: int) -> None:
        """The run is over; nothing where it does not have the node."""
        if run == self.run:
            self.run = NOBODY

    def ask(self, run: int) -> None:
        """Check a request that somebody may wait for: one who names no run need not wait on.

        Raises:
            OtherRunError: the node works for another run, or for none.
        """
        if run == NOBODY:
            self.take(NOBODY)
        else:
            self.require(run)

    def require(self, run: int) -> None:
        """Check a message or request.

        Raises:
            OtherRunError: the node works for another run, or for none.
        """
        if run != self.run:
            self.strangers += 1
            raise OtherRunError(self._refusal(run))
        self._heard_s = self._clock()

    def _left_s(self) -> float:
        """How long the run may still be silent, in [s]; 0 where nobody has the node."""
        if self.run == NOBODY:
            return 0.0
        return max(0.0, self._silence_s - (self._clock() - self._heard_s))

    def _refusal(self, run: int) -> str:
        if self.run == NOBODY:
            return f"the {self._what} does not work for {name_of(run)}: that has not taken it"
        return (
            f"the {self._what} is in use by {name_of(self.run)}; end that learner, or wait until "
            f"it has been silent for {self._silence_s:g} s (now {self._left_s():.0f} s more)"
        )
