"""Equation (6): three ways to the same gains, and what they add up to."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes_curiosity_ros.curiosity.information import (
    FOLDED_ROWS,
    EpisodeGain,
    information_gains,
)
from bayes_curiosity_ros.curiosity.regression import BayesianLinearRegression

SIZE = 9


def features(seed: int, count: int, spread: float = 1.0) -> torch.Tensor:
    rows = np.random.default_rng(seed).normal(size=(count, SIZE)) * spread
    rows[:, -1] = 1.0
    return torch.from_numpy(rows)


def by_definition(regression: BayesianLinearRegression, rows: torch.Tensor) -> np.ndarray:
    """One observation after the other, each by a posterior of all before it."""
    scratch = BayesianLinearRegression(SIZE, regression.config)
    scratch.load_state_dict(regression.state_dict())
    gains = []
    for row in rows:
        quadratic = float(scratch.quadratic(row[None])[0])
        gains.append(np.log1p(regression.config.noise_precision * quadratic))
        scratch.update(row[None])
    return np.array(gains)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**31),
    st.integers(0, 300),
    st.integers(1, 40),
    st.sampled_from([0.0, 1e-6, 1.0]),
)
def test_all_at_once_and_streamed_agree_with_the_definition(seed, before, count, spread):
    regression = BayesianLinearRegression(SIZE)
    if before:
        regression.update(features(seed + 1, before))
    rows = features(seed, count, spread)
    whitened = rows @ regression.whitener
    at_once = information_gains(whitened[None].numpy(), regression.config.noise_precision)[0]
    stream = EpisodeGain(SIZE, regression.config.noise_precision)
    streamed = [stream.take(row) for row in whitened.numpy()]
    expected = by_definition(regression, rows)
    np.testing.assert_allclose(at_once, expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(streamed, expected, rtol=0, atol=1e-10)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 300), st.integers(1, 60))
def test_the_gains_add_up_to_what_was_learnt(seed, before, count):
    regression = BayesianLinearRegression(SIZE)
    if before:
        regression.update(features(seed + 1, before))
    rows = features(seed, count)
    known = regression.log_determinant
    gains = information_gains((rows @ regression.whitener)[None].numpy(), 1e2)
    regression.update(rows)
    assert float(gains.sum()) == pytest.approx(regression.log_determinant - known, abs=1e-9)


def test_shorter_episodes_are_padded():
    regression = BayesianLinearRegression(SIZE)
    rows = features(0, 5) @ regression.whitener
    padded = torch.cat([rows, torch.zeros(3, SIZE, dtype=torch.float64)])
    gains = information_gains(torch.stack([padded, padded.flip(0)]).numpy(), 1e2)
    alone = information_gains(rows[None].numpy(), 1e2)[0]
    np.testing.assert_array_equal(gains[0, 5:], 0.0)
    np.testing.assert_allclose(gains[0, :5], alone, atol=1e-12)


def test_episodes_near_the_prior_are_priced_beside_others_as_alone():
    rows = (
        np.random.default_rng(0).normal(size=(3, 40, SIZE))
        * np.array([0.1, 1e3, 1.0])[:, None, None]
    )
    together = information_gains(rows, 1e2)
    for index, gains in enumerate(together):
        alone = information_gains(rows[index : index + 1], 1e2)[0]
        np.testing.assert_allclose(gains, alone, rtol=0, atol=1e-12)


def test_a_preview_changes_nothing_and_a_stream_may_be_long():
    stream = EpisodeGain(SIZE, 1e2)
    rows = (features(3, 300) @ BayesianLinearRegression(SIZE).whitener).numpy()
    taken = []
    for row in rows:
        assert stream.preview(row) == stream.preview(row)
        taken.append(stream.take(row))
    at_once = information_gains(rows[None], 1e2)[0]
    np.testing.assert_allclose(taken, at_once, rtol=0, atol=1e-10)
    assert min(taken) > 0


def test_a_stream_of_many_features_folds_as_late_as_they_are_many():
    size = 2 * FOLDED_ROWS + 40
    rows = np.random.default_rng(0).normal(size=(size, size))
    stream = EpisodeGain(size, 1e2)
    taken = [stream.take(row) for row in rows]
    at_once = information_gains(rows[None], 1e2)[0]
    np.testing.assert_allclose(taken, at_once, rtol=0, atol=1e-10)
