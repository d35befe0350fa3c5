"""Advantages and baselines against the sums that define them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes_curiosity_ros.learning.critic import LinearBaseline, ValueNetwork
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.returns import discounted_sums, generalised_advantages


def make_episodes(rng, lengths, horizon, terminated):
    count = len(lengths)
    return Episodes(
        rng.standard_normal((count, horizon + 1, 2)),
        rng.standard_normal((count, horizon, 1)),
        rng.standard_normal((count, horizon)),
        np.array(lengths),
        np.array(terminated),
        np.zeros(count, bool),
    )


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    discount=st.floats(0.5, 1.0),
    gae_lambda=st.floats(0.0, 1.0),
    lengths=st.lists(st.integers(1, 8), min_size=1, max_size=4),
)
def test_gae_equals_its_defining_sum(seed, discount, gae_lambda, lengths):
    rng = np.random.default_rng(seed)
    episodes = make_episodes(rng, lengths, 8, [False] * len(lengths))
    values = rng.standard_normal((len(lengths), 9))
    advantages = generalised_advantages(
        episodes.rewards, values, episodes.mask, discount, gae_lambda
    )
    for row, length in enumerate(lengths):
        deltas = [
            episodes.rewards[row, t] + discount * values[row, t + 1] - values[row, t]
            for t in range(length)
        ]
        for t in range(length):
            expected = sum((discount * gae_lambda) ** k * d for k, d in enumerate(deltas[t:]))
            assert advantages[row, t] == pytest.approx(expected, abs=1e-9)
        assert not advantages[row, length:].any()


def test_lambda_one_is_the_return_minus_the_value():
    rng = np.random.default_rng(0)
    episodes = make_episodes(rng, [6], 6, [True])
    values = rng.standard_normal((1, 7))
    values[0, 6] = 0.0
    advantages = generalised_advantages(episodes.rewards, values, episodes.mask, 0.9, 1.0)
    returns = discounted_sums(episodes.rewards, 0.9)
    np.testing.assert_allclose(advantages, returns - values[:, :-1])


def test_baseline_explains_a_constant_reward_entirely():
    """What is left after -1 per step to the horizon must be far smaller than a late bonus."""
    rng = np.random.default_rng(0)
    episodes = make_episodes(rng, [200] * 25, 200, [False] * 25)
    rewards = np.full((25, 200), -1.0)
    baseline = LinearBaseline(np.zeros(2), np.ones(2), 0.99)
    values = baseline.estimate(episodes, rewards)
    advantages = generalised_advantages(rewards, values, episodes.mask, 0.99, 1.0)
    assert np.abs(advantages).max() < 1e-3


def test_value_network_bootstraps_truncation_only():
    """With reward -1 for ever, V → -1/(1-γ) if the clock ends episodes; far above if not."""
    ends = {}
    for terminated in (False, True):
        rng = np.random.default_rng(0)
        critic = ValueNetwork(
            np.zeros(2), np.ones(2), 0.9, rng, learning_rate=1e-2, epochs=10, minibatch=64
        )
        for _ in range(40):
            episodes = make_episodes(rng, [5] * 20, 5, [terminated] * 20)
            values = critic.estimate(episodes, np.full((20, 5), -1.0))
        ends[terminated] = values[:, 0].mean()
        assert (values[:, 5] == 0.0).all() == terminated
    assert ends[False] == pytest.approx(-10.0, abs=1.5)
    assert ends[True] > -5.0


def test_episodes_split_in_order():
    rng = np.random.default_rng(0)
    episodes = make_episodes(rng, [2, 3], 4, [True, False])
    first, second = episodes.split()
    assert [len(first), len(second)] == [2, 3]
    np.testing.assert_array_equal(first.observations.vectors, episodes.observations[0, :2])
    np.testing.assert_array_equal(second.next_observations.vectors, episodes.observations[1, 1:4])
    assert np.abs(np.concatenate([first.actions, second.actions])).max() <= 1.0
    np.testing.assert_allclose(episodes.returns()[0], episodes.rewards[0, :2].sum())
