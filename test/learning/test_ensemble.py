"""Several critics as one: the same as each by itself, with autograd's derivatives."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import layer_norm as normalise

from bayes_curiosity_ros.learning.ensemble import Ensemble, _split

MEMBERS, ROWS = 4, 11


def separate(flat, inputs, layer_norm):
    """Every member by itself, in plain PyTorch: (K, N)."""
    layers = _split(flat, MEMBERS, (3, 8, 5, 1))
    outputs = []
    for member in range(MEMBERS):
        values = inputs
        for weight, bias in layers[:-1]:
            values = values @ weight[member] + bias[member]
            values = torch.relu(normalise(values, values.shape[1:]) if layer_norm else values)
        outputs.append((values @ layers[-1][0][member] + layers[-1][1][member])[:, 0])
    return torch.stack(outputs)


@pytest.fixture(params=[True, False], ids=["normalised", "plain"])
def ensemble(request):
    rng = np.random.default_rng(0)
    made = Ensemble(MEMBERS, (3, 8, 5), rng, request.param, output_scale=1.0)
    made.parameters.add_(torch.from_numpy(0.1 * rng.standard_normal(len(made.parameters))))
    return made


@pytest.fixture
def inputs():
    return torch.from_numpy(np.random.default_rng(1).standard_normal((ROWS, 3), dtype=np.float32))


@pytest.fixture
def cotangent():
    numbers = np.random.default_rng(2).standard_normal((MEMBERS, ROWS), dtype=np.float32)
    return torch.from_numpy(numbers)


def test_an_ensemble_equals_separate_networks(ensemble, inputs):
    expected = separate(ensemble.parameters, inputs, ensemble.layer_norm)
    torch.testing.assert_close(ensemble(inputs), expected)
    torch.testing.assert_close(ensemble.linearize(inputs).output, expected)
    torch.testing.assert_close(ensemble(inputs, [2, 0]), expected[[2, 0]])


def test_gradients_are_autograds(ensemble, inputs, cotangent):
    flat, seen = ensemble.parameters.clone().requires_grad_(), inputs.clone().requires_grad_()
    (separate(flat, seen, ensemble.layer_norm) * cotangent).sum().backward()
    linearized = ensemble.linearize(inputs)
    torch.testing.assert_close(linearized.vjp(cotangent), flat.grad)
    torch.testing.assert_close(linearized.input_gradient(cotangent), seen.grad)
    torch.testing.assert_close(linearized.input_gradient(cotangent, 1), seen.grad[:, 1:])


def test_members_begin_apart():
    weight = Ensemble(2, (3, 8), np.random.default_rng(0)).layers[0][0]
    assert not torch.equal(weight[0], weight[1])
