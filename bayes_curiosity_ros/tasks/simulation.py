"""Many copies of a task side by side: the state that a pure `Task` leaves to its caller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayes_curiosity_ros.tasks.task import Task


@dataclass(frozen=True)
class Step:
    """What one step of N copies gave.

    Attributes:
        observations: (N, D), the observations reached.
        rewards: (N,), extrinsic.
        terminated: (N,) bool, ended for good: no value to bootstrap.
        truncated: (N,) bool, ended by the clock.
        succeeded: (N,) bool, whether the episode, had it ended now, would be a success.
    """

    observations: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    succeeded: np.ndarray


class Simulation:
    """`count` copies of a task; each may be restarted on its own."""

    def __init__(self, task: Task, count: int, rng: np.random.Generator) -> None:
        self.task = task
        self.rng = rng
        self.states = task.initial_states(count, rng)
        self.elapsed: np.ndarray = np.zeros(count, dtype=np.int64)
        self.streak: np.ndarray = np.zeros(count, dtype=np.int64)
        self._seen: np.ndarray = np.zeros((count, task.observation_size))
        self._seen_states: np.ndarray = self.states
        self._look_afresh()

    @classmethod
    def joined(cls, parts: Sequence[Simulation]) -> Simulation:
        """One of all copies of several, in their order; its source of randomness is the first's.

        Args:
            parts: of the same task, where each begins.
        """
        if len(parts) == 1:
            return parts[0]
        whole = cls(parts[0].task, 0, parts[0].rng)
        names = parts[0].state_dict()
        whole.load_state_dict(
            {name: np.concatenate([part.state_dict()[name] for part in parts]) for name in names}
        )
        return whole

    def observe(self) -> np.ndarray:
        """The observations now: (N, D). A row that has not changed is not looked at again."""
        changed = np.any(self.states != self._seen_states, axis=1)
        if changed.all():
            self._seen = self.task.observe(self.states)
        elif changed.any():
            self._seen = self._seen.copy()  # callers may hold the old one
            self._seen[changed] = self.task.observe(self.states[changed])
        self._seen_states = self.states.copy()
        return self._seen

    def step(self, actions: np.ndarray) -> Step:
        """Advance every copy; the caller restarts those that ended."""
        task = self.task
        self.states = states = task.advance(self.states, np.clip(actions, -1.0, 1.0))
        self.elapsed += 1
        self.streak = np.where(task.successful(states), self.streak + 1, 0)
        terminated = task.terminal(states)
        return Step(
            self.observe(),
            task.reward(states),
            terminated,
            (self.elapsed >= task.horizon) & ~terminated,
            self.streak >= task.success_steps,
        )

    def restart(self, which: np.ndarray) -> None:
        """Begin new episodes in the copies marked in `which` (N,) bool."""
        self.states[which] = self.task.initial_states(int(which.sum()), self.rng)
        self.elapsed[which] = 0
        self.streak[which] = 0

    def state_dict(self) -> dict[str, np.ndarray]:
        """Everything but the random generator, which its owner saves."""
        return {"states": self.states, "elapsed": self.elapsed, "streak": self.streak}

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Restore what `state_dict` gave."""
        self.states = np.array(state["states"], dtype=np.float64)
        self.elapsed = np.array(state["elapsed"], dtype=np.int64)
        self.streak = np.array(state["streak"], dtype=np.int64)
        self._look_afresh()

    def _look_afresh(self) -> None:
        self._seen_states = np.full_like(self.states, np.nan)  # unlike any state
