"""An executor for nodes in the loop of control steps: it keeps its wait set.

rclpy's own gathers all entities of a node before every wait, wraps every callback into a task, and
wakes itself up twice after each: 0.3 ms of a control step. `rclpy.experimental.EventsExecutor`
(rclpy 7.1.6) was tried: with the arm node it takes up a core and ends on no signal.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.subscription import Subscription
from rclpy.utilities import timeout_sec_to_nsec
from rclpy.waitable import NumberOfEntities

KINDS = ("timer", "subscription", "client", "service")


class LeanExecutor(SingleThreadedExecutor):
    """Serves plain callbacks itself, in one wake, and leaves everything else to rclpy.

    Everything else is: coroutines, tasks, guard conditions, waitables. `spin_once` serves all that
    one wake has found, which may be nothing. Use it from one thread.
    """

    def __init__(self, *, context: Context | None = None) -> None:
        self._entities: _Entities | None = None
        super().__init__(context=context)

    def wake(self) -> None:
        """Called by a node whose entities have changed, and to end a wait."""
        self._entities = None
        super().wake()

    def _spin_once_impl(
        self,
        timeout_sec: Any = None,
        wait_condition: Callable[[], bool] = lambda: False,
    ) -> None:
        if self._tasks_left() or self._is_shutdown or wait_condition():
            super()._spin_once_impl(timeout_sec, wait_condition)
            return
        if self._entities is None:
            guards = (self._guard, self._sigint_gc)
            self._entities = _Entities(self.get_nodes(), guards, self.context)
        entities = self._entities
        entities.wait(timeout_sec_to_nsec(getattr(timeout_sec, "timeout", timeout_sec)))
        if not self.context.ok():
            raise ExternalShutdownException()
        if entities.woken():
            self._entities = None
        for kind, entity in entities.ready():
            self._serve(kind, entity)
        if entities.others_ready():
            super()._spin_once_impl(0.0)

    def _tasks_left(self) -> bool:
        with self._tasks_lock:
            self._tasks = [task for task in self._tasks if not task[0].done()]
            return bool(self._tasks)

    def _serve(self, kind: str, entity: Any) -> None:
        if kind == "timer" and not _is_due(entity):
            return
        group = entity.callback_group
        if not group.beginning_execution(entity):
            return
        try:
            if kind == "subscription":
                _deliver(entity)
            else:
                _run(getattr(self, f"_take_{kind}")(entity))
        finally:
            group.ending_execution(entity)


class _Entities:
    """What some nodes wait for, with the wait set for it.

    Args:
        nodes: whose entities.
        guards: guard conditions of the executor, which only wake it.
        context: context of the nodes.
    """

    def __init__(self, nodes: Iterable[Any], guards: Iterable[Any], context: Context) -> None:
        nodes = list(nodes)
        self._waitables = [one for node in nodes for one in node.waitables]
        self._guards = {gc.handle.pointer: gc for node in nodes for gc in node.guards}
        self._own = {gc.handle.pointer: gc for gc in guards}
        self._by_kind: dict[str, dict[int, Any]] = {
            kind: {one.handle.pointer: one for node in nodes for one in getattr(node, f"{kind}s")}
            for kind in KINDS
        }
        self._awaited = {
            pointer
            for entities in self._by_kind.values()
            for pointer, one in entities.items()
            if inspect.iscoroutinefunction(getattr(one, "callback", None))
        }
        self._set = self._new_set(context)
        self._ready: dict[str, list[int]] = {}

    def wait(self, timeout_ns: int) -> None:
        """Wait until something is ready; -1 is for ever."""
        wait_set = self._set
        wait_set.clear_entities()
        for add, handle in self._additions:
            add(handle)
        for waitable in self._waitables:
            waitable.add_to_wait_set(wait_set)
        wait_set.wait(timeout_ns)
        kinds = (*KINDS, "guard_condition")
        self._ready = {kind: wait_set.get_ready_entities(kind) for kind in kinds}

    def ready(self) -> list[tuple[str, Any]]:
        """What has a plain callback and is ready, by kind."""
        return [
            (kind, self._by_kind[kind][pointer])
            for kind in KINDS
            for pointer in self._ready[kind]
            if pointer not in self._awaited
        ]

    def woken(self) -> bool:
        """Whether the executor was told to look again at what there is."""
        return any(pointer in self._own for pointer in self._ready["guard_condition"])

    def others_ready(self) -> bool:
        """Whether something is ready that rclpy has to serve."""
        triggered = [self._guards[p] for p in self._ready["guard_condition"] if p in self._guards]
        for guard in triggered:
            guard._executor_triggered = True
        awaited = any(p in self._awaited for kind in KINDS for p in self._ready[kind])
        return bool(triggered or awaited or any(w.is_ready(self._set) for w in self._waitables))

    def _new_set(self, context: Context) -> Any:
        counts = {kind: len(self._by_kind[kind]) for kind in KINDS}
        total = NumberOfEntities(
            counts["subscription"],
            len(self._guards) + len(self._own),
            counts["timer"],
            counts["client"],
            counts["service"],
        )
        for waitable in self._waitables:
            total += waitable.get_num_entities()
        wait_set = _rclpy.WaitSet(
            total.num_subscriptions,
            total.num_guard_conditions,
            total.num_timers,
            total.num_clients,
            total.num_services,
            total.num_events,
            context.handle,
        )
        guards = {"guard_condition": self._guards | self._own}
        self._additions = [
            (getattr(wait_set, f"add_{kind}"), one.handle)
            for kind, entities in (self._by_kind | guards).items()
            for one in entities.values()
        ]
        return wait_set


def _deliver(subscription: Any) -> None:
    """Take one message, if there is one, to its callback."""
    taken = None
    with suppress(InvalidHandle), subscription.handle:  # invalid where it was just destroyed
        taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
    if taken is None:
        return
    if subscription._callback_type is Subscription.CallbackType.MessageOnly:
        subscription.callback(taken[0])
    else:
        subscription.callback(*taken)


def _is_due(timer: Any) -> bool:
    """Whether it still is, after the other callbacks of the same wake."""
    with suppress(InvalidHandle), timer.handle:
        return bool(timer.handle.is_timer_ready())
    return False


def _run(execute: Callable[[], Any] | None) -> None:
    """Run a coroutine of rclpy's around a plain callback: it has nothing to wait for."""
    if execute is None:
        return
    try:
        execute().send(None)
    except StopIteration:
        return
    raise RuntimeError("a plain callback awaited something; make it a coroutine function")
