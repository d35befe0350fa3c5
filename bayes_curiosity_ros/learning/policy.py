"""A Gaussian policy: mean and standard deviation are both networks of the observation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.network import Linearization, Mlp, parameter_count
from bayes_curiosity_ros.tasks.task import Task

LOG_STD_RANGE = (-3.0, 1.0)


@dataclass(frozen=True)
class PolicyConfig:
    """Shape of a Gaussian policy's two networks.

    Attributes:
        hidden: widths of the hidden layers of either network.
        output_scale: factor on the last layers' initial weights. It decides how much the first
            policy varies over the state space; results depend on it.
        initial_std: standard deviation at first, in units of the action range's half-width.
    """

    hidden: tuple[int, ...] = (32, 32)
    output_scale: float = 0.01
    initial_std: float = 1.0

    def __post_init__(self) -> None:
        if (
            min(self.hidden, default=0) < 1
            or not self.output_scale > 0
            or not self.initial_std > 0
        ):
            raise ConfigError(
                f"policy: hidden = {self.hidden}, output_scale = {self.output_scale}, "
                f"initial_std = {self.initial_std}; all must be > 0"
            )


@dataclass(frozen=True)
class Gaussian:
    """A diagonal normal distribution for each of N rows.

    Attributes:
        mean: (N, A).
        log_std: (N, A).
    """

    mean: Tensor
    log_std: Tensor

    def log_probability(self, actions: Tensor) -> Tensor:
        """log π(a): (N,)."""
        z = (actions - self.mean) * torch.exp(-self.log_std)
        size = actions.shape[1]
        return -0.5 * (z * z).sum(1) - self.log_std.sum(1) - 0.5 * size * math.log(2 * math.pi)

    def kl_from(self, old: Gaussian) -> Tensor:
        """KL(old ‖ self) of each row: (N,)."""
        spread = torch.exp(2 * (old.log_std - self.log_std))
        shift = ((old.mean - self.mean) * torch.exp(-self.log_std)) ** 2
        return (self.log_std - old.log_std + 0.5 * (spread + shift - 1)).sum(1)

    def score(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        """∂ log π(a) / ∂ mean and / ∂ log σ: (N, A) each."""
        precision = torch.exp(-self.log_std)
        z = (actions - self.mean) * precision
        return z * precision, z * z - 1

    def fisher_product(self, mean: Tensor, log_std: Tensor) -> tuple[Tensor, Tensor]:
        """The Fisher information of (mean, log σ), which is diagonal, times a vector."""
        return mean * torch.exp(-2 * self.log_std), 2 * log_std


class Normalising:
    """What sees observations normalised.

    Args:
        center: (D,) subtracted from observations.
        scale: (D,) then divided by.

    Attributes:
        networks: names of the attributes that are its networks.
    """

    networks: tuple[str, ...] = ()

    def __init__(self, center: np.ndarray, scale: np.ndarray) -> None:
        self.center = center.astype(np.float32)
        self.inverse_scale = (1.0 / scale).astype(np.float32)

    @classmethod
    def stacked(cls, policies: Sequence[Self]) -> Self:
        """S of the same shape as one, as they are now: it acts at (S, N, D) observations."""
        whole = copy(policies[0])
        for name in cls.networks:
            setattr(whole, name, Mlp.stacked([getattr(policy, name) for policy in policies]))
        return whole

    def inputs(self, observations: np.ndarray) -> np.ndarray:
        """Normalised observations (…, D) float32."""
        return (observations.astype(np.float32) - self.center) * self.inverse_scale


class GaussianPolicy(Normalising):
    """π(a | o) = N(μ(o), σ(o)²). Actions are meant for [-1, 1]; the task clips them.

    Attributes:
        action_size: A.
        parameters: (P,) float32, of both networks; change it in place only.
    """

    networks = ("mean_network", "std_network")

    def __init__(
        self,
        center: np.ndarray,
        scale: np.ndarray,
        action_size: int,
        rng: np.random.Generator,
        hidden: Sequence[int] = (32, 32),
        output_scale: float = 0.01,
        initial_std: float = 1.0,
    ) -> None:
        """Start near mean 0 and standard deviation `initial_std` everywhere.

        Args:
            center: (D,) subtracted from observations.
            scale: (D,) then divided by.
            action_size: A.
            rng: source of the weights.
            hidden: widths of the hidden layers of either network.
            output_scale: factor on the last layers' initial weights. It decides how much the
                first policy varies over the state space; results depend on it (METHOD.md).
            initial_std: in units of the action range's half-width.
        """
        super().__init__(center, scale)
        self.action_size = action_size
        sizes = (len(center), *hidden, action_size)
        count = parameter_count(sizes)
        self.parameters = torch.zeros(2 * count)
        self.mean_network = Mlp(sizes, rng, output_scale, storage=self.parameters[:count])
        self.std_network = Mlp(sizes, rng, output_scale, storage=self.parameters[count:])
        self.std_network.layers[-1][1].fill_(math.log(initial_std))

    @classmethod
    def for_task(
        cls, task: Task, config: PolicyConfig, rng: np.random.Generator
    ) -> GaussianPolicy:
        """A fresh policy of a task's observations and actions."""
        return cls(
            task.observation_center,
            task.observation_scale,
            task.action_size,
            rng,
            config.hidden,
            config.output_scale,
            config.initial_std,
        )

    def mean_actions(self, observations: np.ndarray) -> np.ndarray:
        """The most likely actions: (N, A)."""
        return self.mean_network.act(self.inputs(observations))

    def sample(self, observations: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Actions (N, A) from standard normal `noise` (N, A)."""
        inputs = self.inputs(observations)
        log_std = self.std_network.act(inputs).clip(*LOG_STD_RANGE)
        return self.mean_network.act(inputs) + np.exp(log_std) * noise

    def distribution(self, inputs: Tensor) -> Gaussian:
        """π at normalised observations."""
        return Gaussian(self.mean_network(inputs), self.std_network(inputs).clamp_(*LOG_STD_RANGE))

    def linearize(self, inputs: Tensor) -> LinearizedPolicy:
        """π at normalised observations, with its derivatives."""
        return LinearizedPolicy(
            self.mean_network.linearize(inputs), self.std_network.linearize(inputs)
        )

    def state_dict(self) -> dict[str, Any]:
        """The parameters; the normalisation belongs to the task."""
        return {"parameters": self.parameters}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self.parameters.copy_(state["parameters"])


class LinearizedPolicy:
    """A Gaussian policy near its present parameters, at N given observations."""

    def __init__(self, mean: Linearization, log_std: Linearization) -> None:
        self._mean = mean
        self._log_std = log_std
        clamped = log_std.output.clamp(*LOG_STD_RANGE)
        self._free = (clamped == log_std.output).to(clamped.dtype)
        self.distribution = Gaussian(mean.output, clamped)

    def jvp(self, direction: Tensor) -> tuple[Tensor, Tensor]:
        """Change of (mean, log σ), (N, A) each, along a parameter direction (P,)."""
        half = len(direction) // 2
        change = self._log_std.jvp(direction[half:])
        return self._mean.jvp(direction[:half]), change * self._free

    def vjp(self, mean: Tensor, log_std: Tensor) -> Tensor:
        """The gradient (P,) of sum(mean · μ) + sum(log_std · log σ)."""
        return torch.cat([self._mean.vjp(mean), self._log_std.vjp(log_std * self._free)])
