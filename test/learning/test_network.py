"""The explicit derivatives against autograd, Adam against torch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.network import Mlp, split_layers
from bayes_curiosity_ros.learning.optimizer import Adam

SIZES = (3, 7, 5, 2)


def outputs(flat, inputs, activation):
    """The network again, in plain autograd."""
    *hidden, last = split_layers(flat, SIZES)
    squash = torch.tanh if activation == "tanh" else torch.relu
    for weight, bias in hidden:
        inputs = squash(inputs @ weight + bias)
    return inputs @ last[0] + last[1]


@pytest.fixture(params=["tanh", "relu"])
def case(request):
    rng = np.random.default_rng(3)
    network = Mlp(SIZES, rng, activation=request.param)
    network.parameters += 0.1 * torch.from_numpy(rng.standard_normal(len(network.parameters)))
    return network, torch.from_numpy(rng.standard_normal((11, 3), dtype=np.float32)), rng


def test_forward_act_and_linearize_agree(case):
    network, inputs, _ = case
    expected = outputs(network.parameters, inputs, network.activation)
    torch.testing.assert_close(network(inputs), expected)
    torch.testing.assert_close(network.linearize(inputs).output, expected)
    np.testing.assert_allclose(network.act(inputs.numpy()), expected, atol=1e-5)


def test_jvp_equals_autograd(case):
    network, inputs, rng = case
    direction = torch.from_numpy(rng.standard_normal(len(network.parameters), dtype=np.float32))
    _, expected = torch.func.jvp(
        lambda flat: outputs(flat, inputs, network.activation), (network.parameters,), (direction,)
    )
    torch.testing.assert_close(network.linearize(inputs).jvp(direction), expected)


def test_vjp_and_input_gradient_equal_autograd(case):
    network, inputs, rng = case
    cotangent = torch.from_numpy(rng.standard_normal((11, 2), dtype=np.float32))
    flat, points = network.parameters.clone().requires_grad_(), inputs.clone().requires_grad_()
    (outputs(flat, points, network.activation) * cotangent).sum().backward()
    linearization = network.linearize(inputs)
    torch.testing.assert_close(linearization.vjp(cotangent), flat.grad)
    torch.testing.assert_close(linearization.input_gradient(cotangent), points.grad)


def test_acting_follows_the_parameters_without_copies(case):
    network, inputs, _ = case
    network.parameters.zero_()
    assert not network.act(inputs.numpy()).any()


def test_unknown_activation():
    with pytest.raises(ConfigError, match="sigmoid"):
        Mlp(SIZES, np.random.default_rng(0), activation="sigmoid")


def test_adam_equals_torch_bit_for_bit():
    ours = torch.linspace(-1, 1, 9)
    theirs = ours.clone().requires_grad_()
    adam, reference = Adam(ours, 0.03), torch.optim.Adam([theirs], 0.03, foreach=False)
    for step in range(20):
        gradient = torch.sin(ours * (step + 1))
        adam.descend(gradient)
        theirs.grad = gradient
        reference.step()
        assert torch.equal(ours, theirs.detach())
