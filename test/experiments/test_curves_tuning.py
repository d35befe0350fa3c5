"""The curves' bonuses are what the committed trials say, and every bonus had as many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from bayes_curiosity_ros.experiments.curves.analysis import Curve, curves_of
from bayes_curiosity_ros.experiments.engine.jobs import LONG_WINDOW
from bayes_curiosity_ros.experiments.engine.methods import Method
from bayes_curiosity_ros.experiments.engine.settings import load_settings
from bayes_curiosity_ros.experiments.engine.store import all_rows
from support.experiments import CONFIG, RESULTS


def methods_of(name: str, task: str) -> dict[str, Method]:
    """The methods of a task in a shipped file."""
    return load_settings(CONFIG / f"{name}.yaml").tasks[task].methods


def trials(task: str) -> tuple[dict[str, Method], dict[str, Curve]]:
    """Every setting that was tried on a task, and its curve, by name."""
    methods = methods_of(f"curves_tuning_{task}", task)
    rows = all_rows(RESULTS / "curves" / "tuning" / task)
    curves = {cell.method: curve for cell, curve in curves_of(rows, LONG_WINDOW).items()}
    assert set(curves) == set(methods)
    assert all(row.seed >= 100 for row in rows)
    return methods, curves


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
    method = methods_of("curves", task)[bonus]
    # As it was published: without a shift.
    assert method == best_of(task, lambda m: m.bonus == bonus and not m.options.get("shift"))


@pytest.mark.parametrize("bonus", ["rnd", "vime"])
@pytest.mark.parametrize("task", ["reach", "grasp"])
def test_the_controls_use_the_best_trial_with_a_price(task, bonus):
    control = methods_of(f"controls_{task}", task)
    best = best_of(task, lambda m: m.bonus == bonus and bool(m.options.get("shift")))
    assert control[f"{bonus}_priced"] == best


@pytest.mark.parametrize("task", ["reach", "grasp"])
def test_the_control_without_a_bonus_has_the_best_price(task):
    control = methods_of(f"controls_{task}", task)
    assert control["price_alone"] == best_of(
        task, lambda m: m.bonus == "none" and "per_step" in m.options
    )


@pytest.mark.parametrize("task", ["reach", "grasp"])
def test_a_visual_task_takes_its_bonuses_from_the_cartesian_one(task):
    for name, method in methods_of("curves", f"visual_{task}").items():
        assert method == methods_of("curves", task)[name]
