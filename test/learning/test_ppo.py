"""PPO's pieces against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.critic import LinearBaseline
from bayes_curiosity_ros.learning.policy import GaussianPolicy
from bayes_curiosity_ros.learning.ppo import Ppo, PpoConfig, clipped_weights


def numbers(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape, dtype=np.float32))


def make(**settings):
    rng = np.random.default_rng(0)
    policy = GaussianPolicy(np.zeros(3), np.ones(3), 2, rng, hidden=(8,))
    return Ppo(policy, LinearBaseline(np.zeros(3), np.ones(3), 0.9), PpoConfig(**settings), rng)


def test_weights_are_the_derivative_of_the_clipped_surrogate():
    log_probability = (0.5 * numbers(200)).requires_grad_()
    advantages, ratio = numbers(200, seed=1), log_probability.exp()
    clipped = advantages * ratio.clamp(0.8, 1.2)
    torch.minimum(advantages * ratio, clipped).sum().backward()
    weights = clipped_weights(ratio.detach(), advantages, 0.2)
    torch.testing.assert_close(weights, log_probability.grad)
    assert 0 < (weights == 0).sum() < 200


def test_good_actions_become_more_likely():
    ppo, inputs, actions = make(max_kl=10.0), numbers(300, 3), numbers(300, 2, seed=1)
    advantages = actions[:, 0].sign()
    before = ppo.policy.distribution(inputs).mean[:, 0].mean()
    told = ppo.improve(inputs, actions, advantages)
    assert ppo.policy.distribution(inputs).mean[:, 0].mean() > before + 0.02
    assert told["epochs"] == 10


def test_epochs_end_where_the_policy_has_moved_far_enough():
    ppo, actions = make(learning_rate=0.1, max_kl=0.01), numbers(300, 2, seed=1)
    told = ppo.improve(numbers(300, 3), actions, actions[:, 0])
    assert told["kl"] > 0.01
    assert told["epochs"] < 10


@pytest.mark.parametrize(
    "bad", [{"clip": 0.0}, {"clip": 1.0}, {"epochs": 0}, {"minibatch": 0}, {"learning_rate": 0.0}]
)
def test_bad_settings_are_named(bad):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        PpoConfig(**bad)
