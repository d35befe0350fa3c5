"""Several critics as one: their weights are stacked, so that one batched product serves them all.

Hidden layers are normalised (Ba and others 2016, without gain and bias) and rectified. As in
`network`, derivatives are explicit: a critic learns from Jᵀu with respect to its parameters, a
policy from the same with respect to its actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

EPSILON = 1e-5  # added to a layer's variance


@dataclass(frozen=True)
class Hidden:
    """What one hidden layer of all members did with N inputs.

    Attributes:
        values: (K, N, width) that it gave.
        before: (K, N, width) before normalisation; None where there is none.
        mean: (K, N, 1) of `before`, likewise.
        inverse_std: (K, N, 1), likewise.
    """

    values: Tensor
    before: Tensor | None = None
    mean: Tensor | None = None
    inverse_std: Tensor | None = None

    def back(self, cotangent: Tensor) -> Tensor:
        """From a gradient with respect to `values` to one with respect to what came in."""
        aten = torch.ops.aten
        cotangent = aten.threshold_backward(cotangent, self.values, 0.0)
        if self.before is None:
            return cotangent
        widths, wanted = self.before.shape[-1:], [True, False, False]
        return aten.native_layer_norm_backward(
            cotangent, self.before, widths, self.mean, self.inverse_std, None, None, wanted
        )[0]


class Ensemble:
    """K perceptrons of the same shape with one output each, on one flat parameter vector.

    Args:
        count: K.
        sizes: widths from the input to the last hidden layer.
        rng: source of the weights; every member draws its own.
        layer_norm: whether hidden layers are normalised before they are rectified.
        output_scale: factor on the last layers' initial weights.

    Attributes:
        parameters: (P,) float32 of all members. Change it in place only: the layers are views.
        layers: per layer the weights (K, in, out) and biases (K, 1, out).
    """

    def __init__(
        self,
        count: int,
        sizes: Sequence[int],
        rng: np.random.Generator,
        layer_norm: bool = True,
        output_scale: float = 0.1,
    ) -> None:
        self.count = count
        self.sizes = (*sizes, 1)
        self.layer_norm = layer_norm
        self.parameters = torch.zeros(_parameter_count(count, self.sizes))
        self.layers = _split(self.parameters, count, self.sizes)
        for index, (weight, _) in enumerate(self.layers):
            limit = (6.0 / sum(weight.shape[1:])) ** 0.5
            scale = output_scale if index == len(self.layers) - 1 else 1.0
            drawn = rng.uniform(-limit * scale, limit * scale, tuple(weight.shape))
            weight.copy_(torch.from_numpy(drawn))

    def __call__(self, inputs: Tensor, members: Sequence[int] | None = None) -> Tensor:
        """The outputs (K, N) at inputs (N, in).

        Args:
            inputs: the same for every member.
            members: only of these; if they are all, in the ensemble's own order.
        """
        layers = self.layers
        if members is not None and len(members) < self.count:
            chosen = torch.tensor(members)
            layers = [(weight[chosen], bias[chosen]) for weight, bias in layers]
        values = inputs.expand(len(layers[0][0]), *inputs.shape)
        for weight, bias in layers[:-1]:
            values = self._hidden(weight, bias, values).values
        return _output(layers[-1], values)

    def linearize(self, inputs: Tensor) -> EnsembleLinearization:
        """The outputs, and their derivatives ready to be multiplied with."""
        values = inputs.expand(self.count, *inputs.shape)
        hidden: list[Hidden] = []
        for weight, bias in self.layers[:-1]:
            hidden.append(self._hidden(weight, bias, values))
            values = hidden[-1].values
        return EnsembleLinearization(self, inputs, hidden, _output(self.layers[-1], values))

    def _hidden(self, weight: Tensor, bias: Tensor, values: Tensor) -> Hidden:
        before = torch.baddbmm(bias, values, weight)
        if not self.layer_norm:
            return Hidden(before.relu_())
        widths = before.shape[-1:]
        normal, mean, inverse_std = torch.native_layer_norm(before, widths, None, None, EPSILON)
        return Hidden(normal.relu_(), before, mean, inverse_std)


class EnsembleLinearization:
    """An `Ensemble` near its present parameters and N given inputs.

    Attributes:
        output: (K, N).
    """

    def __init__(
        self, ensemble: Ensemble, inputs: Tensor, hidden: Sequence[Hidden], output: Tensor
    ) -> None:
        self.output = output
        self._ensemble = ensemble
        self._inputs = inputs
        self._hidden = hidden

    def vjp(self, cotangent: Tensor) -> Tensor:
        """Jᵀ u: the gradient (P,) of sum(u * output), with u of shape (K, N)."""
        ensemble = self._ensemble
        gradient = torch.empty_like(ensemble.parameters)
        *parts, (weight, bias) = _split(gradient, ensemble.count, ensemble.sizes)
        for member, row in enumerate(cotangent):
            torch.mv(self._values(len(parts))[member].T, row, out=weight[member, :, 0])
        torch.sum(cotangent[:, :, None], 1, keepdim=True, out=bias)
        back = self._back_to_last(cotangent)
        for index in reversed(range(len(parts))):
            weight, bias = parts[index]
            torch.bmm(self._values(index).mT, back, out=weight)
            torch.sum(back, 1, keepdim=True, out=bias)
            back = self._back(index, back) if index > 0 else back
        return gradient

    def input_gradient(self, cotangent: Tensor, first: int = 0) -> Tensor:
        """The gradient (N, in - first) of sum(u * output) with respect to the last inputs."""
        back = self._back_to_last(cotangent)
        for index in reversed(range(1, len(self._hidden))):
            back = self._back(index, back)
        return torch.bmm(back, self._ensemble.layers[0][0][:, first:].mT).sum(0)

    def _values(self, index: int) -> Tensor:
        """What layer `index` was given: (K, N, in)."""
        if index > 0:
            return self._hidden[index - 1].values
        return self._inputs.expand(self._ensemble.count, *self._inputs.shape)

    def _back_to_last(self, cotangent: Tensor) -> Tensor:
        """To the inputs of the last hidden layer: (K, N, width). A product by numbers, as a
        matrix product with a single column is slow."""
        return self._hidden[-1].back(cotangent[:, :, None] * self._ensemble.layers[-1][0].mT)

    def _back(self, index: int, cotangent: Tensor) -> Tensor:
        through = torch.bmm(cotangent, self._ensemble.layers[index][0].mT)
        return self._hidden[index - 1].back(through)


def _output(layer: tuple[Tensor, Tensor], values: Tensor) -> Tensor:
    """One number of every row: (K, N)."""
    weight, bias = layer
    rows = [torch.mv(row, column) for row, column in zip(values, weight[:, :, 0], strict=True)]
    return torch.stack(rows).add_(bias[:, :, 0])


def _parameter_count(count: int, sizes: Sequence[int]) -> int:
    return count * sum((before + 1) * after for before, after in pairwise(sizes))


def _split(flat: Tensor, count: int, sizes: Sequence[int]) -> list[tuple[Tensor, Tensor]]:
    """Views of a flat vector as each layer's weights (K, in, out) and biases (K, 1, out)."""
    layers, start = [], 0
    for before, after in pairwise(sizes):
        middle = start + count * before * after
        end = middle + count * after
        weight = flat[start:middle].view(count, before, after)
        layers.append((weight, flat[middle:end].view(count, 1, after)))
        start = end
    return layers
