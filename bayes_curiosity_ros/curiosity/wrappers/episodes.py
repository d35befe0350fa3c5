"""What both wrappers share: steps of parallel environments, cut into episodes for a bonus."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from gymnasium import spaces

from bayes_curiosity_ros.curiosity.bonus import Bonus, Stream, rewards_together
from bayes_curiosity_ros.curiosity.data import Observations, Transitions
from bayes_curiosity_ros.errors import ConfigError, InputError


class EpisodeBonus:
    """Evaluates every step, and updates the bonus with every episode that has ended.

    Episodes that end in the same step go to one `update`, in the order of the environments, so
    that results do not depend on the timing of workers.
    """

    def __init__(
        self,
        bonus: Bonus,
        environments: int,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
    ) -> None:
        """Wait for `begin`.

        Args:
            bonus: what rewards exploration.
            environments: how many step together.
            observation_space: of one environment.
            action_space: of one environment.
        """
        self.bonus = bonus
        self._read_observations = observation_reader(observation_space)
        self._read_actions = action_reader(action_space)
        self._episodes: list[_Episode | None] = [None] * environments

    def begin(self, observations: Any, which: np.ndarray) -> None:
        """Start episodes in the environments of the mask `which`, from batched observations.

        One that is still under way there ends here: what it saw has been seen.
        """
        self._finish(which)
        batch = self._read_observations(observations)
        for index in np.flatnonzero(which):
            first = batch[index : index + 1]
            self._episodes[index] = _Episode(first, self.bonus.begin(first))

    def step(
        self, actions: Any, reached: Any, final: dict[int, Any], ended: np.ndarray
    ) -> np.ndarray:
        """The intrinsic rewards of one step: (environments,), 0 where no episode is under way.

        Args:
            actions: of all environments.
            reached: batched observations after the step.
            final: by environment, the observation reached where `reached` already holds the
                next episode's first.
            ended: mask of the environments whose episode ended with this step.
        """
        rewards = np.zeros(len(self._episodes))
        rows = [index for index, episode in enumerate(self._episodes) if episode is not None]
        if not rows:
            return rewards
        together = self._transitions(actions, reached, final, rows)
        steps = [together[position : position + 1] for position in range(len(rows))]
        episodes = [self._under_way(index) for index in rows]
        for episode, step in zip(episodes, steps, strict=True):
            episode.append(step)
        rewards[rows] = rewards_together([episode.stream for episode in episodes], steps)
        self._finish(ended)
        return rewards

    def _transitions(
        self, actions: Any, reached: Any, final: dict[int, Any], rows: list[int]
    ) -> Transitions:
        batch = self._read_observations(reached)
        after = [
            self._read_observations(_batch_of_one(final[index]))
            if index in final
            else batch[index : index + 1]
            for index in rows
        ]
        before = [self._under_way(index).last for index in rows]
        return Transitions(
            Observations.concatenate(before),
            self._read_actions(actions)[rows],
            Observations.concatenate(after),
        )

    def _under_way(self, index: int) -> _Episode:
        episode = self._episodes[index]
        assert episode is not None
        return episode

    def _finish(self, which: np.ndarray) -> None:
        finished = [self._episodes[index] for index in np.flatnonzero(which)]
        for index in np.flatnonzero(which):
            self._episodes[index] = None
        episodes = [episode.transitions() for episode in finished if episode and episode.actions]
        if episodes:
            self.bonus.update(episodes)


@dataclass
class _Episode:
    """One environment's episode so far."""

    last: Observations
    stream: Stream
    steps: list[Observations] = field(default_factory=list)
    actions: list[np.ndarray] = field(default_factory=list)

    def append(self, step: Transitions) -> None:
        """Take in a step."""
        self.steps.append(self.last)
        self.actions.append(step.actions)
        self.last = step.next_observations

    def transitions(self) -> Transitions:
        visited = Observations.concatenate([*self.steps, self.last])
        return Transitions(visited[:-1], np.concatenate(self.actions), visited[1:])


def observation_reader(space: spaces.Space[Any]) -> Callable[[Any], Observations]:
    """How batches of a space become observations, copied: an environment may reuse its arrays.

    A Box of one axis holds vectors; a Dict holds them under "vector", and channels-first images
    under "image".
    """
    if isinstance(space, spaces.Box) and len(space.shape) == 1:
        return lambda batch: Observations(np.array(batch, dtype=np.float64))
    if isinstance(space, spaces.Dict) and {"vector"} <= set(space) <= {"vector", "image"}:
        if len(space["vector"].shape or ()) != 1:
            raise ConfigError(f'"vector" has shape {space["vector"].shape}; expected one axis')
        if "image" not in space.spaces:
            return lambda batch: Observations(np.array(batch["vector"], dtype=np.float64))
        if len(space["image"].shape or ()) != 3:
            raise ConfigError(
                f'"image" has shape {space["image"].shape}; expected (channels, height, width)'
            )
        return lambda batch: Observations(
            np.array(batch["vector"], dtype=np.float64), np.array(batch["image"])
        )
    raise ConfigError(
        f'cannot read observations of {space}; use a Box of one axis, or a Dict of "vector" and '
        '"image" (gymnasium.wrappers.FlattenObservation makes a Box)'
    )


def action_reader(space: spaces.Space[Any]) -> Callable[[Any], np.ndarray]:
    """How batches of actions become rows of numbers: a Box flat, a Discrete one-hot."""
    if isinstance(space, spaces.Box):
        return lambda actions: np.array(actions, dtype=np.float64).reshape(len(actions), -1)
    if isinstance(space, spaces.Discrete):
        choices = np.arange(space.start, space.start + space.n)
        return lambda actions: (np.reshape(actions, (-1, 1)) == choices).astype(np.float64)
    raise ConfigError(f"cannot read actions of {space}; use Box or Discrete")


def _batch_of_one(observation: Any) -> Any:
    if observation is None:
        raise InputError(
            "an episode ended without its final observation in the environment's info"
        )
    if isinstance(observation, dict):
        return {key: np.asarray(value)[None] for key, value in observation.items()}
    return np.asarray(observation)[None]
