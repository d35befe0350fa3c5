"""A Gaussian squashed to [-1, 1] by tanh: the policy of soft actor-critic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from bayes_curiosity_ros.learning.network import Linearization, Mlp
from bayes_curiosity_ros.learning.policy import Normalising

LOG_STD_RANGE = (-5.0, 2.0)


@dataclass(frozen=True)
class SquashedSample:
    """Actions a = tanh(u) with u = μ + σ ε, and how they depend on μ and log σ.

    Attributes:
        mean: μ, (N, A).
        log_std: log σ, (N, A).
        noise: ε, (N, A), standard normal.
        actions: a, (N, A).
        log_probability: log π(a), (N,).
    """

    mean: Tensor
    log_std: Tensor
    noise: Tensor
    actions: Tensor
    log_probability: Tensor

    @staticmethod
    def draw(mean: Tensor, log_std: Tensor, noise: Tensor) -> SquashedSample:
        """The actions that this noise makes."""
        raw = torch.addcmul(mean, log_std.exp(), noise)
        normal = -0.5 * (noise * noise + math.log(2 * math.pi)) - log_std
        log_probability = (normal - log_slope(raw)).sum(1)
        return SquashedSample(mean, log_std, noise, raw.tanh(), log_probability)

    def pull_back(self, action: Tensor, log_probability: float) -> tuple[Tensor, Tensor]:
        """∂/∂μ and ∂/∂ log σ of sum(action · a) + log_probability · sum(log π(a)): (N, A) each.

        The noise stays: a and log π move with the parameters.

        Args:
            action: (N, A) gradient with respect to the actions.
            log_probability: gradient with respect to each log π.
        """
        slope = 1 - self.actions * self.actions
        raw = action * slope + 2 * log_probability * self.actions
        return raw, raw * self.log_std.exp() * self.noise - log_probability


def log_slope(raw: Tensor) -> Tensor:
    """log(1 - tanh²u), exact also where tanh u rounds to ±1."""
    return 2 * (math.log(2) - raw - softplus(-2 * raw))


class SquashedPolicy(Normalising):
    """a = tanh(N(μ(o), σ(o)²)); one network gives μ and log σ.

    Args:
        center: (D,) subtracted from observations.
        scale: (D,) then divided by.
        action_size: A.
        hidden: widths of the hidden layers.
        rng: source of the weights.
    """

    networks = ("network",)

    def __init__(
        self,
        center: np.ndarray,
        scale: np.ndarray,
        action_size: int,
        hidden: Sequence[int],
        rng: np.random.Generator,
    ) -> None:
        super().__init__(center, scale)
        self.action_size = action_size
        sizes = (len(center), *hidden, 2 * action_size)
        self.network = Mlp(sizes, rng, output_scale=0.1, activation="relu")

    def mean_actions(self, observations: np.ndarray) -> np.ndarray:
        """tanh μ: (N, A)."""
        return np.tanh(self.network.act(self.inputs(observations))[..., : self.action_size])

    def sample(self, observations: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Actions (N, A) from standard normal `noise` (N, A)."""
        output = self.network.act(self.inputs(observations))
        mean, log_std = np.split(output, 2, axis=-1)
        return np.tanh(mean + np.exp(log_std.clip(*LOG_STD_RANGE)) * noise)

    def draw(self, inputs: Tensor, noise: Tensor) -> SquashedSample:
        """Actions at normalised observations (N, D) from standard normal noise (N, A)."""
        mean, log_std = self.network(inputs).chunk(2, 1)
        return SquashedSample.draw(mean, log_std.clamp(*LOG_STD_RANGE), noise)

    def linearize(self, inputs: Tensor) -> LinearizedSquashed:
        """μ and log σ at normalised observations, with their derivatives."""
        return LinearizedSquashed(self.network.linearize(inputs))


class LinearizedSquashed:
    """A squashed policy near its present parameters, at N given observations.

    Attributes:
        mean: μ, (N, A).
        log_std: log σ within its range, (N, A).
    """

    def __init__(self, network: Linearization) -> None:
        self._network = network
        self.mean, raw = network.output.chunk(2, 1)
        self.log_std = raw.clamp(*LOG_STD_RANGE)
        self._free = (self.log_std == raw).to(raw.dtype)

    def draw(self, noise: Tensor) -> SquashedSample:
        """The actions that this noise makes."""
        return SquashedSample.draw(self.mean, self.log_std, noise)

    def vjp(self, mean: Tensor, log_std: Tensor) -> Tensor:
        """The gradient (P,) of sum(mean · μ) + sum(log_std · log σ)."""
        return self._network.vjp(torch.cat([mean, log_std * self._free], 1))
