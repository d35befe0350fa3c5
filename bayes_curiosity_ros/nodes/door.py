"""The door of every node: what is not as described stays out, and no callback ends the node.

A message of a topic is checked against its description before the node's callback sees it. So is a
request of a service, which is answered with the fitting status. Whatever a callback itself raises
rejects what it was called with. All of it is counted, logged, and told on /diagnostics.
"""

from __future__ import annotations

import inspect
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.nodes.descriptions import checked, description_of
from bayes_curiosity_ros.nodes.status import shortened, status_of
from bayes_curiosity_ros.nodes.wire import Taking, read

# Of one input, no more than one line is logged in this time in [s].
QUIET_S = 1.0
# Time between two reports on /diagnostics, in [s].
REPORT_S = 1.0


class Door:
    """What a node did not let in, by input: a topic, a service or a timer's callback.

    Args:
        warn: says that something was rejected.
        cry: says that a callback failed.
        opened: called at the first rejection.

    Attributes:
        rejected: number of messages and requests that were not as described, or refused.
        failed: number of callbacks that failed of something nobody foresaw.
    """

    def __init__(
        self,
        warn: Callable[[str], object],
        cry: Callable[[str], object],
        opened: Callable[[], object] = lambda: None,
    ) -> None:
        self._warn, self._cry, self._opened = warn, cry, opened
        self.rejected: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self._said_s: dict[str, float] = {}
        self._traced: set[tuple[str, type[Exception]]] = set()
        self._lock = threading.Lock()

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of what stayed out, by input."""
        with self._lock:
            failed = {f"failed {name}": count for name, count in self.failed.items()}
            return {f"rejected {name}": count for name, count in self.rejected.items()} | failed

    def refuse(self, name: str, error: Exception) -> None:
        """Count what came to an input and stays out, and say why."""
        expected = isinstance(error, BayesCuriosityError)
        with self._lock:
            first = not self.rejected and not self.failed
            (self.rejected if expected else self.failed)[name] += 1
        if first:
            try:
                self._opened()
            except RuntimeError as trouble:  # what stays out may not end the node in this way
                self._cry(f"no report on /diagnostics: {trouble}")
        if not expected and (name, type(error)) not in self._traced:
            self._traced.add((name, type(error)))
            self._cry(f"{name} failed: {''.join(traceback.format_exception(error))}")
        elif time.monotonic() - self._said_s.get(name, -QUIET_S) >= QUIET_S:
            self._said_s[name] = time.monotonic()
            self._warn(f"{name} rejected: {shortened(error)}")

    def let_in(self, name: str, kind: Any, data: bytes) -> Any:
        """The message that some bytes are, as described; None where they stay out."""
        try:
            return checked(read(kind, data))
        except Exception as error:
            self.refuse(name, error)
            return None

    def guarded(self, name: str, call: Callable[..., Any]) -> Callable[..., None]:
        """The same call; what it raises is counted and logged."""

        def guarded(*arguments: Any) -> None:
            try:
                call(*arguments)
            except Exception as error:
                self.refuse(name, error)

        return guarded

    def checking(self, name: str, kind: Any, call: Callable[[Any], Any]) -> Callable[..., None]:
        """A topic's callback behind this door."""
        description = description_of(kind)
        if description is None:
            return self.guarded(name, call)
        check, refuse = description.check, self.refuse

        def take(message: Any) -> None:
            try:
                check(message)
                call(message)
            except Exception as error:
                refuse(name, error)

        return take

    def answering(self, name: str, kind: Any, call: Callable[..., Any]) -> Callable[..., Any]:
        """A service's callback behind this door; what it raises becomes its answer."""
        description_of(kind.Request)  # that there is none is told before the first request

        def refused(error: Exception) -> Any:
            self.refuse(name, error)
            return refusal(kind.Response(), error)

        async def answer_later(request: Any, response: Any) -> Any:
            try:
                return await call(checked(request), response)
            except Exception as error:
                return refused(error)

        def answer(request: Any, response: Any) -> Any:
            try:
                return call(checked(request), response)
            except Exception as error:
                return refused(error)

        return answer_later if inspect.iscoroutinefunction(call) else answer


class _Stepping(Taking):
    """Messages of control steps behind a door."""

    def __init__(self, name: str, taking: Taking, door: Door) -> None:
        super().__init__(taking.kind, door.checking(name, taking.kind, taking.callback))
        self._name, self._door = name, door

    def __call__(self, data: bytes) -> None:
        try:
            message = read(self.kind, data)
        except Exception as error:
            self._door.refuse(self._name, error)
        else:
            self.callback(message)


def refusal(response: Any, error: Exception) -> Any:
    """A service's answer that says why nothing was done."""
    if hasattr(response, "status"):
        response.status = status_of(error)
    elif hasattr(response, "success"):
        response.success, response.message = False, shortened(error)
    return response


class CheckedInputs:
    """For every node, before `Node` among the bases: all its inputs are behind one door."""

    @cached_property
    def door(self) -> Door:
        """Made when rclpy's own part of the node needs it."""
        node: Any = self
        return Door(
            lambda words: node.get_logger().warning(words),
            lambda words: node.get_logger().error(words),
            self._report_from_now_on,
        )

    def create_subscription(self, *arguments: Any, raw: bool = False, **options: Any) -> Any:
        kind, topic, callback, *qos = arguments
        if isinstance(callback, Taking):
            callback = _Stepping(topic, callback, self.door)
        elif raw:  # whoever takes bytes asks the door what they are
            callback = self.door.guarded(topic, callback)
        else:
            callback = self.door.checking(topic, kind, callback)
        make = super().create_subscription  # type: ignore[misc]
        return make(kind, topic, callback, *qos, raw=raw, **options)

    def create_service(self, *arguments: Any, **options: Any) -> Any:
        kind, name, callback = arguments
        answering = self.door.answering(name, kind, callback)
        return super().create_service(kind, name, answering, **options)  # type: ignore[misc]

    def create_timer(self, *arguments: Any, **options: Any) -> Any:
        period_s, callback, *more = arguments
        name = getattr(callback, "__name__", "timer").strip("_")
        guarded = self.door.guarded(name, callback)
        return super().create_timer(period_s, guarded, *more, **options)  # type: ignore[misc]

    def _report_from_now_on(self) -> None:
        """On /diagnostics, where something was rejected; who never did has no topic for it."""
        topic = super().create_publisher(DiagnosticArray, "/diagnostics", 10)  # type: ignore[misc]
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        told: dict[str, int] = {}

        def report() -> None:
            if (counts := self.door.counts) != told:
                told.update(counts)
                topic.publish(self._diagnosis(counts))

        self.create_timer(REPORT_S, report, clock=steady)

    def _diagnosis(self, counts: dict[str, int]) -> DiagnosticArray:
        node: Any = self
        failed = sum(self.door.failed.values())
        status = DiagnosticStatus(
            level=DiagnosticStatus.ERROR if failed else DiagnosticStatus.WARN,
            name=f"{node.get_fully_qualified_name()}: inputs",
            message=f"{sum(counts.values()) - failed} rejected, {failed} failed",
            values=[KeyValue(key=key, value=str(count)) for key, count in counts.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = node.get_clock().now().to_msg()
        return array


class CheckedNode(CheckedInputs, Node):
    """A node whose inputs are all behind its door."""
