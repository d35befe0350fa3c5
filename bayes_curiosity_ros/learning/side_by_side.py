"""Runs side by side in one process, which do together what each would do alone.

A run of a small task spends its time on calls, not on numbers: to step 300 episodes takes twice as
long as to step ten. Runs that want episodes wait until all do, and then these run in one
simulation; likewise with updates of networks. Every run has its own sources of randomness, so that
its results are the same bits as alone.

Each run is an ordinary function in a thread of its own, and only one of them goes on at a time, in
their order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.off_policy import OffPolicy, Updates, run_updates
from bayes_curiosity_ros.learning.rollout import Wave, run_wave, run_waves

T = TypeVar("T")
Wish = Wave | Updates[OffPolicy]


class Executor:
    """Does what a run wants done, at once."""

    def run_wave(self, wave: Wave) -> Episodes:
        """Run episodes."""
        return run_wave(wave)

    def run_updates(self, updates: Updates[OffPolicy]) -> float:
        """Let a learner learn from its memory."""
        return run_updates(updates)


class AbandonedError(BaseException):
    """Another run has failed: this one ends where it waits."""


def side_by_side(bodies: Sequence[Callable[[Executor], T]]) -> list[T]:
    """What each of these functions returns; what one of them raises ends all.

    Args:
        bodies: functions of what does their work; all have the same task and kind of learner.
    """
    runs = [Run(body) for body in bodies]
    try:
        waiting = [run for run in runs if run.go_on()]
        while waiting:
            for wanted in (Wave, Updates):
                fulfil([run for run in waiting if isinstance(run.wish, wanted)])
            waiting = [run for run in waiting if run.go_on()]
    finally:
        for run in runs:
            run.abandon()
    return [run.result for run in runs]


def fulfil(runs: Sequence[Run[T]]) -> None:
    """Do what these runs want, all of them the same kind of thing."""
    wishes = [run.wish for run in runs]
    if not wishes:
        return
    if isinstance(wishes[0], Wave):
        answers = run_waves(wishes)
    else:
        answers = type(wishes[0].learner).learn_together(wishes)
    for run, answer in zip(runs, answers, strict=True):
        run.answer = answer


class Run(Executor, Generic[T]):
    """A function in a thread, which stands still whenever it wants something done.

    Args:
        body: function of what does its work.

    Attributes:
        wish: what it waits for.
        answer: what came of it.
        result: what the function returned.
    """

    wish: Any
    answer: Any
    result: T

    def __init__(self, body: Callable[[Executor], T]) -> None:
        self._body = body
        self._turn, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._error: BaseException | None = None
        self._abandoned = False
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()

    def go_on(self) -> bool:
        """Let it go on until it wants something; False: it has ended. Raises what it raised."""
        self._turn.release()
        self._back.acquire()
        if self._error is not None:
            raise self._error
        return not hasattr(self, "result")

    def abandon(self) -> None:
        """End it where it stands; nothing happens to one that has ended."""
        self._abandoned = True
        self._turn.release()
        self._thread.join()

    def run_wave(self, wave: Wave) -> Episodes:
        return self._wait_for(wave)

    def run_updates(self, updates: Updates[OffPolicy]) -> float:
        return self._wait_for(updates)

    def _live(self) -> None:
        try:
            self._await_turn()
            self.result = self._body(self)
        except BaseException as error:  # the caller's thread raises it
            self._error = error
        finally:
            self._back.release()

    def _wait_for(self, wish: Wish) -> Any:
        self.wish = wish
        self._back.release()
        self._await_turn()
        return self.answer

    def _await_turn(self) -> None:
        self._turn.acquire()
        if self._abandoned:
            raise AbandonedError
