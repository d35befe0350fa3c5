"""One episode at a time, in a cell that may be anywhere: in this process, or on a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.rollout import Behaviour
from bayes_curiosity_ros.tasks.task import Task


class EpisodeAbortedError(BayesCuriosityError):
    """The arm was stopped, halted or lost in mid-episode; there is nothing to learn from."""


class Cell(Protocol):
    """A single copy of a task; states are rows of it, (1, S).

    A state is what is judged, an observation what is acted on: a camera may be between them.
    """

    def reset(self, episode: int, seed: int) -> np.ndarray:
        """Begin an episode; the seed decides where everything is put in simulation."""
        ...

    def step(self, action: np.ndarray) -> np.ndarray:
        """Carry out one action (A,) in [-1, 1]; the state reached."""
        ...

    def observe(self) -> np.ndarray:
        """What the agent sees of the newest state: (1, D)."""
        ...


class TaskCell:
    """The task itself, in this process.

    Attributes:
        states: (1, S), the newest.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.states = np.zeros((1, 0))

    def reset(self, episode: int, seed: int) -> np.ndarray:
        self.states = self.task.initial_states(1, np.random.default_rng(seed))
        return self.states

    def step(self, action: np.ndarray) -> np.ndarray:
        self.states = self.task.advance(self.states, action[None])
        return self.states

    def observe(self) -> np.ndarray:
        return self.task.observe(self.states)


def episode_seeds(seed: int, episode: int) -> tuple[int, np.random.Generator]:
    """What decides an episode: the seed of its placement, and its exploration noise.

    An episode depends on (seed, episode) alone, so a run that was interrupted goes on as if it
    had not been.
    """
    placement, noise = np.random.SeedSequence([seed, episode]).spawn(2)
    return int(placement.generate_state(1, np.uint64)[0]), np.random.default_rng(noise)


def run_episode(
    task: Task,
    cell: Cell,
    behaviour: Behaviour,
    seed: int,
    episode: int,
    see: Callable[[int, np.ndarray], object] = lambda step, observation: None,
) -> Episodes:
    """Run one episode from its start to its end.

    Args:
        task: what is rewarded, and when it ends.
        cell: where it takes place.
        behaviour: what acts.
        seed: of the run.
        episode: its number, from 1.
        see: told (step, observation) of every observation, the first and the last included.
    """
    placement_seed, rng = episode_seeds(seed, episode)
    behaviour.begin(1, task.horizon, rng)
    observations = np.zeros((1, task.horizon + 1, task.observation_size))
    actions = np.zeros((1, task.horizon, task.action_size))
    rewards = np.zeros((1, task.horizon))
    cell.reset(episode, placement_seed)
    observations[:, 0] = cell.observe()
    see(0, observations[0, 0])
    length, streak, terminated = 0, 0, False
    while length < task.horizon and not terminated:
        actions[:, length] = behaviour.act(observations[:, length], length)
        states = cell.step(np.clip(actions[0, length], -1.0, 1.0))
        rewards[:, length] = task.reward(states)
        length += 1
        observations[:, length] = cell.observe()
        see(length, observations[0, length])
        streak = streak + 1 if task.successful(states)[0] else 0
        terminated = bool(task.terminal(states)[0])
    return Episodes(
        observations,
        actions,
        rewards,
        np.array([length]),
        np.array([terminated]),
        np.array([streak >= task.success_steps]),
    )
