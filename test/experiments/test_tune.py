"""Tuning: the rule against worked examples, equal effort, resume, and what the table uses."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from bayes_curiosity_ros import cli
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.experiments.table1.analysis import Cell
from bayes_curiosity_ros.experiments.table1.settings import load_settings
from bayes_curiosity_ros.experiments.table1.tune import Plan, choose, load_plan, measured

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "config/experiments" / "table1.yaml"
PLAN = ROOT / "config/experiments" / "table1_tuning.yaml"
RESULTS = ROOT / "results" / "table1" / "tuning"

TABLE = """
evaluations: 2
evaluation_episodes: 2
demonstrations: 100
demonstration_noise: 0.1
cells:
  pendulum:
    trpo: {timesteps: 400, parallel: 2, min_steps: 200}
    ddpg: {timesteps: 400, parallel: 2, min_steps: 200}
bonuses:
  pendulum: {rnd: {weight: 1.0, width: 8}}
"""
TUNING = "{algorithms: [trpo, ddpg], weights: {rnd: [0.1, 1.0], vime: [0.01, 0.1]}}"


@pytest.fixture
def words(tmp_path) -> list[str]:
    (tmp_path / "table.yaml").write_text(TABLE)
    (tmp_path / "tuning.yaml").write_text(TUNING)
    files = ["--config", str(tmp_path / "table.yaml"), "--tuning", str(tmp_path / "tuning.yaml")]
    output = ["--output", str(tmp_path / "out"), "--workers", "1"]
    return ["experiment", "tune", *files, *output]


def trial(*returns: list[float]) -> Cell:
    return Cell(np.array([0.0, 1000.0]), np.array(returns), np.full(len(returns), 10.0))


def test_the_highest_average_over_learners_is_chosen():
    steady = {"trpo": trial([-50, -30]), "ddpg": trial([-50, -30])}
    fickle = {"trpo": trial([-50, -20]), "ddpg": trial([-50, -50])}
    assert choose({0.1: steady, 1.0: fickle}) == 0.1
    assert choose({0.1: fickle, 1.0: steady}) == 1.0


def test_learning_sooner_counts_as_much_as_ending_higher():
    soon = {"trpo": trial([-40, -30], [-40, -30])}
    late = {"trpo": trial([-50, -25], [-50, -25])}
    assert choose({0.1: late, 1.0: soon}) == 1.0


def test_every_seed_counts():
    one_failed = {"trpo": trial([0, 30], [0, 30], [-200, -200])}
    all_solved = {"trpo": trial([0, 25], [0, 25], [0, 25])}
    assert choose({0.1: one_failed, 1.0: all_solved}) == 1.0


def test_of_equals_the_smallest_weight_is_chosen():
    failed = {"trpo": trial([-200, -200])}
    assert choose({1.0: failed, 0.1: failed}) == 0.1


def test_a_trial_changes_the_weight_and_nothing_else(tmp_path):
    (tmp_path / "table.yaml").write_text(TABLE)
    settings = load_settings(tmp_path / "table.yaml")
    first, second = Plan(["trpo"], {"rnd": [0.1, 1.0]}).trials(settings)
    assert first.bonuses["pendulum"]["rnd"] == {"weight": 0.1, "width": 8}
    assert second.bonuses["pendulum"]["rnd"] == {"weight": 1.0, "width": 8}
    assert first.cells["pendulum"] == {"trpo": settings.cell("pendulum", "trpo")}


def test_every_trial_is_run_once_and_reported(words, tmp_path, capsys):
    assert cli.main([*words, "--seeds", "100"]) == 0
    assert cli.main([*words, "--seeds", "100-101"]) == 0
    table = (tmp_path / "out" / "table.md").read_text()
    assert table.count("| pendulum |") == 4
    assert table.count("**") == 2 * 2  # one weight per bonus is bold
    assert all(line.endswith("| 2 |") for line in table.splitlines()[4:])
    assert table in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--seeds", "99-101"], "seed 99 is for reporting"),
        (["--task", "cartpole"], "unknown task 'cartpole'"),
        (["--workers", "0"], "--workers 0"),
        (["--tuning", "nothing.yaml"], "cannot read nothing.yaml"),
    ],
)
def test_bad_words_are_one_line_before_any_work(words, tmp_path, capsys, more, message):
    assert cli.main([*words, *more]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{algorithms: [ppo], weights: {rnd: [1]}}", "unknown algorithm 'ppo'"),
        ("{algorithms: [trpo], weights: {none: [1]}}", "unknown bonus 'none'"),
        ("{algorithms: [trpo], weights: {rnd: [1], vime: [1, 2]}}", "equally many"),
        ("{algorithms: [trpo], weights: {rnd: []}}", "equally many"),
        ("{algorithms: [trpo], weights: {}}", "equally many"),
        ("{algorithms: [trpo], weights: {rnd: [much]}}", "does not fit"),
        ("{algorithms: [], weights: {rnd: [1]}}", "algorithms is empty"),
        ("{algorithms: [trpo]}", "does not fit"),
        ("{algorithms: [", "YAML"),
    ],
)
def test_bad_tuning_file(tmp_path, text, message):
    (tmp_path / "tuning.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_plan(tmp_path / "tuning.yaml")


def test_the_table_uses_what_the_committed_trials_say(tmp_path):
    shutil.copytree(RESULTS, tmp_path / "tuning")
    settings, plan = load_settings(CONFIG), load_plan(PLAN)
    cells = measured(tmp_path / "tuning", plan.trials(settings))
    assert set(cells) == {(task, bonus) for task in settings.cells for bonus in plan.weights}
    for (task, bonus), trials in cells.items():
        assert len(trials) == len(plan.weights[bonus])
        assert all(set(learners) == set(plan.algorithms) for learners in trials.values())
        assert settings.bonuses[task][bonus]["weight"] == choose(trials), (task, bonus)
    seeds = {
        len(cell.returns)
        for trials in cells.values()
        for learners in trials.values()
        for cell in learners.values()
    }
    assert len(seeds) == 1
