"""A one-step task that any learner must solve, and small learners to solve it with."""

from __future__ import annotations

import numpy as np

from bayes_curiosity_ros.curiosity.bonus import Bonus, NoBonus, Unordered
from bayes_curiosity_ros.learning.algorithm import LEARNERS, Algorithm, make_learner
from bayes_curiosity_ros.learning.gatherer import Rollouts, Sampling
from bayes_curiosity_ros.learning.policy import PolicyConfig
from bayes_curiosity_ros.learning.settings import LearnerConfig
from bayes_curiosity_ros.learning.settings import make_trainer as make_node_trainer
from bayes_curiosity_ros.learning.trainer import Trainer
from bayes_curiosity_ros.tasks.task import Task

# Settings with which each learner solves the identity task soon; its defaults, if none.
QUICK = {
    "ddpg": {"hidden": (32, 32), "reward_scale": 1.0, "warmup_steps": 100},
    "ppo": {"gae_lambda": 0.0, "learning_rate": 0.01, "minibatch": 64},
    "reinforce": {"gae_lambda": 0.0},
    "sac": {
        "critics": 2,
        "hidden": (32, 32),
        "minibatch": 64,
        "updates_per_step": 0.2,
        "policy_delay": 1,
        "critic_rate": 3e-3,
        "policy_rate": 3e-3,
        "polyak": 0.02,
        "warmup_steps": 100,
    },
    "trpo": {"gae_lambda": 0.0, "max_kl": 0.05},
}


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

    def evaluate(self, episodes) -> np.ndarray:
        reached = np.concatenate([each.next_observations.vectors[:, 0] for each in episodes])
        return np.abs(reached) / (1 + self.updates)

    def begin(self, first):
        return Unordered(self)

    def update(self, episodes) -> None:
        self.updates += len(episodes)

    def state_dict(self):
        return {"updates": self.updates}

    def load_state_dict(self, state) -> None:
        self.updates = state["updates"]


def make_algorithm(name: str, task: Task, seed: int) -> Algorithm:
    """A small learner."""
    policy = PolicyConfig(hidden=(16, 16), initial_std=0.5)
    return make_learner(name, task, QUICK.get(name, {}), policy, np.random.default_rng(seed))


def make_trainer(
    algorithm: str,
    seed: int = 0,
    task: Task | None = None,
    bonus: Bonus | None = None,
    sampling: Sampling | None = None,
) -> Trainer:
    """A trainer of a small learner; of the identity task, unless another is given."""
    task = task or Identity()
    return Trainer(
        task,
        make_algorithm(algorithm, task, seed),
        bonus or CountingBonus(),
        Rollouts(task, sampling or Sampling(20, 100), np.random.default_rng(seed + 1)),
    )


def learner_of(config: LearnerConfig, task: Task) -> Algorithm:
    """The learner of a learner node with this configuration, as it begins."""
    settings = LEARNERS[config.learner].config()
    gatherer = Rollouts(task, Sampling(1, 1), np.random.default_rng(0))
    return make_node_trainer(config, settings, task, NoBonus(), gatherer).algorithm
