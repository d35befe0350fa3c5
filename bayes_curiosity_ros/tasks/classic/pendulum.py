"""A pendulum whose motor cannot lift it in one go: 0 while upright, -1 otherwise."""

from __future__ import annotations

import numpy as np

from bayes_curiosity_ros.tasks.registry import register_task
from bayes_curiosity_ros.tasks.task import Task, wrap_angle

MAX_TORQUE = 2.0  # [N m]
MAX_SPEED = 8.0  # [rad/s]
GRAVITY_PULL = 15.0  # 3 g / (2 l) with g = 10 m/s² and l = 1 m, in [1/s²]
TORQUE_GAIN = 3.0  # 3 / (m l²), in [1/(kg m²)]
TIMESTEP = 0.05  # [s]
UPRIGHT = 0.4  # [rad]


@register_task("Pendulum")
class Pendulum(Task):
    """State: angle from upright in [rad], unwrapped, and its velocity in [rad/s]."""

    name = "pendulum"
    horizon = 100
    observation_size = 3
    observation_center = np.zeros(3)
    observation_scale = np.array([1.0, 1.0, MAX_SPEED])
    observation_bound = np.array([1.0, 1.0, MAX_SPEED])
    success_steps = 20

    def initial_states(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return rng.uniform([-np.pi, -1.0], [np.pi, 1.0], (count, 2))

    def advance(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        angle, velocity = states[:, 0], states[:, 1]
        torque = MAX_TORQUE * actions[:, 0]
        velocity = velocity + TIMESTEP * (GRAVITY_PULL * np.sin(angle) + TORQUE_GAIN * torque)
        velocity = np.clip(velocity, -MAX_SPEED, MAX_SPEED)
        return np.stack([angle + TIMESTEP * velocity, velocity], axis=1)

    def observe(self, states: np.ndarray) -> np.ndarray:
        angle = states[:, 0]
        return np.stack([np.cos(angle), np.sin(angle), states[:, 1]], axis=1)

    def reward(self, states: np.ndarray) -> np.ndarray:
        return np.where(self.successful(states), 0.0, -1.0)

    def successful(self, states: np.ndarray) -> np.ndarray:
        return np.abs(wrap_angle(states[:, 0])) < UPRIGHT

    def expert(self, observations: np.ndarray) -> np.ndarray:
        """Pump energy until it equals that of standing still upright, then balance."""
        cosine, sine, velocity = observations.T
        missing_energy = GRAVITY_PULL * (1 - cosine) - 0.5 * velocity**2
        pump = np.where(velocity >= 0, 1.0, -1.0) * np.sign(missing_energy)
        balance = -(10.0 * sine + 2.0 * velocity) / MAX_TORQUE
        action = np.where((cosine > 0.85) & (np.abs(velocity) < 2.5), balance, pump)
        return np.clip(action, -1.0, 1.0)[:, None]
