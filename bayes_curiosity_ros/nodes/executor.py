"""The executor of nodes with one thread: rclpy's own, which here keeps its wait set.

rclpy's gathers all entities of a node before every wait, wraps each callback into a task, and
wakes itself up twice after it. Empty calls between two of our nodes are about a quarter faster
with this one (`benchmarks.stack`, quiet).

Every entity that is waited for costs another 4 µs per wait, and most are services that nobody
calls. So while control steps follow each other, only their messages are waited for, those that
`wire.Taking` takes, with calls of services in the same callback groups, and the rest is looked at
every few milliseconds.
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import ExitStack
from typing import Any

from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.utilities import timeout_sec_to_nsec
from rclpy.waitable import NumberOfEntities

from bayes_curiosity_ros.nodes.wire import NeverExecuted, Taking

KINDS = ("subscription", "timer", "client", "service")
# Control steps follow each other while the next message comes within this time in [s].
STEP_S = 0.001
# While they do, whatever else is ready waits no longer than this time in [s].
LOOK_S = 0.005
# Looks at everything that brought steps, after which more of them are expected.
ENOUGH = 2
PRIVATE = (
    "_guard",
    "_sigint_gc",
    "_tasks",
    "_tasks_lock",
    "_cb_iter",
    "_is_shutdown",
    *(f"_take_{kind}" for kind in KINDS),
)


def one_thread() -> Executor:
    """An executor of one thread; rclpy's own where its parts are not those that ours needs."""
    usual = SingleThreadedExecutor()
    known = all(hasattr(usual, name) for name in PRIVATE)
    if not known or not hasattr(rclpy_implementation, "WaitSet"):
        return usual
    usual.shutdown()
    return KeepingExecutor()


class KeepingExecutor(SingleThreadedExecutor):
    """Serves one callback per `spin_once`, from a wait set that is kept until entities change.

    What is neither a subscription, a timer, a client nor a service is left to rclpy, and so is a
    callback that awaits something, from there on. Use it from one thread.

    While control steps follow each other, all else waits up to `LOOK_S` for its turn.
    """

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__(context=context)
        self._kept: _WaitSet | None = None
        self._steps: _Steps | None = None
        self._steps_seen = 0  # in so many looks since steps last failed to come
        self._looked_s = 0.0
        self._ready: deque[tuple[str, Any]] = deque()

    def wake(self) -> None:
        """End a wait; nodes call this when their entities have changed."""
        if self._kept is not None:
            self._kept.stale = True
        super().wake()

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        self._let_go()
        return super().shutdown(timeout_sec)

    def spin_once(self, timeout_sec: float | None = None) -> None:
        if self._is_shutdown or (self._tasks and self._unfinished()):
            super().spin_once(timeout_sec)
        elif self._ready or self._wait(timeout_sec):
            self._serve(*self._ready.popleft())

    def spin_step(self, timeout_sec: float | None = None) -> None:
        """As `spin_once`, for who waits for a control step: all else waits up to `LOOK_S`."""
        self._steps_seen = ENOUGH
        self.spin_once(timeout_sec)
        self._steps_seen = 0

    def _unfinished(self) -> bool:
        """Whether rclpy has tasks left."""
        with self._tasks_lock:
            self._tasks = [task for task in self._tasks if not task[0].done()]
            return bool(self._tasks)

    def _wait(self, timeout_sec: float | None) -> bool:
        """Whether something is ready to be served here."""
        if self._kept is None or self._kept.stale:
            self._let_go()
            if not self.context.ok():
                raise ExternalShutdownException()  # there is no wait set without a context
            guards = [self._guard, self._sigint_gc]
            self._kept = _WaitSet(self.get_nodes(), guards, self.context)
            self._steps = _Steps(self._kept, self.context)
        others = self._look(timeout_sec)
        if not self.context.ok():
            raise ExternalShutdownException()
        if others:
            super().spin_once(0.0)
            self._cb_iter = None  # in mid-work it would keep what was destroyed meanwhile
        return bool(self._ready)

    def _look(self, timeout_sec: float | None) -> bool:
        """Wait until something is ready; whether rclpy has something to serve."""
        assert self._kept is not None
        assert self._steps is not None
        if self._steps_seen >= ENOUGH and time.monotonic() - self._looked_s < LOOK_S:
            within_s = STEP_S if timeout_sec is None else min(STEP_S, timeout_sec)
            if self._steps.wait(timeout_sec_to_nsec(within_s), self._ready):
                return False
            self._steps_seen = 0
        others = self._kept.wait(timeout_sec_to_nsec(timeout_sec), self._ready)
        self._looked_s = time.monotonic()
        self._steps_seen += any(_of_steps(*each) for each in self._ready)
        return others

    def _serve(self, kind: str, entity: Any) -> None:
        if kind == "timer" and not entity.handle.is_timer_ready():
            return
        if not entity.callback_group.beginning_execution(entity):
            return
        if _of_steps(kind, entity):
            _serve_step(entity)
            return
        served = _served(entity, getattr(self, f"_take_{kind}"))
        try:
            served.send(None)
        except StopIteration:
            return
        self.create_task(served)

    def _let_go(self) -> None:
        if self._kept is not None:
            self._kept.close()
        self._kept = self._steps = None
        self._ready.clear()


def _of_steps(kind: str, entity: Any) -> bool:
    """Whether this is a subscription that control steps bring messages to."""
    return kind == "subscription" and isinstance(entity.callback, Taking)


