"""A bonus on top of a Gymnasium vector environment."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from bayes_curiosity_ros.curiosity.bonus import Bonus
from bayes_curiosity_ros.curiosity.wrappers.episodes import EpisodeBonus
from bayes_curiosity_ros.errors import ConfigError


class BonusVectorWrapper(VectorWrapper[Any, Any, np.ndarray]):
    """Adds the bonus to the reward; `info` keeps `extrinsic_reward` and `intrinsic_reward`.

    The bonus sees an episode's true last observation in every autoreset mode, and no step from
    the end of one episode to the start of the next.
    """

    def __init__(self, env: VectorEnv[Any, Any, np.ndarray], bonus: Bonus) -> None:
        """Wrap `env`.

        Args:
            env: a vector environment whose metadata says its `autoreset_mode`.
            bonus: what rewards exploration.
        """
        super().__init__(env)
        mode = env.metadata.get("autoreset_mode")
        if not isinstance(mode, AutoresetMode):
            raise ConfigError(
                f"metadata['autoreset_mode'] = {mode!r}; set it to a gymnasium.vector."
                "AutoresetMode, for without it a reset cannot be told from a step"
            )
        self.bonus = bonus
        self._mode = mode
        self._episodes = EpisodeBonus(
            bonus, env.num_envs, env.single_observation_space, env.single_action_space
        )
        self._ended = np.zeros(env.num_envs, dtype=bool)

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all environments, or those of `options["reset_mask"]`."""
        everywhere = np.ones(self.num_envs, dtype=bool)
        which = np.array((options or {}).get("reset_mask", everywhere))
        observations, info = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
        self._episodes.begin(observations, which)
        self._ended &= ~which
        return observations, info

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Step, and add the bonus of the observations reached."""
        observations, rewards, terminations, truncations, info = self.env.step(actions)
        ended = np.logical_or(terminations, truncations)
        intrinsic = self._episodes.step(actions, observations, self._final(info, ended), ended)
        begun = ended if self._mode is AutoresetMode.SAME_STEP else self._ended
        if self._mode is not AutoresetMode.DISABLED and begun.any():
            self._episodes.begin(observations, begun)
        self._ended = ended
        info = info | _for_all("extrinsic_reward", np.array(rewards, dtype=np.float64))
        info |= _for_all("intrinsic_reward", intrinsic)
        return observations, rewards + intrinsic, terminations, truncations, info

    def _final(self, info: dict[str, Any], ended: np.ndarray) -> dict[int, Any]:
        if self._mode is not AutoresetMode.SAME_STEP:
            return {}
        final = info.get("final_obs", [None] * self.num_envs)
        return {int(index): final[index] for index in np.flatnonzero(ended)}


def _for_all(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    """An entry of a vector environment's info, with its mask of where it holds."""
    return {name: values, f"_{name}": np.ones(len(values), dtype=bool)}
