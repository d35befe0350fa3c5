"""A multilayer perceptron on one flat parameter vector, with explicit derivatives.

Natural gradients need J v and Jᵀ u of the *outputs* with respect to the parameters, many times
at the same inputs. `Mlp.linearize` keeps the activations once; each product is then a handful
of matrix products, three to five times faster on small networks than a general autograd graph.

S networks of the same shape can be one: with a leading dimension S of parameters, inputs and
outputs, each call does what S calls would, in the time of a few.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from bayes_curiosity_ros.curiosity.activation import tanh
from bayes_curiosity_ros.errors import ConfigError

ACTIVATIONS = ("tanh", "relu")


class Mlp:
    """Fully connected layers; the last one is linear.

    Attributes:
        parameters: (P,) float32, all weights and biases, or (S, P) of S networks. Change it in
            place only: the layers are views of it.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        rng: np.random.Generator | None,
        output_scale: float = 1.0,
        activation: str = "tanh",
        storage: Tensor | None = None,
    ) -> None:
        """Initialise with Glorot-uniform weights and zero biases.

        Args:
            sizes: widths from input to output.
            rng: source of the weights; None leaves what is in the storage.
            output_scale: factor on the last layer's weights; 0.01 starts near zero output.
            activation: of the hidden layers, "tanh" or "relu".
            storage: (P,) or (S, P) tensor to live in, or None to make one.
        """
        if activation not in ACTIVATIONS:
            raise ConfigError(f"unknown activation {activation!r}; choose one of: tanh, relu")
        self.sizes = tuple(sizes)
        self.activation = activation
        count = parameter_count(sizes)
        self.parameters = torch.zeros(count) if storage is None else storage
        self.layers = split_layers(self.parameters, sizes)
        self._arrays = [
            (weight.numpy(), bias[..., None, :].numpy()) for weight, bias in self.layers
        ]
        if rng is not None:
            self._initialise(rng, output_scale)

    def _initialise(self, rng: np.random.Generator, output_scale: float) -> None:
        for index, (weight, bias) in enumerate(self.layers):
            limit = (6.0 / sum(weight.shape)) ** 0.5
            if index == len(self.layers) - 1:
                limit *= output_scale
            weight.copy_(torch.from_numpy(rng.uniform(-limit, limit, tuple(weight.shape))))
            bias.zero_()

    @classmethod
    def stacked(cls, networks: Sequence[Mlp]) -> Mlp:
        """One of all these, with copies of their parameters: (S, P)."""
        return networks[0]._like(torch.stack([network.parameters for network in networks]))

    def copied(self) -> Mlp:
        """Another with the same parameters."""
        return self._like(self.parameters.clone())

    def _like(self, storage: Tensor) -> Mlp:
        return Mlp(self.sizes, None, activation=self.activation, storage=storage)

    def __call__(self, inputs: Tensor) -> Tensor:
        """The outputs (N, out) at inputs (N, in)."""
        return self._activations(inputs)[-1]

    def act(self, inputs: np.ndarray) -> np.ndarray:
        """The same for a few NumPy rows, where torch's call overhead would dominate."""
        hidden = inputs
        for weight, bias in self._arrays[:-1]:
            hidden = hidden @ weight
            hidden += bias
            if self.activation == "tanh":
                np.tanh(hidden, out=hidden)
            else:
                np.maximum(hidden, 0.0, out=hidden)
        weight, bias = self._arrays[-1]
        return hidden @ weight + bias

    def linearize(self, inputs: Tensor) -> Linearization:
        """The outputs, and their derivatives ready to be multiplied with."""
        return Linearization(self, self._activations(inputs))

    def _activations(self, inputs: Tensor) -> list[Tensor]:
        values = [inputs]
        for weight, bias in self.layers[:-1]:
            hidden = affine(bias, values[-1], weight)
            values.append(tanh(hidden, hidden) if self.activation == "tanh" else hidden.relu_())
        weight, bias = self.layers[-1]
        values.append(affine(bias, values[-1], weight))
        return values


