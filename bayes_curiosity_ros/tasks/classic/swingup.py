"""A hanging pole on a cart, to be swung up and kept up: +1 while up, -1 otherwise."""

from __future__ import annotations

import numpy as np

from bayes_curiosity_ros.tasks.registry import register_task
from bayes_curiosity_ros.tasks.task import Task

MAX_FORCE = 10.0  # [N]
CART_MASS = 1.0  # [kg]
POLE_MASS = 0.1  # [kg]
HALF_LENGTH = 0.5  # [m]
GRAVITY = 9.8  # [m/s²]
TIMESTEP = 0.05  # [s]
TRACK = 3.0  # walls at ± this position, in [m]
UPRIGHT_COSINE = 0.8
TOTAL_MASS = CART_MASS + POLE_MASS

BALANCE_GAINS = np.array([-1.0, -2.2, -36.0, -8.5])  # on x, ẋ, sin θ, θ̇; force in [N]


@register_task("Swingup")
class Swingup(Task):
    """State: x [m], ẋ [m/s], θ from upright [rad], θ̇ [rad/s]. A wall stops the cart."""

    name = "swingup"
    horizon = 100
    observation_size = 5
    observation_center = np.zeros(5)
    observation_scale = np.array([TRACK, 5.0, 1.0, 1.0, 10.0])
    observation_bound = np.array([TRACK, np.inf, 1.0, 1.0, np.inf])
    success_steps = 10

    def initial_states(self, count: int, rng: np.random.Generator) -> np.ndarray:
        half_range = np.array([1.0, 2.0, 1.0, 3.0])
        return np.array([0.0, 0.0, np.pi, 0.0]) + rng.uniform(-half_range, half_range, (count, 4))

    def advance(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Semi-implicit Euler: velocities first, then positions with the new velocities."""
        x, x_velocity, angle, angular_velocity = states.T
        x_acceleration, angular_acceleration = accelerations(states, MAX_FORCE * actions[:, 0])
        x_velocity = x_velocity + TIMESTEP * x_acceleration
        angular_velocity = angular_velocity + TIMESTEP * angular_acceleration
        x = x + TIMESTEP * x_velocity
        x_velocity = np.where(np.abs(x) > TRACK, 0.0, x_velocity)
        x = np.clip(x, -TRACK, TRACK)
        angle = angle + TIMESTEP * angular_velocity
        return np.stack([x, x_velocity, angle, angular_velocity], axis=1)

    def observe(self, states: np.ndarray) -> np.ndarray:
        x, x_velocity, angle, angular_velocity = states.T
        return np.stack([x, x_velocity, np.cos(angle), np.sin(angle), angular_velocity], axis=1)

    def reward(self, states: np.ndarray) -> np.ndarray:
        return np.where(self.successful(states), 1.0, -1.0)

    def successful(self, states: np.ndarray) -> np.ndarray:
        return np.cos(states[:, 2]) > UPRIGHT_COSINE

    def expert(self, observations: np.ndarray) -> np.ndarray:
        """Energy shaping through the cart's acceleration, then state feedback at the top."""
        x, x_velocity, cosine, sine, angular_velocity = observations.T
        inertia = 4 / 3 * HALF_LENGTH
        missing_energy = GRAVITY * (1 - cosine) - 0.5 * inertia * angular_velocity**2
        acceleration = -3.0 * missing_energy * angular_velocity * cosine
        acceleration = np.clip(acceleration, -8.0, 8.0) - 1.5 * x - 0.8 * x_velocity
        balance = -(np.stack([x, x_velocity, sine, angular_velocity], axis=1) @ BALANCE_GAINS)
        near_top = (cosine > 0.85) & (np.abs(angular_velocity) < 4.0)
        force = np.where(near_top, balance, TOTAL_MASS * acceleration)
        return np.clip(force / MAX_FORCE, -1.0, 1.0)[:, None]


def accelerations(states: np.ndarray, force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cart [m/s²] and pole [rad/s²]: Florian (2007), "Correct equations for the cart-pole"."""
    angle, angular_velocity = states[:, 2], states[:, 3]
    cosine, sine = np.cos(angle), np.sin(angle)
    pull = (force + POLE_MASS * HALF_LENGTH * angular_velocity**2 * sine) / TOTAL_MASS
    leverage = HALF_LENGTH * (4 / 3 - POLE_MASS * cosine**2 / TOTAL_MASS)
    angular = (GRAVITY * sine - cosine * pull) / leverage
    return pull - POLE_MASS * HALF_LENGTH * angular * cosine / TOTAL_MASS, angular
