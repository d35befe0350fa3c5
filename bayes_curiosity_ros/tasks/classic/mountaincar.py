"""A car in a valley, too weak to climb straight out: -1 per step, +100 at the goal."""

from __future__ import annotations

import numpy as np

from bayes_curiosity_ros.tasks.registry import register_task
from bayes_curiosity_ros.tasks.task import Task

MIN_POSITION, MAX_POSITION, GOAL_POSITION = -1.2, 0.6, 0.45
MAX_SPEED = 0.07
ENGINE_POWER = 0.0015
SLOPE_PULL = 0.0025


@register_task("Mountaincar")
class MountainCar(Task):
    """State and observation: position and velocity, in the units of Gymnasium's task."""

    name = "mountaincar"
    horizon = 200
    observation_size = 2
    observation_center = np.array([(MIN_POSITION + MAX_POSITION) / 2, 0.0])
    observation_scale = np.array([(MAX_POSITION - MIN_POSITION) / 2, MAX_SPEED])
    observation_bound = np.array([-MIN_POSITION, MAX_SPEED])

    def initial_states(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return np.stack([rng.uniform(-0.6, -0.4, count), np.zeros(count)], axis=1)

    def advance(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        position, velocity = states[:, 0], states[:, 1]
        velocity = velocity + ENGINE_POWER * actions[:, 0] - SLOPE_PULL * np.cos(3 * position)
        velocity = np.clip(velocity, -MAX_SPEED, MAX_SPEED)
        position = np.clip(position + velocity, MIN_POSITION, MAX_POSITION)
        velocity = np.where((position == MIN_POSITION) & (velocity < 0), 0.0, velocity)
        return np.stack([position, velocity], axis=1)

    def observe(self, states: np.ndarray) -> np.ndarray:
        return states

    def reward(self, states: np.ndarray) -> np.ndarray:
        return np.where(self.terminal(states), 99.0, -1.0)

    def terminal(self, states: np.ndarray) -> np.ndarray:
        return (states[:, 0] >= GOAL_POSITION) & (states[:, 1] >= 0)

    def successful(self, states: np.ndarray) -> np.ndarray:
        return self.terminal(states)

    def expert(self, observations: np.ndarray) -> np.ndarray:
        """Push the way the car rolls: every step adds energy."""
        return np.where(observations[:, 1:2] >= 0, 1.0, -1.0)