class Linearization:
    """An `Mlp` near its present parameters and given inputs."""

    def __init__(self, network: Mlp, activations: list[Tensor]) -> None:
        self._parameters = network.parameters
        self._sizes = network.sizes
        self._layers = network.layers
        self._activations = activations
        self._slopes = [_slope(network.activation, hidden) for hidden in activations[1:-1]]
        self.output = activations[-1]

    def jvp(self, direction: Tensor) -> Tensor:
        """J v: the change of one network's outputs (N, out) along a direction (P,)."""
        changes = split_layers(direction, self._sizes)
        change = torch.addmm(changes[0][1], self._activations[0], changes[0][0])
        for index in range(1, len(self._layers)):
            change.mul_(self._slopes[index - 1])
            moved = torch.addmm(changes[index][1], self._activations[index], changes[index][0])
            change = moved.addmm_(change, self._layers[index][0])
        return change

    def vjp(self, cotangent: Tensor) -> Tensor:
        """Jᵀ u: the gradient (P,) of sum(u * outputs), with u of shape (N, out)."""
        gradient = torch.empty_like(self._parameters)
        parts = split_layers(gradient, self._sizes)
        for index in reversed(range(len(self._layers))):
            product(self._activations[index].mT, cotangent, out=parts[index][0])
            torch.sum(cotangent, -2, out=parts[index][1])
            if index > 0:
                cotangent = self._back(index, cotangent)
        return gradient

    def input_gradient(self, cotangent: Tensor) -> Tensor:
        """The gradient (N, in) of sum(u * outputs) with respect to the inputs."""
        for index in reversed(range(1, len(self._layers))):
            cotangent = self._back(index, cotangent)
        return product(cotangent, self._layers[0][0].mT)

    def _back(self, index: int, cotangent: Tensor) -> Tensor:
        return product(cotangent, self._layers[index][0].mT).mul_(self._slopes[index - 1])


def _slope(activation: str, values: Tensor) -> Tensor:
    """The derivative of the activation where its value is `values`."""
    if activation == "tanh":
        return 1 - values * values
    return torch.sign(values)  # a rectified value is never negative


def parameter_count(sizes: Sequence[int]) -> int:
    """Weights and biases of a perceptron of these widths."""
    return sum((before + 1) * after for before, after in pairwise(sizes))


def split_layers(flat: Tensor, sizes: Sequence[int]) -> list[tuple[Tensor, Tensor]]:
    """Views of a flat vector (…, P) as each layer's weight (…, in, out) and bias (…, out)."""
    layers, start = [], 0
    for before, after in pairwise(sizes):
        middle, end = start + before * after, start + (before + 1) * after
        weight = flat[..., start:middle].view(*flat.shape[:-1], before, after)
        layers.append((weight, flat[..., middle:end]))
        start = end
    return layers


def affine(bias: Tensor, inputs: Tensor, weight: Tensor) -> Tensor:
    """Inputs (…, N, in) times weight (…, in, out), plus bias (…, out)."""
    if inputs.dim() == 2:
        return torch.addmm(bias, inputs, weight)
    if _thin(inputs, weight):
        return torch.stack([torch.addmm(*each) for each in zip(bias, inputs, weight, strict=True)])
    return torch.baddbmm(bias[:, None], inputs, weight)


def product(left: Tensor, right: Tensor, out: Tensor | None = None) -> Tensor:
    """The matrix product of (…, N, K) and (…, K, M)."""
    if left.dim() == 2:
        return torch.mm(left, right, out=out)
    if not _thin(left, right):
        return torch.bmm(left, right, out=out)
    each = [torch.mm(*pair) for pair in zip(left, right, strict=True)]
    return torch.stack(each, out=out)


def _thin(left: Tensor, right: Tensor) -> bool:
    """Whether a matrix is a row or a column: a batched product of these sums in another order."""
    return 1 in (*left.shape[1:], right.shape[2])
