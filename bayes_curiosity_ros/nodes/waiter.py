"""Waiting for the graph in one thread: every wait has a limit and says what it waits for."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rclpy.client import Client
from rclpy.executors import Executor
from rclpy.task import Future

from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.nodes.descriptions import checked
from bayes_curiosity_ros.nodes.executor import KeepingExecutor
from bayes_curiosity_ros.nodes.peers import Peers
from bayes_curiosity_ros.nodes.run import WAKE_S, Ending

# Of one turn of serving callbacks, so much counts as waiting at most, in [s]: a process that was
# stopped, or had no core, could not see what came meanwhile.
COUNTED_S = 2 * WAKE_S
# After this time in [s] without an answer, who may ask again does.
AGAIN_S = 2.0


class WaitTimeoutError(BayesCuriosityError):
    """Something did not happen in time."""


class PeerChangedError(BayesCuriosityError):
    """Another process came in the place of the one that was asked."""


class EndedError(BayesCuriosityError):
    """A signal asked for the end."""


class Waiter:
    """Serves callbacks while it waits; there is no other thread to hand over from."""

    def __init__(self, executor: Executor, ending: Ending) -> None:
        self._executor = executor
        self._ending = ending
        self._spin_step = executor.spin_once
        if isinstance(executor, KeepingExecutor):
            self._spin_step = executor.spin_step

    def until(
        self, ready: Callable[[], object], timeout_s: float, what: str, step: bool = False
    ) -> None:
        """Serve callbacks until `ready`.

        Args:
            ready: whether it happened.
            timeout_s: longest wait; time in which no callback could be served does not count.
            what: what is waited for, in words.
            step: whether a control step brings it; callbacks of all else may then come later.

        Raises:
            WaitTimeoutError: not in time; the message says what was waited for.
            EndedError: a signal came.
        """
        waited_s = 0.0
        spin = self._spin_step if step else self._executor.spin_once
        while not ready():
            if self._ending.wanted:
                raise EndedError(self._ending.wanted)
            if waited_s > timeout_s:
                raise WaitTimeoutError(f"{what}: nothing within {timeout_s} s")
            began_s = time.monotonic()
            spin(timeout_sec=WAKE_S)
            waited_s += min(time.monotonic() - began_s, COUNTED_S)

    def pause(self, duration_s: float) -> None:
        """Serve callbacks for a while."""
        with suppress(WaitTimeoutError):
            self.until(lambda: False, duration_s, "")

    def call(
        self, client: Client, request: Any, timeout_s: float, peers: Peers | None = None
    ) -> Any:
        """Call a service and wait for its answer."""
        return self.answer(client, client.call_async(request), timeout_s, peers)

    def call_again(
        self, client: Client, request: Any, timeout_s: float, peers: Peers | None = None
    ) -> Any:
        """Call a service that may be called twice, until an answer comes.

        What a server answers before it has met us is lost, though it heard us.
        """
        for _ in range(max(1, round(timeout_s / AGAIN_S))):
            with suppress(WaitTimeoutError):
                return self.call(client, request, min(AGAIN_S, timeout_s), peers)
        raise WaitTimeoutError(f"answer of {client.srv_name}: nothing within {timeout_s} s")

    def answer(
        self, client: Client, future: Future, timeout_s: float, peers: Peers | None = None
    ) -> Any:
        """Wait for the answer to a call that was made before.

        Args:
            client: client of the service.
            future: what the call gave.
            timeout_s: longest wait.
            peers: processes that heard the call, where it matters.

        Raises:
            InputError: the answer is not as described.
            WaitTimeoutError: not in time.
            PeerChangedError: there is a process now that did not hear the call.
        """
        what = f"answer of {client.srv_name}"
        try:
            self.until(lambda: future.done() or (peers and peers.changed), timeout_s, what)
            if not future.done():
                raise PeerChangedError(f"{what}: its node was started again meanwhile")
        except BayesCuriosityError:
            client.remove_pending_request(future)
            raise
        return checked(future.result())
