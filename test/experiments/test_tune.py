"""Tuning: the rule against worked examples, equal effort, resume, and what the table uses."""

from __future__ import annotations

import dataclasses
import json
from itertools import product

import pytest

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.experiments.engine.running import work_of
from bayes_curiosity_ros.experiments.engine.settings import load_settings
from bayes_curiosity_ros.experiments.engine.store import all_rows, read_settings
from bayes_curiosity_ros.experiments.table1.tune import check, choose, measured
from support.experiments import CONFIG, RESULTS, command, stored
from support.experiments import returns_of as trial

TUNING = """
extends: table.yaml
every_task:
  methods:
    rnd_0.1: {like: rnd, weight: 0.1}
    rnd_1: {like: rnd, weight: 1.0}
    vime_0.01: {like: vime, weight: 0.01}
    vime_slow: {like: vime, learning_rate: 0.0001}
panels: {rnd: [rnd_0.1, rnd_1], vime: [vime_0.01, vime_slow]}
only: {methods: [rnd_0.1, rnd_1, vime_0.01, vime_slow]}
"""


@pytest.fixture
def tuning(table):
    """Two trials for each of two bonuses."""
    path = table.with_name("tuning.yaml")
    path.write_text(TUNING)
    return path


def test_the_highest_average_over_learners_is_chosen():
    steady = {"trpo": trial([-50, -30]), "ddpg": trial([-50, -30])}
    fickle = {"trpo": trial([-50, -20]), "ddpg": trial([-50, -50])}
    assert choose({"steady": steady, "fickle": fickle}) == "steady"
    assert choose({"fickle": fickle, "steady": steady}) == "steady"


def test_learning_sooner_counts_as_much_as_ending_higher():
    soon = {"trpo": trial([-40, -30], [-40, -30])}
    late = {"trpo": trial([-50, -25], [-50, -25])}
    assert choose({"late": late, "soon": soon}) == "soon"


def test_every_seed_counts():
    one_failed = {"trpo": trial([0, 30], [0, 30], [-200, -200])}
    all_solved = {"trpo": trial([0, 25], [0, 25], [0, 25])}
    assert choose({"one failed": one_failed, "all solved": all_solved}) == "all solved"


def test_of_equals_the_first_is_chosen():
    failed = {"trpo": trial([-200, -200])}
    assert choose({"first": failed, "second": failed}) == "first"


def test_a_trial_changes_what_it_says_and_nothing_else(table, tuning):
    base, settings = (
        load_settings(table).tasks["pendulum"],
        load_settings(tuning).tasks["pendulum"],
    )
    assert settings.methods["rnd_0.1"].options == {"weight": 0.1, "width": 8}
    assert settings.methods["rnd_1"] == base.methods["rnd"]
    assert settings.learners == base.learners


def test_every_trial_is_run_once_and_reported(tuning, tmp_path, capsys):
    out = tmp_path / "out"
    stored(load_settings(tuning).with_timesteps(200), out, [100])
    assert command("tune", tuning, out, "--timesteps", "200", "--seeds", "100-101") == 0
    captured = capsys.readouterr()
    assert "8 of 16 runs are already there" in captured.err
    table = (out / "table.md").read_text()
    assert table.count("| pendulum |") == 4
    assert table.count("**") == 2 * 2  # one trial per bonus is bold
    assert all(line.endswith("| 2 |") for line in table.splitlines()[4:])
    assert table in captured.out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--seeds", "99-101"], "seed 99 is for reporting"),
        (["--task", "cartpole"], "unknown task 'cartpole'"),
        (["--workers", "0"], "--workers = '0' must be a whole number from 1"),
        (["--tuning", "nothing.yaml"], "cannot read nothing.yaml"),
        (["--method", "rnd_1", "vime_slow", "vime_0.01"], "equally many"),
    ],
)
def test_bad_words_are_one_line_before_any_work(tuning, tmp_path, capsys, more, message):
    assert command("tune", tuning, tmp_path / "out", *more) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("panels: {rnd: [rnd_0.1, ", "panels: {rnd: [", "'rnd_0.1' is in no panel"),
        ("[rnd_0.1, rnd_1, vime", "[rnd_1, vime", "equally many"),
    ],
)
def test_bad_tuning_file(tuning, old, new, message):
    text = TUNING.replace(old, new)
    assert text != TUNING
    tuning.write_text(text)
    with pytest.raises(ConfigError, match=message):
        check(load_settings(tuning))


def test_the_table_uses_what_the_committed_trials_say():
    settings = load_settings(CONFIG / "table1.yaml")
    plan = load_settings(CONFIG / "table1_tuning.yaml")
    check(plan)
    cells = measured(all_rows(RESULTS / "table1/tuning"), plan)
    assert set(cells) == set(product(settings.tasks, ("curiosity", "paper", "rnd", "vime")))
    for (task, bonus), trials in cells.items():
        assert len(trials) == 4
        assert all(set(learners) == {"trpo", "ddpg"} for learners in trials.values())
        chosen = plan.tasks[task].methods[choose(trials)]
        assert settings.tasks[task].methods[bonus] == chosen, (task, bonus)
    seeds = {
        len(cell.returns)
        for trials in cells.values()
        for learners in trials.values()
        for cell in learners.values()
    }
    assert len(seeds) == 1


def test_the_placebo_is_curiosity_shuffled():
    for task in load_settings(CONFIG / "table1.yaml").tasks.values():
        shuffled = dataclasses.replace(task.methods["curiosity"], shuffled=True)
        assert task.methods["placebo"] == shuffled


@pytest.mark.parametrize(
    ("config", "folder"),
    [
        ("table1", "table1"),
        ("table1_tuning", "table1/tuning"),
        ("table1_reference", "table1/ablations/reference"),
        ("table1_raw_form", "table1/ablations/raw_form"),
        ("table1_random_encoder", "table1/ablations/random_encoder"),
    ],
)
def test_committed_rows_were_made_with_the_shipped_settings(config, folder):
    cells = work_of(load_settings(CONFIG / f"{config}.yaml"), CONFIG).cells
    mine = {str(cell): json.loads(json.dumps(s.fingerprint())) for cell, s in cells.items()}
    assert read_settings(RESULTS / folder) == mine
