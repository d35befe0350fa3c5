"""A one-step task that any learner must solve, and small learners to solve it with."""

from __future__ import annotations

import numpy as np

from bayes_curiosity_ros.curiosity.data import Transitions
from bayes_curiosity_ros.learning.critic import LinearBaseline
from bayes_curiosity_ros.learning.ddpg import Ddpg, DdpgConfig
from bayes_curiosity_ros.learning.policy import GaussianPolicy
from bayes_curiosity_ros.learning.reinforce import Reinforce, ReinforceConfig
from bayes_curiosity_ros.learning.trpo import Trpo, TrpoConfig
from bayes_curiosity_ros.tasks.task import Task

ALGORITHMS = ("trpo", "reinforce", "ddpg")


class Identity(Task):
    """Say back what you see: reward -(a - o)², then a new number to say back."""

    name = "identity"
    horizon = 5
    observation_size = 1
    observation_center = np.zeros(1)
    observation_scale = np.ones(1)
    observation_bound = np.ones(1)

    def initial_states(self, count, rng):
        return np.stack([rng.uniform(-0.9, 0.9, count), np.zeros(count)], axis=1)

    def advance(self, states, actions):
        error = actions[:, 0] - states[:, 0]
        following = np.mod(states[:, 0] * 7.13 + 1.37, 1.8) - 0.9
        return np.stack([following, error], axis=1)

    def observe(self, states):
        return states[:, :1]

    def reward(self, states):
        return -(states[:, 1] ** 2)

    def successful(self, states):
        return np.abs(states[:, 1]) < 0.1

    def expert(self, observations):
        return observations


class CountingBonus:
    """A bonus with a state, so that checkpoints have something to lose: 1 / updates so far."""

    def __init__(self) -> None:
        self.updates = 0

    def evaluate(self, transitions: Transitions) -> np.ndarray:
        return np.abs(transitions.next_observations.vectors[:, 0]) / (1 + self.updates)

    def update(self, episodes) -> None:
        self.updates += len(episodes)

    def state_dict(self):
        return {"updates": self.updates}

    def load_state_dict(self, state) -> None:
        self.updates = state["updates"]


def make_algorithm(name: str, task: Task, seed: int):
    rng = np.random.default_rng(seed)
    center, scale, size = task.observation_center, task.observation_scale, task.action_size
    if name == "ddpg":
        return Ddpg(
            center,
            scale,
            size,
            DdpgConfig(hidden=(32, 32), reward_scale=1.0, warmup_steps=100),
            rng,
        )
    policy = GaussianPolicy(center, scale, size, rng, hidden=(16, 16), initial_std=0.5)
    critic = LinearBaseline(center, scale, 0.99)
    if name == "trpo":
        return Trpo(policy, critic, TrpoConfig(gae_lambda=0.0, max_kl=0.05))
    return Reinforce(policy, critic, ReinforceConfig(gae_lambda=0.0))
