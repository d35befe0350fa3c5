"""What a task is: pure, vectorised dynamics with reward, end and success.

State lives with the caller (see `tasks.simulation`), so a task has nothing to reset, can be
shared between threads, and thousands of copies cost one NumPy call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from bayes_curiosity_ros.errors import InputError


class Task(ABC):
    """N copies of a task, stepped side by side. Actions lie in [-1, 1] and are clipped to it.

    Attributes:
        name: the registry's name.
        horizon: steps after which an episode is truncated (the value is bootstrapped there).
        observation_size: D.
        action_size: A.
        observation_center: (D,) middle of each observation's typical range.
        observation_scale: (D,) half of that range: (o - center) / scale is about -1..1.
        observation_bound: (D,) largest absolute value, infinite where there is none.
        success_steps: an episode succeeds when its last `success_steps` states are all
            successful ones (see `successful`).
        visual: whether `images` belong to the observation.
    """

    name: str
    horizon: int
    observation_size: int
    action_size: int = 1
    observation_center: np.ndarray
    observation_scale: np.ndarray
    observation_bound: np.ndarray
    success_steps: int = 1
    visual: bool = False

    @abstractmethod
    def initial_states(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """`count` states at the start of an episode: (N, S)."""

    @abstractmethod
    def advance(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """The states one timestep later: (N, S). `actions` (N, A) are already in [-1, 1]."""

    @abstractmethod
    def observe(self, states: np.ndarray) -> np.ndarray:
        """What the agent sees of the states: (N, D)."""

    @abstractmethod
    def reward(self, states: np.ndarray) -> np.ndarray:
        """The extrinsic reward of reaching these states: (N,)."""

    @abstractmethod
    def successful(self, states: np.ndarray) -> np.ndarray:
        """Whether these states count as success: (N,) bool."""

    def marked_reward(self, success: bool) -> float:
        """The reward of an episode's last step, where a person says whether it has succeeded."""
        return float(success)

    def terminal(self, states: np.ndarray) -> np.ndarray:
        """Whether an episode ends here for good, as opposed to by the clock: (N,) bool."""
        return np.zeros(len(states), dtype=bool)

    @abstractmethod
    def expert(self, observations: np.ndarray) -> np.ndarray:
        """A scripted policy that solves the task: (N, D) observations to (N, A) actions."""

    def expert_at(self, states: np.ndarray) -> np.ndarray:
        """The expert's actions, (N, A), at these states, whatever a policy would see of them."""
        return self.expert(self.observe(states))

    def images(self, states: np.ndarray) -> np.ndarray:
        """What a visual task's camera sees: (N, 4, H, W) bytes, RGB and depth."""
        raise InputError(f"task {self.name!r} has no camera")


def wrap_angle(angle: np.ndarray) -> np.ndarray:
    """The same angle in [-π, π), in [rad]."""
    return (angle + np.pi) % (2 * np.pi) - np.pi