def _serve_step(subscription: Any) -> None:
    """Take a message of a control step, if it is still there."""
    try:
        with subscription.handle:
            taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
        if taken is not None:
            subscription.callback(taken[0])
    except InvalidHandle:
        return  # the subscription was destroyed meanwhile
    finally:
        subscription.callback_group.ending_execution(subscription)


async def _served(entity: Any, take: Any) -> None:
    """Take what came, if it is still there, to the entity's callback."""
    try:
        execute = take(entity)
        if execute is not None:
            await execute()
    finally:
        entity.callback_group.ending_execution(entity)


class _Steps:
    """What control steps bring, and what services of their callback groups are asked.

    Args:
        kept: keeps the subscriptions and services from being destroyed.
        context: context of their nodes.
    """

    def __init__(self, kept: _WaitSet, context: Any) -> None:
        messages = [each for each in kept.free("subscription") if _of_steps("subscription", each)]
        groups = [each.callback_group for each in messages]
        calls = [each for each in kept.free("service") if each.callback_group in groups]
        sizes = (len(messages), 0, 0, 0, len(calls), 0)
        self._set = rclpy_implementation.WaitSet(*sizes, context.handle)
        self._adds = [(self._set.add_subscription, each.handle) for each in messages]
        self._adds += [(self._set.add_service, each.handle) for each in calls]
        self._entries = {
            kind: {each.handle.pointer: (kind, each) for each in entities}
            for kind, entities in (("subscription", messages), ("service", calls))
        }

    def wait(self, timeout_ns: int, ready: deque[tuple[str, Any]]) -> bool:
        """Wait until something is ready, and add it; whether something was."""
        wait_set = self._set
        wait_set.clear_entities()
        for add, handle in self._adds:
            add(handle)
        wait_set.wait(timeout_ns)
        for kind, entries in self._entries.items():
            ready.extend(entries[each] for each in wait_set.get_ready_entities(kind))
        return bool(ready)


class _WaitSet:
    """What some nodes wait for; none of it is destroyed before `close`.

    Args:
        nodes: nodes whose entities are waited for.
        guards: guard conditions of the executor: one that is triggered makes this set stale.
        context: context of the nodes.

    Attributes:
        stale: whether entities may have come or gone since.
    """

    def __init__(self, nodes: list[Any], guards: list[Any], context: Any) -> None:
        self.stale = False
        self._held = ExitStack()
        self._own = {guard.handle.pointer for guard in guards}
        self._guards = [guard for node in nodes for guard in node.guards]
        self._waitables = [self._hold(each, each) for node in nodes for each in node.waitables]
        self._entities = {kind: self._by_pointer(self._free(nodes, kind)) for kind in KINDS}
        every = self._entities | {"guard_condition": self._by_pointer([*self._guards, *guards])}
        order = ("subscription", "guard_condition", *KINDS[1:])
        total = NumberOfEntities(*(len(every[kind]) for kind in order))
        for waitable in self._waitables:
            total += waitable.get_num_entities()
        self._set = rclpy_implementation.WaitSet(
            total.num_subscriptions,
            total.num_guard_conditions,
            total.num_timers,
            total.num_clients,
            total.num_services,
            total.num_events,
            self._hold(context.handle, context.handle),
        )
        self._adds = [
            (getattr(self._set, f"add_{kind}"), each.handle)
            for kind, entities in every.items()
            for each in entities.values()
        ]

    def free(self, kind: str) -> list[Any]:
        """Entities of this kind that are waited for."""
        return list(self._entities[kind].values())

    def wait(self, timeout_ns: int, ready: deque[tuple[str, Any]]) -> bool:
        """Wait until something is ready, and add it; whether rclpy has something to serve."""
        wait_set = self._set
        wait_set.clear_entities()
        for add, handle in self._adds:
            add(handle)
        for waitable in self._waitables:
            waitable.add_to_wait_set(wait_set)
        wait_set.wait(timeout_ns)
        for kind, entities in self._entities.items():
            ready.extend((kind, entities[each]) for each in wait_set.get_ready_entities(kind))
        triggered = wait_set.get_ready_entities("guard_condition")
        self.stale = self.stale or any(pointer in self._own for pointer in triggered)
        for guard in self._guards:  # they are no longer triggered, now that they were seen
            guard._executor_triggered |= guard.handle.pointer in triggered
        waitables = any(waitable.is_ready(wait_set) for waitable in self._waitables)
        return waitables or any(guard._executor_triggered for guard in self._guards)

    def close(self) -> None:
        """Let the entities be destroyed, by whoever wants to."""
        self._held.close()

    def _free(self, nodes: list[Any], kind: str) -> list[Any]:
        """Entities whose callbacks may run now; where some may not, another set is due."""
        every = [each for node in nodes for each in getattr(node, f"{kind}s")]
        found = [each for each in every if not isinstance(each.callback_group, NeverExecuted)]
        free = [each for each in found if each.callback_group.can_execute(each)]
        self.stale = self.stale or len(free) < len(found)
        return free

    def _hold(self, entity: Any, handle: Any) -> Any:
        self._held.enter_context(handle)
        return entity

    def _by_pointer(self, entities: list[Any]) -> dict[int, Any]:
        return {each.handle.pointer: self._hold(each, each.handle) for each in entities}
