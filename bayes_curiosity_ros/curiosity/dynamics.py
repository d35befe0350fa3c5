"""A Bayesian network of the dynamics, with its derivatives written out.

The network is small and takes a hundred steps of Adam per update: an autograd graph would cost
several times the arithmetic. So all weights live in one flat vector of means and one of ρ, what
is elementwise is done once for all layers, and each layer's slopes are a few matrix products.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from bayes_curiosity_ros.curiosity.activation import tanh


class DynamicsNetwork(nn.Module):
    """(o, a) → o' - o, all standardised, with weights N(μ, σ²), σ = log(1 + e^ρ), tanh units.

    Attributes:
        mean: (P,) μ of all weights, layer by layer.
        rho: (P,) ρ of all weights.
        precision: of the likelihood.
    """

    def __init__(
        self,
        widths: Sequence[int],
        initial_deviation: float,
        likelihood_deviation: float,
        generator: torch.Generator,
    ) -> None:
        """Draw the means.

        Args:
            widths: from inputs to outputs.
            initial_deviation: σ of every weight.
            likelihood_deviation: of the prediction.
            generator: source of the means.
        """
        super().__init__()
        self.shapes = [(fan_in + 1, fan_out) for fan_in, fan_out in pairwise(widths)]
        means = [torch.randn(shape, generator=generator) for shape in self.shapes]
        for mean in means:
            mean /= math.sqrt(len(mean) - 1)
            mean[-1] = 0.0
        self.mean = nn.Parameter(torch.cat([mean.flatten() for mean in means]))
        self.rho = nn.Parameter(
            torch.full_like(self.mean, math.log(math.expm1(initial_deviation)))
        )
        self.precision = likelihood_deviation**-2

    @property
    def deviation(self) -> Tensor:
        """σ of all weights: (P,)."""
        return nn.functional.softplus(self.rho)

    def split(self, flat: Tensor) -> list[Tensor]:
        """Views of numbers per weight (..., P) as each layer's (..., in + 1, out)."""
        parts = torch.split(flat, [rows * columns for rows, columns in self.shapes], dim=-1)
        return [
            part.view(*part.shape[:-1], *shape)
            for part, shape in zip(parts, self.shapes, strict=True)
        ]

    def draw_noise(self, samples: int, generator: torch.Generator) -> list[Tensor]:
        """Standard normal noise for `samples` draws of all weights, layer by layer."""
        return [
            torch.randn(samples, *shape, generator=generator).to(self.mean.device)
            for shape in self.shapes
        ]

    @torch.no_grad()
    def information_gain(self, inputs: Tensor, targets: Tensor, noise: list[Tensor]) -> Tensor:
        """½ gᵀH⁻¹g of each row (λ = 1): (N,).

        A layer's gradient for row n and draw s is the outer product of its input x and the
        loss's slope δ at its output; for ρ, times the noise ε and ∂σ/∂ρ, which H⁻¹ cancels. The
        square of the mean over draws is a sum over pairs of draws (s, t), and each pair's

            Σ_ij σ²_ij (1 + ½ ε_s,ij ε_t,ij) x_s,i x_t,i δ_s,j δ_t,j

        is a product of matrices: no gradient of a single row is ever stored.
        """
        gain = torch.zeros(len(inputs), device=inputs.device)
        samples = len(noise[0])
        slopes = self._slopes(inputs, targets, noise)
        variances = self.split(self.deviation.square())
        for variance, draws, (x, delta) in zip(variances, noise, slopes, strict=True):
            for s in range(samples):
                for t in range(s, samples):
                    share = (0.5 if s == t else 1.0) / samples**2
                    scale = torch.addcmul(variance, variance * draws[s], draws[t], value=0.5)
                    pair = ((x[s] * x[t]) @ scale).mul_(delta[s]).mul_(delta[t])
                    gain.add_(pair.sum(dim=1), alpha=share)
        return gain

    def _slopes(
        self, inputs: Tensor, targets: Tensor, noise: list[Tensor]
    ) -> list[tuple[Tensor, Tensor]]:
        """Of each layer, its input x (S, N, in + 1) and the loss's slope δ (S, N, out)."""
        weights = [
            mean + deviation * draws
            for mean, deviation, draws in zip(
                self.split(self.mean), self.split(self.deviation), noise, strict=True
            )
        ]
        xs = [with_one(inputs.expand(len(noise[0]), -1, -1))]
        for weight in weights[:-1]:
            xs.append(with_one(tanh(xs[-1] @ weight)))
        deltas = [self.precision * (xs[-1] @ weights[-1] - targets)]
        for x, weight in zip(reversed(xs[1:]), reversed(weights[1:]), strict=True):
            back = deltas[-1] @ weight[:, :-1].transpose(1, 2)
            deltas.append(back * (1.0 - x[..., :-1].square()))
        return list(zip(xs, reversed(deltas), strict=True))


def with_one(inputs: Tensor) -> Tensor:
    """A last column of ones, for the bias."""
    return nn.functional.pad(inputs, (0, 1), value=1.0)
