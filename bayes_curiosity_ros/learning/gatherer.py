"""Where episodes come from: many at once in this process, or one by one in a cell elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.cell import (
    Cell,
    EpisodeAbortedError,
    EpisodeLostError,
    run_episode,
)
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.rollout import Behaviour, RunWave, collect, run_wave
from bayes_curiosity_ros.tasks.task import Task


class Gatherer(Protocol):
    """Gathers the experience of one update; a trainer cannot tell where."""

    def gather(self, behaviour: Behaviour) -> Episodes:
        """Whole episodes, with as many steps as an update wants at least."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """All state that later episodes depend on."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        ...


@dataclass(frozen=True)
class Sampling:
    """How much experience an iteration gathers.

    Attributes:
        parallel: episodes side by side.
        min_steps: environment steps an iteration has at least; episodes are always finished.
    """

    parallel: int = 25
    min_steps: int = 5000

    def __post_init__(self) -> None:
        if self.parallel < 1 or self.min_steps < 1:
            raise ConfigError(
                f"parallel = {self.parallel}, min_steps = {self.min_steps}; both must be ≥ 1"
            )


class Rollouts:
    """Episodes side by side in this process.

    Args:
        task: what is done.
        sampling: how much of it.
        rng: source of initial states and exploration noise.
        run: runs the episodes.
    """

    def __init__(
        self,
        task: Task,
        sampling: Sampling,
        rng: np.random.Generator,
        run: RunWave = run_wave,
    ) -> None:
        self._task = task
        self._sampling = sampling
        self._rng = rng
        self._run = run

    def gather(self, behaviour: Behaviour) -> Episodes:
        parallel, min_steps = self._sampling.parallel, self._sampling.min_steps
        return collect(self._task, behaviour, parallel, min_steps, self._rng, self._run)

    def state_dict(self) -> dict[str, Any]:
        return {"rng": self._rng.bit_generator.state}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._rng.bit_generator.state = state["rng"]


class Audience(Protocol):
    """Who is told of episodes that run one by one."""

    def begin(self, episode: int) -> None:
        """An episode is about to begin; this may wait."""
        ...

    def see(self, step: int, observation: np.ndarray) -> None:
        """An observation, as the agent sees it: (D,). The first and the last are included.

        The action chosen at it is under way already; the cell still shows this observation.
        """
        ...

    def end(self, episode: Episodes, timesteps: int) -> None:
        """The episode is over, `timesteps` control steps into the run.

        Those of an episode in which a person acted do not count.
        """
        ...

    def abort(self, error: EpisodeAbortedError) -> None:
        """The episode was cut short and does not count; this may wait until one can begin.

        After an EpisodeLostError the same episode begins again, else the next one.
        """
        ...


class CellGatherer:
    """Episodes one by one, in a cell that may be anywhere.

    An episode in which a person acted is none of the policy's: the audience is told of it, but it
    is not among those that are gathered, and its steps do not count. A learner with a memory for
    corrections is given it apart.

    Args:
        task: what is rewarded, and when an episode ends.
        cell: where it takes place.
        audience: told of everything.
        seed: of the run.
        min_steps: control steps of an update, at least.
        max_aborts: times in a row that an episode may be cut short.

    Attributes:
        episode: number of the newest one, from 1; aborted ones count, lost ones are run again.
        timesteps: control steps of whole episodes so far, without those that a person drove in.
        remember: given every episode in which a person acted, with that person's actions.
    """

    def __init__(
        self,
        task: Task,
        cell: Cell,
        audience: Audience,
        seed: int,
        min_steps: int,
        max_aborts: int = 1,
    ) -> None:
        self._task = task
        self._cell = cell
        self._audience = audience
        self._seed = seed
        self._min_steps = min_steps
        self._max_aborts = max_aborts
        self.episode = 0
        self.timesteps = 0
        self.remember: Callable[[Episodes], object] = lambda episode: None

    def gather(self, behaviour: Behaviour) -> Episodes:
        """Raises EpisodeAbortedError where too many episodes in a row were cut short."""
        parts: list[Episodes] = []
        while sum(part.steps for part in parts) < self._min_steps:
            episode = self.run_one(behaviour)
            if self._cell.operator_steps:
                self.remember(episode)
            else:
                parts.append(episode)
        return Episodes.concatenate(parts)

    def state_dict(self) -> dict[str, Any]:
        return {"seed": self._seed, "episode": self.episode, "timesteps": self.timesteps}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if state["seed"] != self._seed:
            raise ConfigError(
                f"the checkpoint was made with seed {state['seed']!r}, this run has "
                f"{self._seed!r}; give the first one, or another folder"
            )
        self.episode, self.timesteps = int(state["episode"]), int(state["timesteps"])

    def run_one(self, behaviour: Behaviour) -> Episodes:
        """One whole episode; raises as `gather` does."""
        self.episode += 1
        for _ in range(self._max_aborts):
            try:
                return self._episode(behaviour)
            except EpisodeAbortedError as error:
                self._audience.abort(error)
                # Another try would meet the same stop, with the same noise on the same way.
                self.episode += not isinstance(error, EpisodeLostError)
        raise EpisodeAbortedError(f"{self._max_aborts} episodes in a row were cut short")

    def _episode(self, behaviour: Behaviour) -> Episodes:
        self._audience.begin(self.episode)
        see = self._audience.see
        episode = run_episode(self._task, self._cell, behaviour, self._seed, self.episode, see)
        counted = 0 if self._cell.operator_steps else episode.steps
        self._audience.end(episode, self.timesteps + counted)
        self.timesteps += counted
        return episode
