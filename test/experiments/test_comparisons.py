"""Methods beside each other: what intervals say, against closed forms and simulated truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayes_curiosity_ros.experiments.engine.comparisons import (
    FEWEST_RUNS,
    NOT_TOLD_APART,
    TOO_FEW,
    aggregate,
    difference,
    median_steps,
    probability_of_improvement,
    profile,
    told,
    verdict,
)
from bayes_curiosity_ros.experiments.engine.statistics import bootstrap, interquartile_mean
from bayes_curiosity_ros.learning.intervals import Interval

SOME = st.lists(st.floats(-100, 100), min_size=2, max_size=12).map(np.array)
INF = float("inf")


@pytest.mark.parametrize(
    ("interval", "said"),
    [((0.1, 0.3), "better"), ((-0.3, -0.1), "worse"), ((-0.1, 0.3), NOT_TOLD_APART)],
)
def test_a_difference_is_told_by_its_interval(interval, said):
    assert verdict(Interval(0.0, *interval), FEWEST_RUNS) == said
    assert verdict(Interval(0.0, *interval), FEWEST_RUNS - 1) == TOO_FEW


@given(SOME, SOME)
def test_a_difference_is_that_of_the_means_and_turns_round(mine, theirs):
    found, turned = difference(mine, theirs), difference(theirs, mine, seed=1)
    assert found.value == pytest.approx(
        float(interquartile_mean(mine) - interquartile_mean(theirs)), abs=1e-9
    )
    assert turned.value == pytest.approx(-found.value, abs=1e-9)
    assert found.lower <= found.upper


def test_an_interval_holds_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(0)
    pairs = [(rng.normal(1.0, 1.0, 30), rng.normal(0.0, 1.0, 30)) for _ in range(100)]
    found = [difference(*pair) for pair in pairs]
    held = sum(each.lower <= 1.0 <= each.upper for each in found)
    assert 85 <= held <= 100
    alike = [told(*(rng.normal(size=30) for _ in range(2))) for _ in range(100)]
    assert len(alike) - alike.count(NOT_TOLD_APART) <= 15


def test_of_one_task_the_aggregate_is_the_bootstrap():
    values = np.random.default_rng(0).normal(size=10)
    one, usual = aggregate([values]), bootstrap(values)
    assert one.value == usual.value
    assert (one.lower, one.upper) == pytest.approx((usual.lower, usual.upper), abs=0.05)


def test_tasks_are_resampled_one_by_one():
    # Of two tasks without any spread, no draw can have more of the one than of the other.
    found = aggregate([np.zeros(10), np.ones(10)])
    assert (found.lower, found.value, found.upper) == (0.5, 0.5, 0.5)


def test_a_profile_counts_the_runs_above_each_level():
    levels = np.array([-1.0, 0.0, 1.5, 9.0])
    share, lower, upper = profile([np.array([0.0, 1.0, 2.0, 3.0]), np.full(4, 2.0)], levels)
    np.testing.assert_allclose(share, [1.0, 0.875, 0.75, 0.0])
    assert (lower <= share).all()
    assert (share <= upper).all()
    assert lower[2] < 0.75 < upper[2]


@pytest.mark.parametrize(
    ("mine", "theirs", "chance"),
    [([1, 2, 3], [0, 0], 1.0), ([0, 1], [0, 1], 0.5), ([1, 2], [1, 3], 0.375)],
)
def test_the_chance_to_be_above_is_that_of_pairs(mine, theirs, chance):
    found = probability_of_improvement([(np.array(mine, float), np.array(theirs, float))])
    assert found.value == pytest.approx(chance)
    assert 0.0 <= found.lower <= found.value <= found.upper <= 1.0


@pytest.mark.parametrize(
    ("steps", "median"),
    [([3.0, 1.0, 2.0], 2.0), ([1.0, 2.0, INF], 2.0), ([1.0, INF, INF], INF), ([1.0, INF], INF)],
)
def test_runs_that_never_got_there_count_as_later_than_all_others(steps, median):
    found = median_steps(np.array(steps))
    assert found.value == median
    assert found.lower <= found.value <= found.upper
    assert found.upper == (INF if INF in steps else 3.0)


# What rliable 1.2.0 says of the same scores; it draws by itself, so that ends differ a little.
RLIABLE_MEANS = {"one": (0.5841, 0.5362, 0.6354), "other": (0.5270, 0.4155, 0.6448)}
RLIABLE_CHANCE = (0.5333, 0.4124, 0.6605)
RLIABLE_SHARES = {
    "one": ((0.975, 0.9, 0.475, 0.1), (0.925, 0.8, 0.325, 0.025), (1.0, 0.975, 0.625, 0.2)),
    "other": (
        (0.8125, 0.625, 0.4375, 0.25),
        (0.6875, 0.4792, 0.2917, 0.125),
        (0.9167, 0.75, 0.5625, 0.375),
    ),
}


def test_scores_are_judged_as_by_the_package_that_is_usual():
    rng = np.random.default_rng(0)
    scores = {"one": rng.normal(0.6, 0.2, (10, 4)).T, "other": rng.normal(0.45, 0.3, (12, 4)).T}
    for name, tasks in scores.items():
        same(aggregate(list(tasks)), RLIABLE_MEANS[name])
        found = profile(list(tasks), np.array([0.2, 0.4, 0.6, 0.8]))
        np.testing.assert_allclose(found[0], RLIABLE_SHARES[name][0], atol=1e-4)
        np.testing.assert_allclose(found[1:], RLIABLE_SHARES[name][1:], atol=0.03)
    same(probability_of_improvement(list(zip(*scores.values(), strict=True))), RLIABLE_CHANCE)


def same(found: Interval, theirs: tuple[float, float, float]) -> None:
    assert found.value == pytest.approx(theirs[0], abs=1e-4)
    assert (found.lower, found.upper) == pytest.approx(theirs[1:], abs=0.01)
