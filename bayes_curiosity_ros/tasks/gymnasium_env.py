"""The same tasks as Gymnasium environments.

gymnasium.make("bayes_curiosity_ros.tasks.gymnasium_env:BayesCuriosity/mountaincar")

Importing this module registers all tasks, the arm's too.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from bayes_curiosity_ros.tasks.registry import TASKS, make_task

NAMESPACE = "BayesCuriosity"


class TaskEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """One copy of a task. Gymnasium's TimeLimit wrapper truncates at the horizon."""

    def __init__(self, task: str) -> None:
        self.task = make_task(task)
        bound = self.task.observation_bound
        self.observation_space = gymnasium.spaces.Box(-bound, bound, dtype=np.float64)
        self.action_space = gymnasium.spaces.Box(
            -1.0, 1.0, (self.task.action_size,), dtype=np.float32
        )
        self.states = np.zeros((1, 0))
        self.streak = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.states = self.task.initial_states(1, self.np_random)
        self.streak = 0
        return self.task.observe(self.states)[0], {"success": False}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        clipped = np.clip(np.asarray(action, dtype=np.float64), -1.0, 1.0)
        self.states = self.task.advance(self.states, clipped[None])
        self.streak = self.streak + 1 if self.task.successful(self.states)[0] else 0
        return (
            self.task.observe(self.states)[0],
            float(self.task.reward(self.states)[0]),
            bool(self.task.terminal(self.states)[0]),
            False,
            {"success": self.streak >= self.task.success_steps},
        )


def register_all() -> None:
    """Register every task once; safe to call again."""
    for entry in TASKS:
        identifier = f"{NAMESPACE}/{entry.name}"
        if identifier not in gymnasium.registry:
            gymnasium.register(
                identifier,
                entry_point=entry.environment,
                max_episode_steps=entry.horizon,
                kwargs={"task": entry.name},
            )


register_all()
