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


class EpisodeLostError(EpisodeAbortedError):
    """A node failed in mid-episode, not the episode itself: it is run again as it was."""


class Cell(Protocol):
    """A single copy of a task; states are rows of it, (1, S).

    A state is what is judged, an observation what is acted on: a camera may be between them.

    Attributes:
        operator_steps: steps of the episode so far that a person took in place of the agent.
        acted: action (A,) that a person took in the newest step; None where the agent did.
        marked: whether a person says that the episode has succeeded, which ends it; None where
            nobody says anything.
    """

    operator_steps: int
    acted: np.ndarray | None
    marked: bool | None

    def reset(self, episode: int, seed: int) -> np.ndarray:
        """Begin an episode; the seed decides where everything is put in simulation."""
        ...

    def send(self, action: np.ndarray) -> None:
        """Ask for one action (A,) in [-1, 1]; what is seen stays as it is until `receive`."""
        ...

    def receive(self) -> np.ndarray:
        """Wait until the action is carried out; the state reached."""
        ...

    def observe(self) -> np.ndarray:
        """What the agent sees of the newest state: (1, D)."""
        ...


class TaskCell:
    """The task itself, in this process.

    Attributes:
        states: (1, S), the newest.
        operator_steps, acted, marked: none; nobody reaches in here.
    """

    operator_steps = 0
    acted: np.ndarray | None = None
    marked: bool | None = None

    def __init__(self, task: Task) -> None:
        self.task = task
        self.states = np.zeros((1, 0))
        self._action = np.zeros(task.action_size)

    def reset(self, episode: int, seed: int) -> np.ndarray:
        self.states = self.task.initial_states(1, np.random.default_rng(seed))
        return self.states

    def send(self, action: np.ndarray) -> None:
        self._action = action

    def receive(self) -> np.ndarray:
        self.states = self.task.advance(self.states, self._action[None])
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

    While a cell elsewhere carries out an action, the audience is told of the observation at which
    it was chosen: the arm does not wait for that. States are judged when the episode is over, all
    of them at once.

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
    cell.reset(episode, placement_seed)
    observations[:, 0] = cell.observe()
    length, terminated = 0, False
    reached: list[np.ndarray] = []
    while True:
        going = length < task.horizon and not terminated
        if going:
            actions[:, length] = behaviour.act(observations[:, length], length)
            cell.send(actions[0, length].clip(-1.0, 1.0))
        see(length, observations[0, length])
        if not going:
            break
        reached.append(cell.receive())
        if cell.acted is not None:
            actions[:, length] = cell.acted
        length += 1
        observations[:, length] = cell.observe()
        terminated = bool(task.terminal(reached[-1])[0]) or cell.marked is not None
    rewards, succeeded = _judged(task, np.concatenate(reached), cell.marked)
    lengths, ends = np.array([length]), np.array([terminated])
    return Episodes(observations, actions, rewards, lengths, ends, np.array([succeeded]))


def _judged(task: Task, states: np.ndarray, marked: bool | None) -> tuple[np.ndarray, bool]:
    """Rewards, (1, horizon), of the states that an episode reached, (T, S), and its success.

    A person's word counts more than what the states say.
    """
    rewards = np.zeros((1, task.horizon))
    rewards[0, : len(states)] = task.reward(states)
    if marked is not None:
        rewards[0, len(states) - 1] = task.marked_reward(marked)
        return rewards, marked
    last = task.successful(states)[-task.success_steps :]
    return rewards, len(last) == task.success_steps and bool(last.all())
