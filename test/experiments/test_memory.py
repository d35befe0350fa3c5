"""SAC with demonstrations: what its evaluations say, and the experiment itself in small."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.experiments.engine.comparisons import difference, told
from bayes_curiosity_ros.experiments.engine.jobs import Cell, Job
from bayes_curiosity_ros.experiments.engine.running import work_of
from bayes_curiosity_ros.experiments.engine.settings import load_settings
from bayes_curiosity_ros.experiments.engine.statistics import interquartile_mean
from bayes_curiosity_ros.experiments.engine.store import all_rows
from bayes_curiosity_ros.experiments.memory.analysis import (
    Evaluations,
    evaluations_of,
    rival_of,
)
from bayes_curiosity_ros.experiments.memory.table import to_markdown
from support.experiments import CONFIG, RESULTS, prepared

LINE = re.compile(r"\| (reach|parked_reach|parked_reach_far|grasp) \|")
SMALL = f"""
extends: {CONFIG / "memory.yaml"}
evaluation_episodes: 2
every_task:
  embedding: {{max_epochs: 1}}
  demonstrations: {{count: 40, parallel: 4}}
  learners:
    sac:
      timesteps: 120
      points: 2
      options: {{hidden: [8], minibatch: 16, critics: 2, updates_per_step: 0.1}}
  methods:
    none: {{demonstrated_episodes: 3}}
    curiosity: {{demonstrated_episodes: 3}}
tasks:
  parked_reach:
    demonstrations: {{count: 40, parallel: 4}}
    learners: {{sac: {{timesteps: 120, points: 2}}}}
    methods: {{none: {{demonstrated_episodes: 3}}, curiosity: {{demonstrated_episodes: 3}}}}
