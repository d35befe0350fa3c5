"""Run a policy: many episodes side by side, each from its start to its end."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.tasks.simulation import Simulation
from bayes_curiosity_ros.tasks.task import Task


class Behaviour(Protocol):
    """Something that acts: a policy with its exploration noise, or without."""

    def begin(self, count: int, horizon: int, rng: np.random.Generator) -> None:
        """`count` episodes start; draw all the noise they may need."""
        ...

    def act(self, observations: np.ndarray, step: int) -> np.ndarray:
        """Actions (E, A) at observations (E, D), `step` steps into every episode."""
        ...


class UniformAction:
    """Act at random, whatever is seen."""

    def __init__(self, action_size: int) -> None:
        self.action_size = action_size
        self.actions: np.ndarray = np.zeros((0, 0, 0))

    def begin(self, count: int, horizon: int, rng: np.random.Generator) -> None:
        self.actions = rng.uniform(-1.0, 1.0, (horizon, count, self.action_size))

    def act(self, observations: np.ndarray, step: int) -> np.ndarray:
        return self.actions[step]


@dataclass(frozen=True)
class Wave:
    """Episodes of one policy that begin together.

    Attributes:
        task: what is done.
        behaviour: what acts.
        count: number of episodes.
        rng: source of initial states and exploration noise.
    """

    task: Task
    behaviour: Behaviour
    count: int
    rng: np.random.Generator


RunWave = Callable[[Wave], Episodes]


def run_wave(wave: Wave) -> Episodes:
    """Run its episodes in step until the last one ends."""
    return run_waves([wave])[0]


def run_waves(waves: Sequence[Wave]) -> list[Episodes]:
    """Run the episodes of several policies in one simulation, until the last one ends.

    Every wave draws from its own source of randomness, so that its episodes are those of
    `run_wave`, bit for bit; of one that ends early, only what follows its end differs.

    Args:
        waves: of the same task.
    """
    task = waves[0].task
    simulation = Simulation.joined([Simulation(task, wave.count, wave.rng) for wave in waves])
    for wave in waves:
        wave.behaviour.begin(wave.count, task.horizon, wave.rng)
    ends = np.cumsum([0, *(wave.count for wave in waves)])
    parts = [slice(*bounds) for bounds in pairwise(ends)]

    def act(observations: np.ndarray, step: int) -> np.ndarray:
        chosen = zip(waves, parts, strict=True)
        return np.concatenate([wave.behaviour.act(observations[p], step) for wave, p in chosen])

    episodes = run_simulation(simulation, waves[0].behaviour.act if len(waves) == 1 else act)
    return [episodes.only(part) for part in parts]


def run_episodes(
    task: Task, behaviour: Behaviour, count: int, rng: np.random.Generator
) -> Episodes:
    """Run `count` episodes in step until the last one ends."""
    return run_wave(Wave(task, behaviour, count, rng))


def run_simulation(
    simulation: Simulation, act: Callable[[np.ndarray, int], np.ndarray]
) -> Episodes:
    """Run episodes from where a simulation stands until the last one ends.

    Args:
        simulation: of copies that begin an episode each.
        act: from observations (E, D) and the step to actions (E, A).
    """
    task, count = simulation.task, len(simulation.states)
    horizon = task.horizon
    observations = np.zeros((count, horizon + 1, task.observation_size))
    actions = np.zeros((count, horizon, task.action_size))
    rewards = np.zeros((count, horizon))
    lengths = np.full(count, horizon)
    terminated, succeeded = np.zeros(count, bool), np.zeros(count, bool)
    running = np.ones(count, bool)
    seen = observations[:, 0] = simulation.observe()
    for index in range(horizon):
        actions[:, index] = action = act(seen, index)
        step = simulation.step(action)
        seen = observations[:, index + 1] = step.observations
        rewards[:, index] = step.rewards
        ended = running & (step.terminated | step.truncated)
        if ended.any():
            lengths[ended] = index + 1
            terminated |= ended & step.terminated
            succeeded |= ended & step.succeeded
            running &= ~ended
            if not running.any():
                break
    return Episodes(observations, actions, rewards, lengths, terminated, succeeded)


def collect(
    task: Task,
    behaviour: Behaviour,
    parallel: int,
    min_steps: int,
    rng: np.random.Generator,
    run: RunWave = run_wave,
) -> Episodes:
    """Whole episodes until they hold at least `min_steps` steps.

    Episodes run in waves: `parallel` first, then as many as the mean length so far suggests are
    missing. Every started episode is finished, so short ones are not over-represented.
    """
    parts = [run(Wave(task, behaviour, parallel, rng))]
    steps, count = parts[0].steps, parallel
    while steps < min_steps:
        missing = math.ceil((min_steps - steps) * count / steps)
        parts.append(run(Wave(task, behaviour, missing, rng)))
        steps, count = steps + parts[-1].steps, count + missing
    return Episodes.concatenate(parts)
