"""Two estimates of the return: a linear finite-horizon baseline and a value network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import torch

from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.network import Mlp
from bayes_curiosity_ros.learning.optimizer import Adam
from bayes_curiosity_ros.learning.returns import discounted_sums
from bayes_curiosity_ros.tasks.task import Task


class Critic(Protocol):
    """Something that values observations, and learns to from every batch."""

    def estimate(self, episodes: Episodes, rewards: np.ndarray) -> np.ndarray:
        """Learn from a batch and its total rewards (E, H); the values of it: (E, H + 1)."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """All state."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        ...


class LinearBaseline:
    """Ridge regression of the return to the horizon on (o, o², t, t², t³, 1 - γ^(H-t), 1).

    It is fitted to the batch it then values. Where the reward is the same at every step the
    return is a multiple of 1 - γ^(H-t), which the fit reproduces exactly: what is left of the
    advantage is the bonus, however small. Time is one of its inputs, so reaching the horizon
    is the end it was fitted for and is worth zero; it is not a truncation to bootstrap.
    """

    def __init__(
        self, center: np.ndarray, scale: np.ndarray, discount: float, ridge: float = 1e-10
    ) -> None:
        self.center = center
        self.scale = scale
        self.discount = discount
        self.ridge = ridge

    @classmethod
    def for_task(cls, task: Task, discount: float) -> LinearBaseline:
        """The baseline of a task's observations."""
        return cls(task.observation_center, task.observation_scale, discount)

    def estimate(self, episodes: Episodes, rewards: np.ndarray) -> np.ndarray:
        mask = episodes.mask
        features = self.features(episodes.observations)
        targets = discounted_sums(np.where(mask, rewards, 0.0), self.discount)[mask]
        rows = features[:, :-1][mask]
        gram = rows.T @ rows
        gram[np.diag_indices_from(gram)] += self.ridge * len(rows)
        values = features @ np.linalg.solve(gram, rows.T @ targets)
        values[np.arange(len(episodes)), episodes.lengths] = 0.0
        return values

    def features(self, observations: np.ndarray) -> np.ndarray:
        """(E, H + 1, F) from observations (E, H + 1, D)."""
        count, length, _ = observations.shape
        scaled = (observations - self.center) / self.scale
        time = np.linspace(0.0, 1.0, length)
        remaining = 1.0 - self.discount ** np.arange(length - 1, -1, -1)
        clock = np.stack([time, time**2, time**3, remaining, np.ones(length)], axis=1)
        clock = np.broadcast_to(clock, (count, *clock.shape))
        return np.concatenate([scaled, scaled**2, clock], axis=2)

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        pass


class ValueNetwork:
    """V(o) by a perceptron, for tasks without a clock in the value; truncation bootstraps."""

    def __init__(
        self,
        center: np.ndarray,
        scale: np.ndarray,
        discount: float,
        rng: np.random.Generator,
        hidden: tuple[int, ...] = (32, 32),
        learning_rate: float = 1e-3,
        epochs: int = 5,
        minibatch: int = 256,
    ) -> None:
        self.center = center
        self.scale = scale
        self.discount = discount
        self.rng = rng
        self.epochs = epochs
        self.minibatch = minibatch
        self.network = Mlp((len(center), *hidden, 1), rng)
        self.adam = Adam(self.network.parameters, learning_rate)

    def estimate(self, episodes: Episodes, rewards: np.ndarray) -> np.ndarray:
        """Values from before this batch's fit: a network that saw them would hide the noise."""
        mask = episodes.mask
        scaled = ((episodes.observations - self.center) / self.scale).astype(np.float32)
        inputs = torch.from_numpy(scaled)
        values = self.network(inputs.flatten(0, 1)).view(mask.shape[0], -1).double().numpy()
        last = (np.arange(len(episodes)), episodes.lengths)
        values[last] = np.where(episodes.terminated, 0.0, values[last])
        targets = np.where(mask, rewards, 0.0)
        targets[last[0], last[1] - 1] += self.discount * values[last]
        targets = discounted_sums(targets, self.discount)[mask].astype(np.float32)
        self._fit(torch.from_numpy(scaled[:, :-1][mask]), torch.from_numpy(targets)[:, None])
        return values

    def _fit(self, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        for _ in range(self.epochs):
            order = torch.from_numpy(self.rng.permutation(len(inputs)))
            for rows in torch.split(order, self.minibatch):
                linearization = self.network.linearize(inputs[rows])
                error = linearization.output - targets[rows]
                self.adam.descend(linearization.vjp(error / len(rows)))

    def state_dict(self) -> dict[str, Any]:
        return {
            "parameters": self.network.parameters,
            "adam": self.adam.state_dict(),
            "rng": self.rng.bit_generator.state,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.network.parameters.copy_(state["parameters"])
        self.adam.load_state_dict(state["adam"])
        self.rng.bit_generator.state = state["rng"]
