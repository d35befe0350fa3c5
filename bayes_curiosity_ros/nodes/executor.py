"""The executor of nodes with one thread: rclpy's own, which here keeps its wait set.

rclpy's gathers all entities of a node before every wait, wraps each callback into a task, and
wakes itself up twice after it. Empty calls between two of our nodes are about a quarter faster
with this one (`benchmarks.stack`, quiet).

Every entity that is waited for costs another 4 µs per wait, and most are services that nobody
calls. So while messages flow, only messages and answers are waited for, and the rest is looked at
every few milliseconds.
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import ExitStack
from typing import Any

from rclpy.context import Context
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.utilities import timeout_sec_to_nsec
from rclpy.waitable import NumberOfEntities

KINDS = ("subscription", "timer", "client", "service")
FLOWING_KINDS = ("subscription", "client")
# Messages flow while the next one comes within this time in [s].
FLOWING_S = 0.001
# While they do, whatever else is ready waits no longer than this time in [s].
LOOK_S = 0.005
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

    While messages flow, a timer or service waits up to `LOOK_S` for its turn.
    """

    def __init__(self, *, context: Context | None = None) -> None:
        super().__init__(context=context)
        self._kept: _WaitSet | None = None
        self._flowing: _WaitSet | None = None
        self._flows = False
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

    def _unfinished(self) -> bool:
        """Whether rclpy has tasks left."""
        with self._tasks_lock:
            self._tasks = [task for task in self._tasks if not task[0].done()]
            return bool(self._tasks)

    def _wait(self, timeout_sec: float | None) -> bool:
        """Whether something is ready to be served here."""
        if self._kept is None or self._kept.stale:
            self._let_go()
            self._kept, self._flowing = self._wait_set(KINDS), self._wait_set(FLOWING_KINDS)
        others = self._look(timeout_sec)
        if not self.context.ok():
            raise ExternalShutdownException()
        if others:
            super().spin_once(0.0)
            self._cb_iter = None  # in mid-work it would keep what was destroyed meanwhile
        return bool(self._ready)

    def _wait_set(self, kinds: tuple[str, ...]) -> _WaitSet:
        guards = [self._guard, self._sigint_gc]
        return _WaitSet(self.get_nodes(), guards, self.context, kinds)

    def _look(self, timeout_sec: float | None) -> bool:
        """Wait until something is ready; whether rclpy has something to serve."""
        assert self._kept is not None
        assert self._flowing is not None
        if self._flows and time.monotonic() - self._looked_s < LOOK_S:
            within_s = FLOWING_S if timeout_sec is None else min(FLOWING_S, timeout_sec)
            self._flowing.wait(timeout_sec_to_nsec(within_s), self._ready)
            self._kept.stale = self._kept.stale or self._flowing.stale
            if self._ready or self._flowing.stale:
                return False
        others = self._kept.wait(timeout_sec_to_nsec(timeout_sec), self._ready)
        self._looked_s = time.monotonic()
        self._flows = any(kind == "subscription" for kind, _ in self._ready)
        return others

    def _serve(self, kind: str, entity: Any) -> None:
        if kind == "timer" and not entity.handle.is_timer_ready():
            return
        if not entity.callback_group.beginning_execution(entity):
            return
        served = _served(entity, getattr(self, f"_take_{kind}"))
        try:
            served.send(None)
        except StopIteration:
            return
        self.create_task(served)

    def _let_go(self) -> None:
        for wait_set in (self._kept, self._flowing):
            if wait_set is not None:
                wait_set.close()
        self._kept = self._flowing = None
        self._ready.clear()


async def _served(entity: Any, take: Any) -> None:
    """Take what came, if it is still there, to the entity's callback."""
    try:
        execute = take(entity)
        if execute is not None:
            await execute()
    finally:
        entity.callback_group.ending_execution(entity)


class _WaitSet:
    """What some nodes wait for; none of it is destroyed before `close`.

    Args:
        nodes: nodes whose entities are waited for.
        guards: guard conditions of the executor: one that is triggered makes this set stale.
        context: context of the nodes.
        kinds: kinds of entities to wait for; guard conditions and waitables of the nodes belong to
            all `KINDS` only.

    Attributes:
        stale: whether entities may have come or gone since.
    """

    def __init__(
        self, nodes: list[Any], guards: list[Any], context: Any, kinds: tuple[str, ...]
    ) -> None:
        self.stale = False
        whole = nodes if kinds == KINDS else []
        self._held = ExitStack()
        self._own = {guard.handle.pointer for guard in guards}
        self._guards = [guard for node in whole for guard in node.guards]
        self._waitables = [self._hold(each, each) for node in whole for each in node.waitables]
        self._entities = {kind: self._by_pointer(self._free(nodes, kind)) for kind in kinds}
        every = self._entities | {"guard_condition": self._by_pointer([*self._guards, *guards])}
        order = ("subscription", "guard_condition", *KINDS[1:])
        counts = [len(every.get(kind, ())) for kind in order]
        total = NumberOfEntities(*counts)
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
        found = [each for node in nodes for each in getattr(node, f"{kind}s")]
        free = [each for each in found if each.callback_group.can_execute(each)]
        self.stale = self.stale or len(free) < len(found)
        return free

    def _hold(self, entity: Any, handle: Any) -> Any:
        self._held.enter_context(handle)
        return entity

    def _by_pointer(self, entities: list[Any]) -> dict[int, Any]:
        return {each.handle.pointer: self._hold(each, each.handle) for each in entities}
