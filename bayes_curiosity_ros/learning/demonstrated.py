"""Whole demonstrated episodes, with what they earned: for learners that remember."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.algorithm import Algorithm
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.rollout import run_simulation
from bayes_curiosity_ros.tasks.simulation import Simulation
from bayes_curiosity_ros.tasks.task import Task


@runtime_checkable
class Remembering(Protocol):
    """A learner with a memory for what somebody else did."""

    def remember(self, episodes: Episodes) -> None:
        """Keep demonstrations or corrections, to be learnt from at every later update."""
        ...


def remembering(learner: Algorithm) -> Remembering:
    """A learner as one that takes demonstrated episodes.

    Raises:
        ConfigError: it does not.
    """
    if not isinstance(learner, Remembering):
        raise ConfigError(
            f"{type(learner).__name__} has no memory for demonstrated episodes; choose learner "
            "sac, or none of them"
        )
    return learner


def demonstrated(
    task: Task,
    count: int,
    noise_std: float,
    rng: np.random.Generator,
    shown_task: Task | None = None,
) -> Episodes:
    """What a task's expert does, with Gaussian noise on its actions.

    Args:
        task: as the learner sees it; it decides what is earned, and when an episode ends.
        count: episodes.
        noise_std: standard deviation of the noise, actions being in [-1, 1].
        rng: source of placements and noise.
        shown_task: task whose episodes they begin as, such as with an arm that is not parked;
            `task` itself if None.

    Raises:
        ConfigError: states of that task are none of this one's.
    """
    simulation = Simulation(task, count, rng)
    if shown_task is not None:
        simulation.states = _states(simulation, shown_task, rng)

    def act(observations: np.ndarray, step: int) -> np.ndarray:
        expert = task.expert_at(simulation.states)
        return np.clip(expert + noise_std * rng.standard_normal(expert.shape), -1.0, 1.0)

    return run_simulation(simulation, act)


def _states(simulation: Simulation, shown_task: Task, rng: np.random.Generator) -> np.ndarray:
    states = shown_task.initial_states(len(simulation.states), rng)
    if states.shape != simulation.states.shape:
        raise ConfigError(
            f"{shown_task.name} has other states than {simulation.task.name}; episodes of the one "
            "cannot be demonstrated to the other"
        )
    return states
