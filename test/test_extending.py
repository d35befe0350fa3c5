"""A bonus, a learner and a task that another package registers are everywhere that names are."""

import csv

import pytest

from bayes_curiosity_ros.learning.episode_log import read_log
from support.plugin import install_plugin, run_with_plugin

CLI = ("-m", "bayes_curiosity_ros.cli")
SETTINGS = """
points: 2
tasks:
  near_reach:
    learners: {climb: {timesteps: 200, parallel: 4, min_steps: 100, options: {spread: 0.2}}}
    methods: {counts: {weight: 0.5}, none: }
"""
GYMNASIUM = """
import gymnasium
env = gymnasium.make("bayes_curiosity_ros.tasks.gymnasium_env:BayesCuriosity/near_reach")
env.reset(seed=0)
print(env.spec.max_episode_steps, env.unwrapped.task.config.success_m)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    return install_plugin(tmp_path_factory.mktemp("plugin"))


def test_up_runs_them_over_the_graph(installed):
    chosen = ("--task", "near_reach", "--bonus", "counts", "--learner", "climb", "--scratch")
    run_with_plugin(installed, *CLI, "up", *chosen, "--timesteps", "60", "--output", "mine")
    rows = read_log(installed / "mine" / "episodes.csv")
    assert rows[-1].timesteps >= 60
    assert max(row.steps for row in rows) <= 25


def test_an_experiment_runs_them(installed):
    (installed / "settings.yaml").write_text(SETTINGS)
    options = ("--config", "settings.yaml", "--seeds", "0", "--output", "curves", "--no-videos")
    printed = run_with_plugin(installed, *CLI, "experiment", "curves", *options)
    with (installed / "curves" / "rows.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {(row["task"], row["learner"]) for row in rows} == {("near_reach", "climb")}
    assert {row["method"] for row in rows} == {"counts", "none"}
    assert "near_reach" in printed
    assert (installed / "curves" / "curves.png").exists()


def test_gymnasium_makes_the_task(installed):
    assert run_with_plugin(installed, "-c", GYMNASIUM).split() == ["25", "0.15"]


def test_help_and_errors_name_them(installed):
    printed = run_with_plugin(installed, *CLI, "up", "--help")
    for name in ("near_reach", "visual_near_reach", "counts", "climb"):
        assert name in printed
