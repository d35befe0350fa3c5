"""Two links with a motor at the elbow, to be swung above a line: -1 per step."""

from __future__ import annotations

import numpy as np

from bayes_curiosity_ros.tasks.registry import register_task
from bayes_curiosity_ros.tasks.task import Task, wrap_angle

MASS = 1.0  # of either link, in [kg]
LENGTH = 1.0  # of the first link, in [m]
CENTER = 0.5  # of mass along a link, in [m]
INERTIA = 1.0  # of either link, in [kg m²]
GRAVITY = 9.8  # [m/s²]
MAX_TORQUE = 1.0  # [N m]
MAX_SPEEDS = np.array([4 * np.pi, 9 * np.pi])  # [rad/s]
TIMESTEP = 0.2  # [s]


@register_task("Acrobot")
class Acrobot(Task):
    """State: both angles [rad] (the first from hanging, the second relative), velocities."""

    name = "acrobot"
    horizon = 500
    observation_size = 6
    observation_center = np.zeros(6)
    observation_scale = np.array([1.0, 1.0, 1.0, 1.0, 4.0, 9.0])
    observation_bound = np.array([1.0, 1.0, 1.0, 1.0, *MAX_SPEEDS])

    def initial_states(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return rng.uniform(-0.1, 0.1, (count, 4))

    def advance(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        states = runge_kutta_4(states.T, MAX_TORQUE * actions[:, 0]).T
        states[:, :2] = wrap_angle(states[:, :2])
        states[:, 2:] = np.clip(states[:, 2:], -MAX_SPEEDS, MAX_SPEEDS)
        return states

    def observe(self, states: np.ndarray) -> np.ndarray:
        cosines, sines = np.cos(states[:, :2]), np.sin(states[:, :2])
        columns = [cosines[:, 0], sines[:, 0], cosines[:, 1], sines[:, 1], *states[:, 2:].T]
        return np.stack(columns, axis=1)

    def reward(self, states: np.ndarray) -> np.ndarray:
        return np.full(len(states), -1.0)

    def terminal(self, states: np.ndarray) -> np.ndarray:
        return -np.cos(states[:, 0]) - np.cos(states[:, 0] + states[:, 1]) > 1.0

    def successful(self, states: np.ndarray) -> np.ndarray:
        return self.terminal(states)

    def expert(self, observations: np.ndarray) -> np.ndarray:
        """Turn the elbow the way it already turns: the motor's power is never negative."""
        return np.where(observations[:, 5:6] >= 0, 1.0, -1.0)


def derivative(states: np.ndarray, torque: np.ndarray) -> np.ndarray:
    """Time derivative of states (4, N); Sutton and Barto's equations, Gymnasium's "book"."""
    angle_1, angle_2, speed_1, speed_2 = states
    cosine, sine = np.cos(angle_2), np.sin(angle_2)
    coupling = MASS * LENGTH * CENTER
    d_1 = MASS * (2 * CENTER**2 + LENGTH**2) + 2 * coupling * cosine + 2 * INERTIA
    d_2 = MASS * CENTER**2 + coupling * cosine + INERTIA
    gravity_2 = MASS * CENTER * GRAVITY * np.sin(angle_1 + angle_2)
    gravity_1 = MASS * (CENTER + LENGTH) * GRAVITY * np.sin(angle_1) + gravity_2
    phi_1 = gravity_1 - coupling * sine * speed_2 * (speed_2 + 2 * speed_1)
    numerator = torque + d_2 / d_1 * phi_1 - coupling * speed_1**2 * sine - gravity_2
    acceleration_2 = numerator / (MASS * CENTER**2 + INERTIA - d_2**2 / d_1)
    acceleration_1 = -(d_2 * acceleration_2 + phi_1) / d_1
    return np.array([speed_1, speed_2, acceleration_1, acceleration_2])


def runge_kutta_4(states: np.ndarray, torque: np.ndarray) -> np.ndarray:
    """States (4, N) one timestep later by the classical method, the torque held constant."""
    k_1 = derivative(states, torque)
    k_2 = derivative(states + TIMESTEP / 2 * k_1, torque)
    k_3 = derivative(states + TIMESTEP / 2 * k_2, torque)
    k_4 = derivative(states + TIMESTEP * k_3, torque)
    return states + TIMESTEP / 6 * (k_1 + 2 * k_2 + 2 * k_3 + k_4)
