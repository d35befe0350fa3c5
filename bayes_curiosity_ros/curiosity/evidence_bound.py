"""The slopes of VIME's training objective, written out."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from bayes_curiosity_ros.curiosity.activation import tanh
from bayes_curiosity_ros.curiosity.dynamics import DynamicsNetwork


class BoundGradient:
    """Slopes of the negative evidence bound per transition at a network's present weights:

        mean over rows of -log p(target | x) + KL[q ‖ N(0, prior²)] / count.

    Weights are drawn anew for every row (local reparameterisation): a layer's outputs are normal
    with mean x μ and variance x² σ². What is elementwise is done once for all layers, and
    buffers are kept from call to call: on so small a network, calls cost more than arithmetic.

    Attributes:
        by_mean: (P,) slopes by μ.
        by_rho: (P,) slopes by ρ.
    """

    def __init__(self, network: DynamicsNetwork, rows: int, prior: float, count: int) -> None:
        """Make the buffers.

        Args:
            network: whose weights; they change in place only.
            rows: of a minibatch.
            prior: deviation of the weights before any data.
            count: transitions that share the divergence.
        """
        mean, self._rho = network.mean.detach(), network.rho.detach()
        self._deviation = torch.empty_like(mean)
        self._variance, self._by_variance = torch.empty_like(mean), torch.empty_like(mean)
        self.by_mean, self.by_rho = torch.empty_like(mean), torch.empty_like(mean)
        self._mean = network.split(mean)
        self._variances = network.split(self._variance)
        self._by_means = network.split(self.by_mean)
        self._by_variances = network.split(self._by_variance)
        self._hidden = [mean.new_ones(rows, size) for size, _ in network.shapes[1:]]
        self._zero, self._one = mean.new_zeros(()), mean.new_ones(())
        self._misfit_scale = network.precision / rows
        self._shrinkage = 1.0 / (prior**2 * count)
        self._entropy_scale = 1.0 / count

    @torch.no_grad()
    def compute(self, x: Tensor, targets: Tensor, noise: Sequence[Tensor]) -> None:
        """Fill `by_mean` and `by_rho`.

        Args:
            x: (N, in + 1) inputs, the last column ones.
            targets: (N, out).
            noise: standard normal, of each layer (N, out).
        """
        torch.logaddexp(self._rho, self._zero, out=self._deviation)  # log(1 + e^ρ)
        torch.mul(self._deviation, self._deviation, out=self._variance)
        inputs, spreads, output = self._forward(x, noise)
        self._backward(inputs, spreads, output.sub_(targets), noise)
        torch.mul(self._by_variance, self._deviation, out=self.by_rho)
        self.by_rho.addcdiv_(self._one, self._deviation, value=-self._entropy_scale)
        self.by_rho.mul_(torch.sigmoid(self._rho))

    def _forward(
        self, x: Tensor, noise: Sequence[Tensor]
    ) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """Each layer's inputs (N, in + 1) and its outputs' deviations (N, out); the last
        layer's outputs."""
        inputs, spreads, output = [x], [], x
        for index, draws in enumerate(noise):
            if index > 0:
                tanh(output, self._hidden[index - 1][:, :-1])
                inputs.append(self._hidden[index - 1])
            x = inputs[-1]
            spreads.append(torch.mm(x * x, self._variances[index]).sqrt_())
            output = torch.mm(x, self._mean[index]).addcmul_(spreads[-1], draws)
        return inputs, spreads, output

    def _backward(
        self,
        inputs: list[Tensor],
        spreads: list[Tensor],
        slope: Tensor,
        noise: Sequence[Tensor],
    ) -> None:
        """Fill the slopes by μ and twice those by σ², given the last outputs' errors."""
        scale, shrinkage = self._misfit_scale, self._shrinkage
        for index in reversed(range(len(noise))):
            x, mean, variance = inputs[index], self._mean[index], self._variances[index]
            by_variance = (slope * noise[index]).div_(spreads[index])
            torch.addmm(mean, x.T, slope, beta=shrinkage, alpha=scale, out=self._by_means[index])
            torch.addmm(
                self._one,
                (x * x).T,
                by_variance,
                beta=shrinkage,
                alpha=scale,
                out=self._by_variances[index],
            )
            if index > 0:
                back = torch.mm(by_variance, variance.T).mul_(x).addmm_(slope, mean.T)[:, :-1]
                hidden = x[:, :-1]
                slope = torch.addcmul(back, back * hidden, hidden, value=-1.0)
