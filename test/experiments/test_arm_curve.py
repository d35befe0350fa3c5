"""`experiment arm`: rows from a log of episodes, the words of a run, and one run for real."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import pytest

from bayes_curiosity_ros import cli
from bayes_curiosity_ros.experiments.arm import command as arm_curve
from bayes_curiosity_ros.experiments.engine.jobs import Job
from bayes_curiosity_ros.experiments.engine.store import all_rows
from bayes_curiosity_ros.learning.episode_log import EpisodeRow
from bayes_curiosity_ros.learning.prepare import PrepareOptions


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="")
    arm_curve.add_arguments(parser)
    return parser.parse_args(words)


def test_rows_of_a_log_of_episodes():
    episodes = [
        EpisodeRow(i, 10 * i, 10, "success" if i > 100 else "failure", float(i), 2.0, 0.0)
        for i in range(1, 121)
    ]
    rows = arm_curve.rows_of(Job("arm_reach", "trpo", "rnd", 3), episodes, budget=1200)
    assert len(rows) == arm_curve.POINTS
    assert [row.timesteps for row in rows] == list(range(20, 1201, 20))
    assert (rows[0].extrinsic_return, rows[0].intrinsic_reward) == (1.5, 0.2)
    assert {row.first_success for row in rows} == {-1, 1010}
    assert rows[-1].successes_per_timestep == pytest.approx(0.1)
    assert rows[-1].successes_per_timestep_100 == pytest.approx(20 / 1000)
    assert (rows[-1].task, rows[-1].seed, rows[-1].episodes) == ("arm_reach", 3, 120)


def test_only_a_simulated_arm_answers_for_its_operator_by_itself():
    def operator(*words: str) -> str:
        given = arm_curve._launch_arguments(parsed(*words), "rnd", 0, Path("there"))
        return given["simulated_operator"]

    real = ("--arm", "trajectory", "--command-topic", "c", "--state-topic", "s")
    assert operator() == "true"
    assert operator(*real) == "false"
    assert operator(*real, "--simulated-operator") == "true"


def test_a_run_with_a_checkpoint_is_resumed(tmp_path):
    def resume() -> str:
        return arm_curve._launch_arguments(parsed(), "rnd", 0, tmp_path)["resume"]

    assert resume() == "false"
    (tmp_path / "checkpoint.pt").touch()
    assert resume() == "true"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--bonus", "icm"], "unknown bonus 'icm'"),
        (["--seeds", "4-0"], "names no number"),
        (["--timesteps", "0"], "--timesteps = '0' must be a whole number from 1"),
        (["--arm", "kortex"], "needs robot_ip"),
    ],
)
def test_bad_words_are_one_line_before_any_work(tmp_path, capsys, words, message):
    output = tmp_path / "out"
    assert cli.main(["experiment", "arm", "--output", str(output), *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not output.exists()


def test_a_run_over_the_graph(tmp_path, monkeypatch, capfd):
    quick = partial(PrepareOptions, demonstrations=200, embedding_epochs=1)
    monkeypatch.setattr(arm_curve, "PrepareOptions", quick)
    words = ["experiment", "arm", "--output", str(tmp_path), "--seeds", "7", "--bonus", "rnd"]
    assert cli.main([*words, "--timesteps", "250", "--no-plots"]) == 0
    rows = all_rows(tmp_path)
    assert rows[-1].timesteps >= 250
    assert {row.job for row in rows} == {Job("arm_reach", "trpo", "rnd", 7)}
    assert "| arm_reach | rnd |" in (tmp_path / "table.md").read_text()
    capfd.readouterr()
    assert cli.main([*words, "--timesteps", "250", "--no-plots"]) == 0
    assert "run 1" not in capfd.readouterr().out  # it is there already
