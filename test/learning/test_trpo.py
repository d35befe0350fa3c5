"""TRPO's pieces against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.policy import Gaussian, GaussianPolicy
from bayes_curiosity_ros.learning.trpo import (
    TrpoConfig,
    conjugate_gradient,
    fisher_vector_product,
    line_search,
    surrogate_gradient,
)


@pytest.fixture
def policy():
    rng = np.random.default_rng(5)
    return GaussianPolicy(np.zeros(3), np.ones(3), 2, rng, hidden=(4,), output_scale=0.3)


@pytest.fixture
def inputs():
    return torch.from_numpy(np.random.default_rng(6).standard_normal((9, 3), dtype=np.float32))


def functional(policy, inputs):
    """flat parameters → (mean, log σ), for autograd."""
    from bayes_curiosity_ros.learning.network import split_layers

    half = len(policy.parameters) // 2

    def network(flat, sizes):
        (weight, bias), (weight_2, bias_2) = split_layers(flat, sizes)
        return torch.tanh(inputs @ weight + bias) @ weight_2 + bias_2

    sizes = policy.mean_network.sizes
    return lambda flat: (network(flat[:half], sizes), network(flat[half:], sizes))


def test_fisher_vector_product_equals_the_explicit_matrix(policy, inputs):
    """F = mean over rows of Jᵀ diag(1/σ², 2) J, from autograd's full Jacobian."""
    outputs = functional(policy, inputs)
    jacobian_mean, jacobian_std = torch.func.jacrev(outputs)(policy.parameters)
    precision = torch.exp(-2 * outputs(policy.parameters)[1])
    fisher = torch.einsum("nap,na,naq->pq", jacobian_mean, precision, jacobian_mean)
    fisher += 2 * torch.einsum("nap,naq->pq", jacobian_std, jacobian_std)
    fisher = fisher / len(inputs) + 0.1 * torch.eye(len(fisher))
    vector = torch.linspace(-1, 1, len(fisher))
    product = fisher_vector_product(policy.linearize(inputs), vector, damping=0.1)
    torch.testing.assert_close(product, fisher @ vector, atol=1e-5, rtol=1e-4)


def test_fisher_is_the_hessian_of_the_kl(policy, inputs):
    outputs = functional(policy, inputs)
    old = Gaussian(*(value.detach() for value in outputs(policy.parameters)))

    def kl(flat):
        return Gaussian(*outputs(flat)).kl_from(old).mean()

    vector = torch.linspace(1, -1, len(policy.parameters))
    hessian = torch.func.hessian(kl)(policy.parameters)
    product = fisher_vector_product(policy.linearize(inputs), vector, damping=0.0)
    torch.testing.assert_close(product, hessian @ vector, atol=1e-4, rtol=1e-3)


def test_surrogate_gradient_equals_autograd(policy, inputs):
    rng = np.random.default_rng(7)
    actions = torch.from_numpy(rng.standard_normal((9, 2), dtype=np.float32))
    advantages = torch.from_numpy(rng.standard_normal(9, dtype=np.float32))
    outputs = functional(policy, inputs)
    flat = policy.parameters.clone().requires_grad_()
    log_probability = Gaussian(*outputs(flat)).log_probability(actions)
    (torch.exp(log_probability - log_probability.detach()) * advantages).mean().backward()
    gradient = surrogate_gradient(policy.linearize(inputs), actions, advantages)
    torch.testing.assert_close(gradient, flat.grad, atol=1e-6, rtol=1e-4)


def test_log_probability_and_kl_equal_torch_distributions():
    rng = np.random.default_rng(1)
    values = torch.from_numpy(rng.standard_normal((5, 4, 2)))
    p, q = Gaussian(values[0], values[1]), Gaussian(values[2], values[3])
    normal_p = torch.distributions.Normal(p.mean, p.log_std.exp())
    normal_q = torch.distributions.Normal(q.mean, q.log_std.exp())
    torch.testing.assert_close(p.log_probability(values[4]), normal_p.log_prob(values[4]).sum(1))
    expected = torch.distributions.kl_divergence(normal_q, normal_p).sum(1)
    torch.testing.assert_close(p.kl_from(q), expected)


def test_conjugate_gradient_solves_exactly_in_as_many_steps_as_dimensions():
    rng = np.random.default_rng(2)
    root = rng.standard_normal((8, 8))
    matrix = torch.from_numpy(root @ root.T + np.eye(8))
    target = torch.from_numpy(rng.standard_normal(8))
    solution = conjugate_gradient(lambda v: matrix @ v, target, iterations=8, tolerance=0.0)
    torch.testing.assert_close(solution, torch.linalg.solve(matrix, target))


@pytest.mark.parametrize(
    ("surrogate", "kl", "expected"),
    [
        (lambda f: f, lambda f: 0.01 * f * f, 0),  # the full step fits exactly
        (lambda f: f, lambda f: 0.02 * f * f, 2),  # 0.8⁴ · 0.02 is the first below 0.01
        (lambda f: 1 - f, lambda f: 0.0, 1),  # f = 1 does not improve
        (lambda f: -f, lambda f: 0.0, None),  # nothing improves
        (lambda f: f, lambda f: 1.0, None),  # nothing fits
        (lambda f: math.nan, lambda f: 0.0, None),
    ],
)
def test_line_search_at_its_limits(surrogate, kl, expected):
    result = line_search(lambda f: (surrogate(f), kl(f)), 0.0, 0.01, 0.8, 15)
    assert (None if result is None else result[0]) == expected


def test_log_std_is_bounded_and_its_gradient_stops_there(policy, inputs):
    policy.std_network.layers[-1][1].fill_(9.0)
    linearized = policy.linearize(inputs)
    assert linearized.distribution.log_std.max() == 1.0
    half = len(policy.parameters) // 2
    ones = torch.ones(9, 2)
    assert not linearized.vjp(ones, ones)[half:].any()


@pytest.mark.parametrize(
    "bad", [{"discount": 0.0}, {"max_kl": 0.0}, {"cg_iterations": 0}, {"backtrack_ratio": 1.0}]
)
def test_bad_settings_are_named(bad):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        TrpoConfig(**bad)
