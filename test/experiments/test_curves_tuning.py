"""The curves' bonuses are what the committed trials say, and every bonus had as many."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from bayes_curiosity_ros.experiments.curves.analysis import curves_of
from bayes_curiosity_ros.experiments.curves.command import all_rows
from bayes_curiosity_ros.experiments.curves.jobs import LONG_WINDOW
from bayes_curiosity_ros.experiments.curves.settings import load_ablations, load_curves

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("task", ["reach", "grasp"])
def test_the_curves_use_what_the_committed_trials_say(task):
    methods = load_curves(ROOT / "config" / "curves.yaml").methods[task]
    variants = load_ablations(ROOT / "config" / f"curves_tuning_{task}.yaml").methods[task]
    rows = all_rows(ROOT / "results" / "curves" / "tuning" / task)
    curves = {name: curve for (_, name), curve in curves_of(rows, LONG_WINDOW).items()}
    assert set(curves) == set(variants)
    for bonus in methods.keys() - {"none"}:
        tried = [
            name
            for name, method in variants.items()
            if method.bonus == bonus and not method.options.get("shift")  # as it was published
        ]
        best = max(tried, key=lambda name: curves[name].overall())
        assert variants[best] == methods[bonus], best
    counts = Counter(method.bonus for method in variants.values() if method.bonus != "none")
    assert len(set(counts.values())) == 1
    assert len({len(curve.runs) for curve in curves.values()}) == 1
    assert all(row.seed >= 100 for row in rows)


@pytest.mark.parametrize("task", ["reach", "grasp"])
def test_a_visual_task_takes_its_bonuses_from_the_cartesian_one(task):
    methods = load_curves(ROOT / "config" / "curves.yaml").methods
    for bonus, method in methods[f"visual_{task}"].items():
        assert method == methods[task][bonus]
