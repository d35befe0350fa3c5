"""Waiting for the graph in one thread: every wait has a limit and says what it waits for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.client import Client
from rclpy.executors import Executor
from rclpy.task import Future

from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.nodes.executor import KeepingExecutor
from bayes_curiosity_ros.nodes.run import WAKE_S, Ending


class WaitTimeoutError(BayesCuriosityError):
    """Something did not happen in time."""


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
            timeout_s: longest wait.
            what: what is waited for, in words.
            step: whether a control step brings it; callbacks of all else may then come later.

        Raises:
            WaitTimeoutError: not in time; the message says what was waited for.
            EndedError: a signal came.
        """
        deadline = time.monotonic() + timeout_s
        spin = self._spin_step if step else self._executor.spin_once
        while not ready():
            if self._ending.wanted:
                raise EndedError(self._ending.wanted)
            if time.monotonic() > deadline:
                raise WaitTimeoutError(f"{what}: nothing within {timeout_s} s")
            spin(timeout_sec=WAKE_S)

    def call(self, client: Client, request: Any, timeout_s: float) -> Any:
        """Call a service and wait for its answer."""
        return self.answer(client, client.call_async(request), timeout_s)

    def answer(self, client: Client, future: Future, timeout_s: float) -> Any:
        """Wait for the answer to a call that was made before."""
        try:
            self.until(future.done, timeout_s, f"answer of {client.srv_name}")
        except BayesCuriosityError:
            client.remove_pending_request(future)
            raise
        return future.result()
