"""The curves' bonuses are what the committed trials say, and every bonus had as many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from bayes_curiosity_ros.experiments.curves.analysis import Curve, curves_of
from bayes_curiosity_ros.experiments.curves.command import all_rows
from bayes_curiosity_ros.experiments.curves.jobs import LONG_WINDOW
from bayes_curiosity_ros.experiments.curves.settings import (
    Method,
    load_ablations,
    load_curves,
)

ROOT = Path(__file__).parents[2]


def trials(task: str) -> tuple[dict[str, Method], dict[str, Curve]]:
    """Every setting that was tried on a task, and its curve, by name."""
    methods = load_ablations(ROOT / "config/experiments" / f"curves_tuning_{task}.yaml").methods[
        task
    ]
    rows = all_rows(ROOT / "results" / "curves" / "tuning" / task)
    curves = {name: curve for (_, name), curve in curves_of(rows, LONG_WINDOW).items()}
    assert set(curves) == set(methods)
    assert all(row.seed >= 100 for row in rows)
    return dict(methods), curves


def best_of(task: str, wanted: Callable[[Method], bool]) -> Method:
    """The setting with the highest mean over training among those that are wanted."""
    methods, curves = trials(task)
    tried = [name for name, method in methods.items() if wanted(method)]
    return methods[max(tried, key=lambda name: curves[name].overall())]


@pytest.mark.parametrize("task", ["reach", "grasp"])
def test_every_bonus_had_as_many_trials(task):
    methods, curves = trials(task)
    counts = Counter(method.bonus for method in methods.values() if method.bonus != "none")
    assert len(set(counts.values())) == 1
    assert len({len(curve.runs) for curve in curves.values()}) == 1


@pytest.mark.parametrize("bonus", ["curiosity", "rnd", "vime"])
@pytest.mark.parametrize("task", ["reach", "grasp"])
def test_the_curves_use_what_the_committed_trials_say(task, bonus):
    method = load_curves(ROOT / "config/experiments" / "curves.yaml").methods[task][bonus]
    # As it was published: without a shift.
    assert method == best_of(task, lambda m: m.bonus == bonus and not m.options.get("shift"))


@pytest.mark.parametrize("bonus", ["rnd", "vime"])
@pytest.mark.parametrize("task", ["reach", "grasp"])
def test_the_controls_use_the_best_trial_with_a_price(task, bonus):
    control = load_ablations(ROOT / "config/experiments" / f"controls_{task}.yaml").methods[task]
    best = best_of(task, lambda m: m.bonus == bonus and bool(m.options.get("shift")))
    assert control[f"{bonus}_priced"] == best


@pytest.mark.parametrize("task", ["reach", "grasp"])
def test_the_control_without_a_bonus_has_the_best_price(task):
    control = load_ablations(ROOT / "config/experiments" / f"controls_{task}.yaml").methods[task]
    assert control["price_alone"] == best_of(
        task, lambda m: m.bonus == "none" and "per_step" in m.options
    )


@pytest.mark.parametrize("task", ["reach", "grasp"])
def test_a_visual_task_takes_its_bonuses_from_the_cartesian_one(task):
    methods = load_curves(ROOT / "config/experiments" / "curves.yaml").methods
    for bonus, method in methods[f"visual_{task}"].items():
        assert method == methods[task][bonus]
