"""The arm's curves on made-up data: metric, quartiles, claims, table, figures."""

from __future__ import annotations

import argparse

import numpy as np
import pytest
from PIL import Image

from bayes_curiosity_ros.experiments.curves.analysis import Curve, Run, curves_of
from bayes_curiosity_ros.experiments.curves.claims import dominance, fewer_steps, sooner, verdicts
from bayes_curiosity_ros.experiments.curves.command import all_rows
from bayes_curiosity_ros.experiments.curves.jobs import Job, Record, Row
from bayes_curiosity_ros.experiments.curves.plots import plot_panels, plot_paper
from bayes_curiosity_ros.experiments.curves.table import to_markdown
from bayes_curiosity_ros.experiments.engine.store import Store
from bayes_curiosity_ros.learning.trainer import Iteration


def curve(*seeds: list[float], step: float = 1000.0) -> Curve:
    """A curve whose seeds have these values, a row every `step` timesteps."""
    return Curve(
        [
            Run(seed, step * np.arange(1, len(values) + 1), np.array(values), np.inf)
            for seed, values in enumerate(seeds)
        ]
    )


def test_metric_is_of_the_most_recent_episodes():
    record = Record(Job("reach", "none", 0), points=2, budget=40)
    lengths, succeeded = np.full(20, 2), np.arange(20) >= 15
    record.add(Iteration(20, 1.0, 0.0, {"intrinsic": 0.0}, lengths[:10], succeeded[:10]), None, 0)
    record.add(Iteration(40, 1.0, 0.5, {"intrinsic": 0.0}, lengths[10:], succeeded[10:]), 32, 0)
    first, last = record.rows
    assert (first.successes_per_timestep, first.first_success, first.episodes) == (0.0, -1, 10)
    assert last.successes_per_timestep == pytest.approx(5 / 20)
    assert last.successes_per_timestep_100 == pytest.approx(5 / 40)
    assert (last.first_success, last.episodes) == (32, 20)


def test_steps_to_reach_take_quartiles_of_seeds():
    rows = curve([0, 1, 2, 2], [0, 0, 1, 2], [0, 0, 0, 0.1])
    assert rows.steps_to(1.0) == (3000.0, 3000.0, np.inf)
    assert rows.steps_to(0.0) == (np.inf,) * 3  # there was nothing to reach
    assert rows.final() == 2.0
    assert rows.overall() == 0.75


def test_dominance_can_hold_and_fail():
    above, below = curve(*[[0.0, 2, 3, 4, 4]] * 3), curve(*[[0.0, 1, 1, 1, 4]] * 3)
    assert dominance("grasp", above, {"none": below}).holds
    assert not dominance("grasp", below, {"none": above}).holds
    late = curve(*[[0.0, 2, 3, 4, 4]] * 2, [0.0, 0, 0, 0, 0])  # its lower quartile is too low
    verdict = dominance("grasp", late, {"none": below, "rnd": curve([0.0] * 5)})
    assert not verdict.holds
    assert "none: 0% of the middle half" not in verdict.evidence
    assert "rnd: 100% of the middle half" in verdict.evidence


def test_sooner_can_hold_and_fail():
    fast, slow = curve(*[[0.0, 2, 4, 4]] * 3), curve(*[[0.0, 1, 1, 4]] * 3)
    assert sooner("reach", fast, {"none": slow, "rnd": curve([0.0] * 4)}).holds
    assert "rnd: never" in sooner("reach", fast, {"rnd": curve([0.0] * 4)}).evidence
    assert not sooner("reach", slow, {"none": fast}).holds
    assert not sooner("reach", fast, {"none": fast}).holds
    assert not sooner("reach", curve([0.0] * 4), {"none": curve([0.0] * 4)}).holds


def test_fewer_steps_can_hold_and_fail():
    fast, slow = curve(*[[0.0, 4, 4, 4]] * 3), curve(*[[0.0] * 9 + [4.0]] * 3)
    assert fewer_steps("visual_reach", fast, {"none": slow}, 5.0).holds
    assert not fewer_steps("visual_reach", fast, {"none": slow}, 6.0).holds
    assert fewer_steps("visual_reach", fast, {"none": curve([0.0] * 4)}, 5.0).holds
    assert not fewer_steps("visual_reach", slow, {"none": fast}, 1.5).holds
    nothing = curve([0.0] * 4)
    assert not fewer_steps("visual_reach", nothing, {"none": nothing}, 5.0).holds


def made_up(task: str, bonus: str, seed: int, rise: float) -> list[Row]:
    return [
        Row(task, bonus, seed, t, t // 10, rise * t, rise * t, 0.0, 0.0, 0.0, 500, 0.0)
        for t in range(1000, 11_000, 1000)
    ]


def some_curves() -> dict[tuple[str, str], Curve]:
    rises = {"curiosity": 3e-6, "rnd": 1.5e-6, "none": 1e-6}
    rows = [
        row
        for task in ("reach", "grasp", "visual_reach", "visual_grasp", "arm_reach")
        for bonus, rise in rises.items()
        for seed in range(3)
        for row in made_up(task, bonus, seed, rise * (1 + 0.02 * seed))
    ]
    return curves_of(rows, 100)


def test_table_says_steps_and_verdicts():
    text = to_markdown({100: some_curves()})
    assert "| reach | none | 0.0102 | 0.0056 | 8.0k (8.0k, 8.0k) | never (never, never) |" in text
    assert text.count("- holds: ") + text.count("- does not hold: ") == 5
    assert "### Claims" not in to_markdown({100: some_curves()}, claims=False)
    assert [v.holds for v in verdicts(some_curves())] == [True, True, True, True, True]


def test_figures_show_something(tmp_path):
    plot_paper(some_curves(), tmp_path / "paper.png")
    plot_paper({}, tmp_path / "empty.png")
    panels = {"one": ["curiosity", "none"], "two": ["rnd", "absent"]}
    plot_panels(some_curves(), "grasp", panels, tmp_path / "panels.png")
    for name in ("paper", "panels"):
        image = np.asarray(Image.open(tmp_path / f"{name}.png").convert("RGB"))
        blue = (np.abs(image.astype(int) - [0x00, 0x72, 0xB2]) < 10).all(axis=2)
        assert blue.sum() > 200  # curiosity's line
    assert (tmp_path / "empty.png").exists()


def test_all_rows_come_in_the_papers_order(tmp_path):
    for task, bonus in (("grasp", "none"), ("reach", "rnd"), ("reach", "curiosity")):
        folder = tmp_path / task / bonus
        settings = argparse.Namespace(fingerprint=lambda: "", budget=lambda job: 1)
        Store(folder, settings, Row).append(made_up(task, bonus, 0, 1.0))
    cells = dict.fromkeys((row.task, row.bonus) for row in all_rows(tmp_path))
    assert list(cells) == [("reach", "curiosity"), ("reach", "rnd"), ("grasp", "none")]
