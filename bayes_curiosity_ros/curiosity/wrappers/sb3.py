"""A bonus on top of a Stable-Baselines3 VecEnv (`pip install stable-baselines3`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from bayes_curiosity_ros.curiosity.bonus import Bonus
from bayes_curiosity_ros.curiosity.wrappers.episodes import EpisodeBonus


class BonusVecEnvWrapper(VecEnvWrapper):
    """Adds the bonus to the reward; `info` keeps `extrinsic_reward` and `intrinsic_reward`.

    Wrap a monitored VecEnv (`make_vec_env` makes one): then `info["episode"]` and SB3's
    `rollout/ep_rew_mean` stay extrinsic.
    """

    def __init__(self, venv: VecEnv, bonus: Bonus) -> None:
        """Wrap `venv` with what rewards exploration."""
        super().__init__(venv)
        self.bonus = bonus
        self._episodes = EpisodeBonus(
            bonus, venv.num_envs, venv.observation_space, venv.action_space
        )
        self._actions = np.empty(0)

    def reset(self) -> Any:
        """Reset all environments."""
        observations = self.venv.reset()
        self._episodes.begin(observations, np.ones(self.num_envs, dtype=bool))
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        """Send actions, and remember them for `step_wait`."""
        self._actions = np.array(actions)
        self.venv.step_async(actions)

    def step_wait(self) -> Any:
        """Gather the step, and add the bonus of the observations reached."""
        observations, rewards, dones, infos = self.venv.step_wait()
        final = {
            int(index): infos[index].get("terminal_observation") for index in np.flatnonzero(dones)
        }
        intrinsic = self._episodes.step(self._actions, observations, final, dones)
        if dones.any():
            self._episodes.begin(observations, dones)
        infos = [
            {**info, "extrinsic_reward": float(reward), "intrinsic_reward": float(bonus)}
            for info, reward, bonus in zip(infos, rewards, intrinsic, strict=True)
        ]
        return observations, (rewards + intrinsic).astype(np.float32), dones, infos
