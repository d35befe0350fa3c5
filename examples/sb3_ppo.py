"""Stable-Baselines3's PPO with and without Bayesian curiosity.

    pip install stable-baselines3
    python examples/sb3_ppo.py

The car of MountainCarContinuous-v0 is paid only at the top of the hill, and pays for every push
until then. Three things matter as much as the bonus: observations are normalised; rewards are
*not*, because the bonus of the first steps would set their scale for good; and the posterior is
primed with one random episode, because at the prior every observation is worth the same.
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize
from tqdm import tqdm

from bayes_curiosity_ros import (
    Bonus,
    BonusVecEnvWrapper,
    Curiosity,
    CuriosityConfig,
    Encoder,
    EncoderConfig,
    NoBonus,
    Observations,
)

PARALLEL = 8
PRIMING_STEPS = 200


def curiosity_for(environment: str, weight: float, seed: int) -> Curiosity:
    """Curiosity with a random frozen encoder, primed with a random episode."""
    env = gymnasium.make(environment)
    env.observation_space.seed(seed)
    bounds = np.stack([env.observation_space.sample() for _ in range(1000)])
    encoder = Encoder(
        EncoderConfig(vector_size=bounds.shape[1]), torch.Generator().manual_seed(seed)
    )
    encoder.standardise_inputs(bounds)
    curiosity = Curiosity(encoder, CuriosityConfig(weight=weight))
    curiosity.observe(Observations(random_episode(env, seed)))
    return curiosity


def random_episode(env: gymnasium.Env[Any, Any], seed: int) -> np.ndarray:
    """Observations of random steps, up to an end or `PRIMING_STEPS`."""
    env.action_space.seed(seed)
    observation, _ = env.reset(seed=seed)
    visited = [observation]
    ended = False
    while not ended and len(visited) <= PRIMING_STEPS:
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        visited.append(observation)
        ended = terminated or truncated
    return np.stack(visited)


class ExtrinsicReturns(BaseCallback):
    """Gathers the *extrinsic* return of every episode, and moves a progress bar."""

    def __init__(self, label: str, steps: int) -> None:
        super().__init__()
        self.returns: list[float] = []
        self._bar = tqdm(total=steps, desc=label, unit="step")

    def _on_step(self) -> bool:
        infos: list[dict[str, Any]] = self.locals["infos"]
        self.returns += [info["episode"]["r"] for info in infos if "episode" in info]
        self._bar.update(len(infos))
        if self.returns:
            self._bar.set_postfix(extrinsic_return=f"{np.mean(self.returns[-20:]):.1f}")
        return True

    def _on_training_end(self) -> None:
        self._bar.close()


def train(environment: str, bonus: Bonus, label: str, steps: int, seed: int) -> list[float]:
    """Extrinsic returns of PPO's training episodes, in order."""
    envs = BonusVecEnvWrapper(make_vec_env(environment, PARALLEL, seed=seed), bonus)
    envs = VecNormalize(envs, norm_reward=False)
    learner = PPO("MlpPolicy", envs, n_steps=512, batch_size=256, gamma=0.99, seed=seed)
    returns = ExtrinsicReturns(label, steps)
    learner.learn(steps, callback=returns)
    return returns.returns


def summary(returns: list[float]) -> str:
    """The last episodes' mean and the best of all."""
    if not returns:
        return "no episode ended; give more --steps"
    last = returns[-20:]
    return (
        f"extrinsic return {np.mean(last):.1f} over the last {len(last)} of {len(returns)} "
        f"episodes, best {max(returns):.1f}"
    )


def main() -> None:
    """Train both, and say what to look at."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--environment", default="MountainCarContinuous-v0")
    parser.add_argument("--steps", type=int, default=40_000, help="per learner")
    parser.add_argument("--weight", type=float, default=1.0, help="η, of curiosity in the reward")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # the networks are too small to share

    curiosity = curiosity_for(arguments.environment, arguments.weight, arguments.seed)
    for label, bonus in (("PPO alone", NoBonus()), ("PPO + curiosity", curiosity)):
        returns = train(arguments.environment, bonus, label, arguments.steps, arguments.seed)
        print(f"{label}: {summary(returns)}")
    print(
        "Both are the environment's own reward, without the bonus. One seed decides nothing: "
        "compare several with --seed."
    )


if __name__ == "__main__":
    main()
