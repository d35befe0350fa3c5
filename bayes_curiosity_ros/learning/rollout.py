"""Run a policy: many episodes side by side, each from its start to its end."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, Protocol, Self, runtime_checkable

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


@runtime_checkable
class Joinable(Behaviour, Protocol):
    """A behaviour that can act for several: one call in place of many, with the same bits."""

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self | None:
        """One that acts as these at (S, N, D) observations, once they have begun; None if it
        cannot be."""
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


Act = Callable[[np.ndarray, int], np.ndarray]
Part = tuple[int, Act]  # number of episodes, and what acts for them
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
    groups: dict[tuple[type, int], list[Wave]] = {}
    for wave in waves:
        groups.setdefault((type(wave.behaviour), wave.count), []).append(wave)
    task, ordered = waves[0].task, list(chain(*groups.values()))
    simulation = Simulation.joined([Simulation(task, wave.count, wave.rng) for wave in ordered])
    for wave in ordered:
        wave.behaviour.begin(wave.count, task.horizon, wave.rng)
    episodes = run_simulation(simulation, _side_by_side([_act_of(g) for g in groups.values()]))
    ends = np.cumsum([0, *(wave.count for wave in ordered)])
    parts = zip(ordered, pairwise(ends), strict=True)
    found = {id(wave): episodes.only(slice(*bounds)) for wave, bounds in parts}
    return [found[id(wave)] for wave in waves]


def _act_of(waves: Sequence[Wave]) -> Part:
    """How many episodes these waves have, as many each, and what acts for all of them."""
    behaviours: list[Any] = [wave.behaviour for wave in waves]
    first, count, runs = behaviours[0], waves[0].count, len(waves)
    joined = type(first).joined(behaviours) if runs > 1 and isinstance(first, Joinable) else None
    if joined is None:
        return runs * count, _side_by_side([(count, wave.behaviour.act) for wave in waves])

    def act(observations: np.ndarray, step: int) -> np.ndarray:
        actions = joined.act(observations.reshape(runs, count, -1), step)
        return actions.reshape(runs * count, -1)

    return runs * count, act


def _side_by_side(parts: Sequence[Part]) -> Act:
    """What acts for the first so many episodes, then for the next, and so on."""
    if len(parts) == 1:
        return parts[0][1]
    ends = np.cumsum([0, *(count for count, _ in parts)])
    acts = [(slice(*bounds), act) for bounds, (_, act) in zip(pairwise(ends), parts, strict=True)]
    return lambda observations, step: np.concatenate(
        [act(observations[part], step) for part, act in acts]
    )


def run_episodes(
    task: Task, behaviour: Behaviour, count: int, rng: np.random.Generator
) -> Episodes:
    """Run `count` episodes in step until the last one ends."""
    return run_wave(Wave(task, behaviour, count, rng))


def run_simulation(simulation: Simulation, act: Act) -> Episodes:
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