only: {{tasks: [parked_reach]}}
"""


def runs(*rates):
    times = np.array([0.0, 2000.0, 4000.0, 6000.0])
    first = np.array([1000.0 if max(each) > 0 else np.inf for each in rates])
    count = len(rates)
    return Evaluations(range(count), [times] * count, [np.array(each) for each in rates], first)


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def test_steps_are_counted_to_the_first_evaluation_that_has_enough():
    found = runs([0.1, 0.5, 0.9, 0.8], [0.0, 0.92, 1.0, 1.0], [0.0, 0.1, 0.1, 0.1])
    np.testing.assert_array_equal(found.steps_to(0.9), [4000.0, 2000.0, np.inf])
    assert found.steps_interval().upper == pytest.approx(6000.0)  # never: the last step
    np.testing.assert_allclose(found.lost(), [0.9 - 2.2 / 3, 1.0 - 2.92 / 3, 0.0], atol=1e-12)


def test_the_table_says_how_many_seeds_got_there():
    cells = {Cell("reach", "sac", "none"): runs([0.0, 0.5, 0.95, 1.0], [0.0, 0.1, 0.2, 0.3])}
    line = to_markdown(cells).splitlines()[-1]
    began = "| reach | none | 2 of 2 | 1.0k [1.0k, 1.0k] | 5.0k [4.0k, 6.0k] | 1 of 2 | 0.508 ["
    assert line.startswith(began)
    assert line.endswith(" | – |")


def test_a_bonus_is_compared_with_none_from_the_same_demonstrations():
    nothing, little, much = [0.0] * 4, [0.0, 0.1, 0.1, 0.2], [0.0, 0.6, 0.9, 1.0]
    cells = {
        Cell("reach", "sac", "none"): runs(*[much] * 5),
        Cell("reach", "sac", "none_0"): runs(*[nothing] * 5),
        Cell("reach", "sac", "curiosity"): runs(little, little, much, much, much, much),
        Cell("reach", "sac", "curiosity_0"): runs(*[little] * 5),
        Cell("reach", "sac", "curiosity_weak"): runs(*[little] * 5),
        Cell("reach", "sac", "placebo_0"): runs(*[little] * 4),
        Cell("grasp", "sac", "curiosity_0"): runs(much),
    }
    lines = [line for line in to_markdown(cells).splitlines() if "| reach |" in line]
    told = {line.split(" | ")[1]: line.split(" | ")[-1] for line in lines}
    assert told.pop("none") == told.pop("none_0") == "– |"
    assert told.pop("curiosity").endswith(", 0.000], not told apart |")
    assert told == {
        "curiosity_0": "0.100 [0.100, 0.100], better |",
        "curiosity_weak": "-0.525 [-0.525, -0.525], worse |",
        "placebo_0": "0.100 [0.100, 0.100], too few seeds |",
    }
    assert rival_of(Cell("grasp", "sac", "curiosity_0"), cells) is None
    assert "| none_0 | 0 of 5 | never [never, never] | 6.0k" in "\n".join(lines)


def test_the_experiment_is_evaluated_every_thousand_steps_or_two():
    settings = load_settings(CONFIG / "memory.yaml")
    for cell in settings.cells():
        values = settings.cell(cell)
        assert values.timesteps / values.points == (2000 if cell.task == "grasp" else 1000)
        assert values.learning.options["clipped"]
        assert values.method.demonstrated_episodes == (100 if "parked" in cell.task else 20)
    methods = {cell.method for cell in settings.cells()}
    assert methods == {"none", "curiosity", "placebo"}
    assert settings.cell(Cell("parked_reach", "sac", "placebo")).method.shuffled


@pytest.mark.parametrize("count", ["", "_0"])
@pytest.mark.parametrize("how", ["never", "always"])
def test_ways_to_price_again_differ_in_nothing_else(how, count):
    settings = load_settings(CONFIG / "memory_few.yaml")
    mine, theirs = (
        settings.cell(Cell("parked_reach", "sac", f"{name}{count}")).fingerprint()
        for name in ("curiosity", how)
    )
    assert mine["learning"]["options"].pop("relabel") == "bounded"
    assert theirs["learning"]["options"].pop("relabel") == how
    assert theirs["method"]["learner_options"].pop("relabel") == how
    assert mine | {"cell": theirs["cell"]} == theirs


def test_few_demonstrations_are_none_five_and_twenty():
    settings = load_settings(CONFIG / "memory_few.yaml")
    assert set(settings.tasks) == {"parked_reach", "parked_reach_far", "grasp"}
    for cell in settings.cells():
        name, _, count = cell.method.partition("_")
        method = settings.cell(cell).method
        assert method.bonus == ("none" if name == "none" else "curiosity")
        assert method.shuffled == (name == "placebo")
        again = settings.cell(cell).learning.options["relabel"]
        assert again == (name if name in ("never", "always") else "bounded")
        assert method.demonstrated_episodes == int(count or 20)


def test_demonstrations_begin_where_the_shown_task_does(config, tmp_path):
    settings = load_settings(config)
    work = work_of(settings, tmp_path)
    ground = work.ground(Cell("parked_reach", "sac", "none"))
    first, again, other = (ground.learner(seed).shown for seed in (100, 100, 101))
    assert first.log == again.log
    assert first.log != other.log
    rows = first.log.kept()
    begins, ends = rows[rows["first"]], rows[rows["terminated"] > 0]
    assert len(begins) == 3
    turned = ground.simulated.observe(ground.simulated.initial_states(3, np.random.default_rng(0)))
    assert np.abs(begins["observation"][:, 0] - turned[:, 0]).min() > 0.5  # 1 rad aside
    assert set(ends["reward"]) <= {0.0, 1.0}  # as the parked task pays, not as reach does


def test_a_learner_without_a_memory_is_refused(config, tmp_path):
    config.write_text(
        "points: 1\ntasks: {reach: {learners: {trpo: {timesteps: 9, parallel: 1, min_steps: 1}}, "
        "methods: {none: {demonstrated_episodes: 1}}}}"
    )
    with pytest.raises(ConfigError, match="Trpo has no memory for demonstrated episodes"):
        work_of(load_settings(config), tmp_path)


def test_a_run_with_curiosity_in_small(config, tmp_path):
    job = Job("parked_reach", "sac", "curiosity", 100)
    work = prepared(load_settings(config), tmp_path, [job])
    rows = work(job)
    assert [row.timesteps > 0 for row in rows] == [False, True, True]
    assert all(np.isfinite(row.evaluation_success_rate) for row in rows)
    assert rows[-1].intrinsic_reward > 0
    assert "| parked_reach | curiosity |" in to_markdown(evaluations_of(rows))


def test_the_page_has_the_figures_of_the_committed_rows():
    made = {}
    for path in (RESULTS / "memory").rglob("table.md"):
        table = made[path.parent.name] = to_markdown(evaluations_of(all_rows(path.parent)))
        assert path.read_text() == table
    page = (RESULTS.parent / "docs" / "memory.md").read_text()
    shown, rows = (
        [line for line in text.splitlines() if LINE.match(line)]
        for text in (page, made["memory"] + made["few"])
    )
    assert shown == rows


def test_the_page_says_what_pricing_again_is_worth():
    page = (RESULTS.parent / "docs" / "memory.md").read_text()
    cells = evaluations_of(all_rows(RESULTS / "memory/few"))

    def beside_bounded(how: str, ending: str) -> str:
        pair = [
            cells[Cell("parked_reach", "sac", f"{method}{ending}")].overall()
            for method in (how, "curiosity")
        ]
        return f"{difference(*pair)}, {told(*pair)}"

    assert beside_bounded("never", "") == "-0.392 [-0.444, -0.310], worse"
    assert "by 0.392 [0.310, 0.444] of its success" in page
    for ending, count in (("", "20 demonstrated episodes"), ("_0", "none")):
        found, verdict = beside_bounded("always", ending).split("], ")
        assert verdict == "not told apart"
        assert f"{found}] with {count}" in page


def test_the_page_says_how_curiosity_is_beside_its_placebo():
    page = (RESULTS.parent / "docs" / "memory.md").read_text()
    cells = evaluations_of(all_rows(RESULTS / "memory/few"))
    pair = [
        cells[Cell("parked_reach", "sac", method)].overall()
        for method in ("curiosity_0", "placebo_0")
    ]
    assert [len(runs) for runs in pair] == [10, 10]
    assert told(*pair) == "not told apart"
    assert f"with ten seeds each: {difference(*pair)} of the whole run" in page
    none, curiosity, placebo = (
        cells[Cell("parked_reach", "sac", method)].overall()
        for method in ("none", "curiosity", "placebo")
    )
    assert str(difference(none, placebo)) == "0.139 [0.007, 0.345]"
    assert "the placebo does harm, by 0.139 [0.007, 0.345]" in page
    assert {told(curiosity, other) for other in (none, placebo)} == {"not told apart"}


def test_grasp_does_not_fall_again_as_an_interquartile_mean():
    grasps = {
        cell.method: runs
        for cell, runs in evaluations_of(all_rows(RESULTS / "memory")).items()
        if cell.task == "grasp"
    }
    assert set(grasps) == {"none", "curiosity"}
    for runs in grasps.values():
        pairs = zip(runs.timesteps, runs.rates, strict=True)
        later = np.array([rates[times >= 12_000] for times, rates in pairs])
        assert later.shape == (10, 15)
        assert (interquartile_mean(later.T) > 0.7).all()
