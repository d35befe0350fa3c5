"""The regression against closed forms, on whatever hypothesis comes up with."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bayes_curiosity_ros.curiosity import regression as regression_module
from bayes_curiosity_ros.curiosity.regression import (
    BLOCK_COLUMNS,
    FEW_FEATURES,
    NARROW_PANEL,
    PANEL_ROWS,
    WIDE_PANEL,
    BayesianLinearRegression,
    RegressionConfig,
    joined_factor,
    times_triangle,
    turned_factor,
)
from bayes_curiosity_ros.errors import ConfigError, InputError, LengthError, NotFiniteError

SIZE = 4
CONFIG = RegressionConfig()

feature_rows = st.integers(1, 30).flatmap(
    lambda n: arrays(np.float64, (n, SIZE), elements=st.floats(-3, 3, width=32))
)
properties = settings(deadline=None, max_examples=60)


def regression_of(*batches: np.ndarray) -> BayesianLinearRegression:
    regression = BayesianLinearRegression(SIZE, CONFIG)
    for batch in batches:
        regression.update(torch.from_numpy(batch))
    return regression


def dense_variance(seen: np.ndarray, probe: np.ndarray) -> np.ndarray:
    """Equation (3) by an explicit inverse, in extended precision."""
    precision = CONFIG.prior_precision * np.eye(SIZE, dtype=np.longdouble)
    precision += CONFIG.noise_precision * seen.T.astype(np.longdouble) @ seen
    covariance = gauss_jordan_inverse(precision)
    return 1 / CONFIG.noise_precision + np.einsum("ni,ij,nj->n", probe, covariance, probe)


def gauss_jordan_inverse(matrix: np.ndarray) -> np.ndarray:
    """numpy.linalg has no extended precision."""
    size = len(matrix)
    work = np.concatenate([matrix, np.eye(size, dtype=np.longdouble)], axis=1)
    for i in range(size):
        work[i] /= work[i, i]
        for j in range(size):
            if j != i:
                work[j] -= work[j, i] * work[i]
    return work[:, size:]


@properties
@given(feature_rows, feature_rows)
def test_log_variance_equals_the_dense_inverse(seen, probe):
    ours = regression_of(seen).variance(torch.from_numpy(probe)).log().numpy()
    np.testing.assert_allclose(ours, np.log(dense_variance(seen, probe)), rtol=0, atol=1e-8)


@properties
@given(feature_rows, feature_rows)
def test_batch_equals_sequence(seen, probe):
    at_once = regression_of(seen).variance(torch.from_numpy(probe)).log()
    one_by_one = (
        regression_of(*(row[None] for row in seen)).variance(torch.from_numpy(probe)).log()
    )
    torch.testing.assert_close(at_once, one_by_one, rtol=0, atol=1e-8)


@properties
@given(feature_rows, feature_rows, st.randoms(use_true_random=False))
def test_order_does_not_matter(seen, probe, random):
    order = list(range(len(seen)))
    random.shuffle(order)
    forward = regression_of(seen).variance(torch.from_numpy(probe)).log()
    shuffled = regression_of(seen[order]).variance(torch.from_numpy(probe)).log()
    torch.testing.assert_close(forward, shuffled, rtol=0, atol=1e-8)


@properties
@given(feature_rows, feature_rows, feature_rows)
def test_variance_only_falls_and_never_below_the_noise(first, second, probe):
    regression = regression_of(first)
    before = regression.variance(torch.from_numpy(probe))
    regression.update(torch.from_numpy(second))
    after = regression.variance(torch.from_numpy(probe))
    assert (after <= before * (1 + 1e-8)).all()
    assert (after >= 1 / CONFIG.noise_precision).all()


@properties
@given(feature_rows, feature_rows)
def test_log_determinant_and_count_grow(first, second):
    regression = regression_of(first)
    before = regression.log_determinant
    regression.update(torch.from_numpy(second))
    assert regression.log_determinant >= before - 1e-9
    assert regression.count == len(first) + len(second)
    sign, expected = np.linalg.slogdet(regression.precision.numpy())
    assert sign == 1
    assert math.isclose(regression.log_determinant, expected, abs_tol=1e-6)


@pytest.mark.parametrize("target_size", [1, 3])
def test_mean_equals_ridge_regression(target_size):
    rng = np.random.default_rng(0)
    features = torch.from_numpy(rng.normal(size=(50, SIZE)))
    targets = torch.from_numpy(rng.normal(size=(50, target_size)))
    regression = BayesianLinearRegression(SIZE, CONFIG, target_size)
    regression.update(features[:20], targets[:20])
    regression.update(features[20:], targets[20:])
    ridge = CONFIG.prior_precision / CONFIG.noise_precision * torch.eye(SIZE, dtype=torch.float64)
    expected = torch.linalg.solve(features.T @ features + ridge, features.T @ targets)
    torch.testing.assert_close(regression.weights, expected, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(regression.mean(features), features @ expected)


def test_forgetting_spares_the_prior_and_decays_the_data():
    rng = np.random.default_rng(1)
    first, second = (torch.from_numpy(rng.normal(size=(10, SIZE))) for _ in range(2))
    regression = BayesianLinearRegression(SIZE, CONFIG)
    regression.update(first, forgetting=0.5)
    regression.update(second, forgetting=0.5)
    expected = CONFIG.prior_precision * torch.eye(SIZE, dtype=torch.float64)
    expected += CONFIG.noise_precision * (0.5 * first.T @ first + second.T @ second)
    torch.testing.assert_close(regression.precision, expected)


def test_replace_stands_for_the_given_count():
    features = torch.from_numpy(np.random.default_rng(2).normal(size=(10, SIZE)))
    replaced, repeated = (BayesianLinearRegression(SIZE, CONFIG) for _ in range(2))
    replaced.replace(features, 30)
    for _ in range(3):
        repeated.update(features)
    assert replaced.count == repeated.count
    torch.testing.assert_close(replaced.precision, repeated.precision)


def test_state_round_trips_bit_for_bit():
    regression = regression_of(np.random.default_rng(3).normal(size=(20, SIZE)))
    other = BayesianLinearRegression(SIZE, CONFIG)
    other.load_state_dict(regression.state_dict())
    probe = torch.randn(7, SIZE, generator=torch.Generator().manual_seed(0))
    assert torch.equal(regression.variance(probe), other.variance(probe))
    assert other.count == regression.count


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        (torch.full((2, SIZE), math.nan), NotFiniteError),
        (torch.full((2, SIZE), math.inf), NotFiniteError),
        (torch.zeros(2, SIZE + 1), LengthError),
        (torch.zeros(SIZE), LengthError),
    ],
)
def test_rejected_rows_change_nothing(rows, error):
    regression = regression_of(np.random.default_rng(4).normal(size=(20, SIZE)))
    before = regression.state_dict()
    with pytest.raises(error):
        regression.update(rows)
    after = regression.state_dict()
    assert torch.equal(before["factor"], after["factor"])
    assert before["count"] == after["count"]


@pytest.mark.parametrize("size", [BLOCK_COLUMNS, BLOCK_COLUMNS + 1, 2 * BLOCK_COLUMNS + 30])
@pytest.mark.parametrize("count", [1, 60, 300])
def test_a_factor_of_several_blocks_equals_one_decomposition(size, count):
    generator = torch.Generator().manual_seed(size)
    rows = torch.randn(count, size, generator=generator, dtype=torch.float64)
    factor = torch.randn(size, size, generator=generator, dtype=torch.float64).triu()
    whole = torch.linalg.qr(torch.cat([factor, rows]), mode="r").R
    ours = joined_factor(factor, rows)
    assert (ours.tril(-1) == 0).all()
    if size == BLOCK_COLUMNS:
        assert torch.equal(ours, whole)
    torch.testing.assert_close(ours.T @ ours, whole.T @ whole, rtol=0, atol=1e-11 * size)
    torch.testing.assert_close(ours.abs(), whole.abs(), rtol=0, atol=1e-9)


@pytest.mark.parametrize("small", [0, 10**6])
@pytest.mark.parametrize("size", [1, NARROW_PANEL, WIDE_PANEL + 1, 257, 300])
@pytest.mark.parametrize("count", [7, PANEL_ROWS + 1])
def test_a_product_with_a_triangle_leaves_only_zeros_out(monkeypatch, small, size, count):
    monkeypatch.setattr(regression_module, "SMALL_PRODUCT", small)
    rng = np.random.default_rng(size)
    rows, triangle = rng.normal(size=(count, size)), np.triu(rng.normal(size=(size, size)))
    product = np.full((count, size), math.nan)
    times_triangle(rows, triangle, product)
    np.testing.assert_allclose(product, rows @ triangle, rtol=0, atol=1e-12)


def smooth_rows(seed: int, count: int, size: int) -> torch.Tensor:
    """Fourier features of points on a plane: most directions are hardly ever seen."""
    waves = np.random.default_rng(0).normal(size=(2, size))
    points = np.random.default_rng(seed).normal(size=(count, 2))
    return torch.from_numpy(math.sqrt(2 / size) * np.cos(points @ waves + np.arange(size)))


@pytest.mark.parametrize("size", [FEW_FEATURES + 1, 257])
def test_a_large_batch_that_adds_little_gives_the_decomposition_s_factor(size):
    """For 40 batches after each other, also where the posterior is still next to the prior."""
    regression = BayesianLinearRegression(size, CONFIG)
    expected = regression.state_dict()["factor"]
    probe, turned = smooth_rows(99, 50, size), 0
    for seed in range(40):
        rows = smooth_rows(seed, 2 * size, size)
        scaled = math.sqrt(CONFIG.noise_precision) * rows
        whitened = (rows @ regression.whitener).numpy()
        turned += turned_factor(expected, whitened, CONFIG.noise_precision) is not None
        regression.update(rows)
        expected = joined_factor(expected, scaled)
        factor = regression.state_dict()["factor"]
        assert (factor.tril(-1) == 0).all()
        ours = regression.quadratic(probe).log1p()
        exact = torch.linalg.solve_triangular(expected.T, probe.T, upper=False)
        torch.testing.assert_close(ours, exact.square().sum(dim=0).log1p(), rtol=0, atol=1e-10)
        determinant = float(2.0 * expected.diagonal().abs().log().sum())
        assert regression.log_determinant == pytest.approx(determinant, abs=1e-9)
    assert 10 < turned < 40


def test_features_that_overflow_change_nothing():
    regression = regression_of(np.ones((3, SIZE)))
    before = regression.precision
    with pytest.raises(InputError, match="too large"):
        regression.update(torch.full((3, SIZE), 1e308, dtype=torch.float64))
    assert torch.equal(regression.precision, before)
    assert regression.count == 3


def test_a_loaded_posterior_is_inverted_once(monkeypatch):
    solved = []
    solve = torch.linalg.solve_triangular
    state = regression_of(np.ones((3, SIZE))).state_dict()

    def counted(*arguments, **options):
        solved.append(arguments)
        return solve(*arguments, **options)

    monkeypatch.setattr(torch.linalg, "solve_triangular", counted)
    loaded = BayesianLinearRegression(SIZE, CONFIG)
    loaded.load_state_dict(state)
    loaded.variance(torch.ones(1, SIZE))
    assert len(solved) == 1


def test_a_damaged_posterior_is_not_loaded():
    regression = regression_of(np.ones((3, SIZE)))
    state = regression.state_dict()
    state["factor"][1, 1] = 0.0
    with pytest.raises(InputError, match="damaged"):
        regression.load_state_dict(state)


def test_results_do_not_share_the_workspace():
    regression = regression_of(np.random.default_rng(5).normal(size=(20, SIZE)))
    first = regression.variance(torch.ones(3, SIZE))
    kept = first.clone()
    regression.variance(torch.zeros(3, SIZE))
    assert torch.equal(first, kept)


def test_evaluation_works_in_and_out_of_inference_mode():
    regression = BayesianLinearRegression(7, CONFIG)  # a size that no other test has
    with torch.inference_mode():
        inside = regression.variance(torch.ones(3, 7)).clone()
    assert torch.equal(inside, regression.variance(torch.ones(3, 7)))


@pytest.mark.parametrize("alpha", [0.0, -1.0, math.nan, math.inf])
def test_prior_must_be_positive(alpha):
    with pytest.raises(ConfigError, match="prior_precision"):
        RegressionConfig(prior_precision=alpha)
