"""The arm's curves on made-up data: metric, quartiles, claims, table, figures."""

from __future__ import annotations

import numpy as np
from PIL import Image

from bayes_curiosity_ros.experiments.curves.analysis import Curve, Run, curves_of
from bayes_curiosity_ros.experiments.curves.claims import dominance, fewer_steps, sooner, verdicts
from bayes_curiosity_ros.experiments.curves.plots import plot_panels, plot_paper
from bayes_curiosity_ros.experiments.curves.table import to_markdown
from bayes_curiosity_ros.experiments.engine.jobs import Cell, Row
from bayes_curiosity_ros.experiments.engine.plots import method_label, styles_of, task_title


def curve(*seeds: list[float], step: float = 1000.0) -> Curve:
    """A curve whose seeds have these values, a row every `step` timesteps."""
    return Curve(
        [
            Run(seed, step * np.arange(1, len(values) + 1), np.array(values), np.inf)
            for seed, values in enumerate(seeds)
        ]
    )


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


def made_up(cell: Cell, seed: int, rise: float) -> list[Row]:
    return [
        Row(
            *cell,
            seed,
            timesteps,
            successes_per_timestep=rise * timesteps,
            successes_per_timestep_100=rise * timesteps,
            first_success=500,
        )
        for timesteps in range(1000, 11_000, 1000)
    ]


def some_curves() -> dict[Cell, Curve]:
    rises = {"curiosity": 3e-6, "rnd": 1.5e-6, "none": 1e-6}
    rows = [
        row
        for task in ("reach", "grasp", "visual_reach", "visual_grasp", "arm_reach")
        for method, rise in rises.items()
        for seed in range(3)
        for row in made_up(Cell(task, "trpo", method), seed, rise * (1 + 0.02 * seed))
    ]
    return curves_of(rows, 100)


def test_table_says_steps_and_verdicts():
    text = to_markdown({100: some_curves()})
    assert "| reach | none | 0.0102 | 0.0056 | 8.0k (8.0k, 8.0k) | never (never, never) |" in text
    assert text.count("- holds: ") + text.count("- does not hold: ") == 5
    assert "### Claims" not in to_markdown({100: some_curves()}, claims=False)
    assert [v.holds for v in verdicts(some_curves())] == [True, True, True, True, True]


def test_several_learners_are_told_apart():
    cells = [Cell("reach", learner, "none") for learner in ("trpo", "reinforce")]
    rows = [row for cell in cells for row in made_up(cell, 0, 1e-6)]
    text = to_markdown({100: curves_of(rows, 100)})
    assert "| reach | none trpo |" in text
    assert "| reach | none reinforce |" in text


def test_the_row_before_training_is_no_part_of_a_curve():
    cell = Cell("reach", "trpo", "none")
    (run,) = curves_of([Row(*cell, 0, 0), *made_up(cell, 0, 1e-6)], 10)[cell].runs
    assert run.timesteps[0] == 1000


def test_figures_show_something(tmp_path):
    plot_paper(some_curves(), tmp_path / "paper.png")
    plot_paper({}, tmp_path / "empty.png")
    panels = {"one": ["curiosity", "none"], "two": ["rnd", "absent"]}
    grasp = {cell: curve for cell, curve in some_curves().items() if cell.task == "grasp"}
    plot_panels(grasp, panels, tmp_path / "panels.png")
    plot_panels(some_curves(), {}, tmp_path / "tasks.png")
    plot_panels({}, panels, tmp_path / "nothing.png")
    for name in ("paper", "panels", "tasks"):
        image = np.asarray(Image.open(tmp_path / f"{name}.png").convert("RGB"))
        blue = (np.abs(image.astype(int) - [0x00, 0x72, 0xB2]) < 10).all(axis=2)
        assert blue.sum() > 200  # curiosity's line
    assert (tmp_path / "empty.png").exists()
    assert (tmp_path / "nothing.png").exists()


def test_names_and_styles_of_what_is_registered_and_of_what_is_not():
    assert (method_label("rnd"), method_label("none")) == ("RND", "no bonus")
    assert (method_label("a_new_one"), task_title("a_new_task")) == ("a new one", "a new task")
    assert task_title("visual_reach") == "visuomotor reach"
    styles = styles_of(["one", "curiosity", "two", "three", "four", "five", "none"])
    assert len(set(styles.values())) == len(styles)
    assert len(styles_of([f"method {index}" for index in range(20)])) == 20  # over again
    assert styles_of(["curiosity"])["curiosity"] == styles["curiosity"]
