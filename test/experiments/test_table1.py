"""Table I: analysis against worked examples, resume, bad input, scheduling."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bayes_curiosity_ros import cli
from bayes_curiosity_ros.experiments.engine.store import Store
from bayes_curiosity_ros.experiments.table1 import paper, schedule, table1
from bayes_curiosity_ros.experiments.table1.analysis import Cell, cells_of, speedup
from bayes_curiosity_ros.experiments.table1.build import build_trainer
from bayes_curiosity_ros.experiments.table1.jobs import Job, Row, run_job
from bayes_curiosity_ros.experiments.table1.settings import (
    ALGORITHMS,
    BONUSES,
    TableSettings,
    load_settings,
)
from bayes_curiosity_ros.experiments.table1.table import to_markdown
from bayes_curiosity_ros.files import load_state
from bayes_curiosity_ros.learning.checkpoint import load_checkpoint, save_checkpoint
from bayes_curiosity_ros.tasks.registry import TASKS

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "config/experiments" / "table1.yaml"

TINY = """
evaluations: 2
evaluation_episodes: 2
demonstrations: 100
demonstration_noise: 0.1
cells:
  pendulum:
    trpo: {timesteps: 400, parallel: 2, min_steps: 200}
    ddpg: {timesteps: 400, parallel: 2, min_steps: 200, learner: {updates_per_step: 0.05}}
bonuses:
  pendulum: {curiosity: {weight: 1.0}, rnd: {weight: 1.0}, vime: {weight: 0.1}}
"""


@pytest.fixture
def tiny(tmp_path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


def command(tiny: Path, output: Path, *more: str) -> int:
    words = ["experiment", "table1", "--config", str(tiny), "--output", str(output)]
    return cli.main([*words, "--workers", "1", "--no-plots", *more])


def constant(returns: list[float], first: float = np.inf) -> Cell:
    return Cell(np.arange(len(returns)) * 1000.0, np.array([returns] * 3), np.array([first] * 3))


def test_speedup_is_baseline_steps_over_ours():
    slow = constant([-200] * 6 + [0] * 5)  # smoothed, its best is reached at 7,000
    fast = constant([-200, -200, 0, 0, 0, 0, 0, 0, 0, 0, 0])  # at 3,000
    ratio = speedup(slow, fast)
    assert ratio.mark == ""
    assert ratio.value == pytest.approx(7 / 3)
    assert speedup(fast, slow).value == pytest.approx(3 / 7)


def test_speedup_to_a_share_of_the_way_does_not_wait_for_the_last_bit():
    slow = constant([-200] + [-100] * 4 + [-2] * 5 + [0.0])
    fast = constant([-200] + [-4] * 10)  # never at the other's best
    assert speedup(slow, fast).mark == "not matched"
    ratio = speedup(slow, fast, share=0.9)
    assert ratio.mark == ""
    assert ratio.value == pytest.approx(6 / 2)


def test_speedup_over_a_baseline_that_never_learned_is_marked():
    flat, fast = constant([-200.0] * 11), constant([-200, -200] + [0] * 9)
    assert speedup(flat, fast).mark == "never learned"
    assert speedup(flat, fast).value == pytest.approx(10 / 1)  # smoothing starts to rise at 1,000
    assert speedup(flat, flat) is None


def test_speedup_not_matched_is_an_upper_bound():
    ratio = speedup(constant([-200] * 5 + [0] * 6), constant([-200.0] * 8 + [-50] * 3))
    assert ratio.mark == "not matched"
    assert ratio.value < 1


def test_cells_align_runs_of_unequal_steps():
    def row(seed: int, timesteps: int, value: float) -> Row:
        return Row("pendulum", "trpo", "none", seed, timesteps, value, 0, 0, 0, -1, 0)

    rows = [row(0, 0, -9), row(0, 1010, -5), row(0, 2000, -1)]
    rows += [row(1, 0, -8), row(1, 1100, -4), row(1, 2100, -2)]
    cell = cells_of(rows, 2)["pendulum", "trpo", "none"]
    np.testing.assert_array_equal(cell.returns, [[-9, -5, -1], [-8, -4, -2]])
    assert cell.quartiles()[0] == -1.5
    assert cell.median_first_success() == np.inf


def test_median_first_success_needs_half_of_the_seeds():
    cell = Cell(np.arange(2.0), np.zeros((4, 2)), np.array([10.0, np.inf, 20.0, 30.0]))
    assert cell.median_first_success() == 25.0


def test_table_shows_the_paper_beside_ours():
    cells = {
        ("mountaincar", "trpo", bonus): constant([-200.0, 0.0, 25.0], 900.0) for bonus in BONUSES
    }
    text = to_markdown(cells)
    assert "20.0 (16.0, 22.0)" in text
    assert "25.0 (25.0, 25.0)" in text
    assert "0.9k (0.9k–0.9k), 3 of 3" in text
    assert "median ≥ the paper's curiosity median: 1 of 1" in text


def test_the_papers_numbers_are_complete():
    assert len(paper.REWARD) == 4 * (3 + 2 + 3)
    assert len(paper.SPEEDUP) == 4 * (2 + 1 + 2)


def test_shipped_settings_cover_the_whole_table():
    settings = load_settings(CONFIG)
    arguments = argparse.Namespace(task=None, algorithm=None, bonus=None, seeds="0-9")
    jobs = table1.jobs_of(arguments, settings)
    assert len(set(jobs)) == 4 * 3 * 4 * 10
    assert {job.task for job in jobs} == set(TASKS)
    table1.check_buildable(jobs[:48], settings)


def test_a_job_repeats_itself_exactly(tiny):
    settings = load_settings(tiny)
    for algorithm in ("trpo", "ddpg"):
        job = Job("pendulum", algorithm, "curiosity", 0)
        first, second = run_job(job, settings), run_job(job, settings)
        assert [_untimed(row) for row in first] == [_untimed(row) for row in second]
        assert [row.timesteps for row in first] == [0, 200, 400]


def _untimed(row: Row) -> str:
    return str({**row.__dict__, "seconds": 0})


def test_interrupted_run_resumes_and_equals_an_unbroken_one(tiny, tmp_path, capsys):
    output, broken = tmp_path / "whole", tmp_path / "broken"
    assert command(tiny, output, "--algorithm", "trpo", "--seeds", "0-1") == 0
    assert command(tiny, broken, "--algorithm", "trpo", "--seeds", "0") == 0
    text = (broken / "rows.csv").read_text()
    (broken / "rows.csv").write_text(
        text + "pendulum,trpo,none,1,0,-90.0,0.0,nan,nan,-1,0.1\npend"
    )
    assert command(tiny, broken, "--algorithm", "trpo", "--seeds", "0-1") == 0
    assert "4 of 8 runs are already there" in capsys.readouterr().err
    settings = load_settings(tiny)
    stores = [Store(folder, settings, Row).load() for folder in (output, broken)]
    left, right = (sorted(_untimed(row) for row in rows) for rows in stores)
    assert left == right
    assert (broken / "table.md").read_text() == (output / "table.md").read_text()


def test_other_settings_in_the_same_folder_are_refused(tiny, tmp_path, capsys):
    Store(tmp_path / "out", load_settings(tiny), Row)
    assert command(tiny, tmp_path / "out", "--steps", "600") == 2
    assert "other settings" in capsys.readouterr().err


def test_two_processes_cannot_share_a_folder(tiny, tmp_path, capsys):
    store = Store(tmp_path / "out", load_settings(tiny), Row)
    assert command(tiny, tmp_path / "out") == 2
    assert "another process" in capsys.readouterr().err
    del store


def test_terminated_run_keeps_what_was_finished(tiny, tmp_path):
    words = ["experiment", "table1", "--config", str(tiny), "--output", str(tmp_path / "out")]
    process = subprocess.Popen(
        [sys.executable, "-m", "bayes_curiosity_ros.cli", *words, "--workers", "1", "--no-plots"],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
    )
    rows = tmp_path / "out" / "rows.csv"
    deadline = time.monotonic() + 60
    while not rows.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.terminate()
    assert process.wait(timeout=30) == 130
    kept = Store(tmp_path / "out", load_settings(tiny), Row).load()
    assert 0 < len({row.job for row in kept}) < 80


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--task", "cartpole"], "unknown task 'cartpole'; choose one of: pendulum"),
        (["--algorithm", "ppo"], "unknown algorithm 'ppo'"),
        (["--bonus", "icm"], "unknown bonus 'icm'"),
        (["--seeds", "9-0"], "names no seed"),
        (["--seeds", "all"], "is not like 0-9"),
        (["--steps", "0"], "timesteps = 0"),
        (["--workers", "0"], "--workers 0"),
    ],
)
def test_bad_words_are_one_line_before_any_work(tiny, tmp_path, capsys, words, message):
    assert command(tiny, tmp_path / "out", *words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("pendulum:\n    trpo", "pendulm:\n    trpo", "pendulm"),
        ("weight: 0.1", "wait: 0.1", "wait"),
        ("min_steps: 200}", "min_steps: 0}", "min_steps = 0"),
        ("evaluations: 2\n", "", "evaluations"),
        ("evaluations: 2\n", "evaluations: [\n", "YAML"),
    ],
)
def test_bad_settings_file(tiny, tmp_path, capsys, old, new, message):
    tiny.write_text(TINY.replace(old, new, 1))
    assert command(tiny, tmp_path / "out") == 2
    assert message in capsys.readouterr().err


def test_missing_settings_file(tmp_path, capsys):
    assert command(tmp_path / "nothing.yaml", tmp_path / "out") == 2
    assert "cannot read" in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_folder_as_a_user(tiny, tmp_path, capsys):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert command(tiny, locked / "out") == 2
    assert "cannot write" in capsys.readouterr().err


def test_unwritable_folder(tiny, tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert command(tiny, tmp_path / "file" / "out") == 2
    assert "cannot write" in capsys.readouterr().err


def test_cluster_without_ray_says_what_to_install(tiny, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    assert command(tiny, tmp_path / "out", "--cluster") == 2
    assert "needs Ray" in capsys.readouterr().err


def test_ray_gives_the_same_rows(tiny):
    settings: TableSettings = load_settings(tiny)
    jobs = [Job("pendulum", "trpo", "none", seed) for seed in (0, 1)]
    on_ray = dict(schedule.run_on_ray(jobs, partial(run_job, settings=settings), "local"))
    for job in jobs:
        expected = [_untimed(row) for row in run_job(job, settings)]
        assert [_untimed(row) for row in on_ray[job]] == expected


def test_plots_are_written(tmp_path):
    from bayes_curiosity_ros.experiments.table1.plots import plot_curves

    cells = {("acrobot", name, "none"): constant([-500.0, -100.0]) for name in ALGORITHMS}
    (path,) = plot_curves(cells, tmp_path)
    assert path.stat().st_size > 1000


@pytest.mark.parametrize("bonus", BONUSES)
@pytest.mark.parametrize("algorithm", ["trpo", "ddpg"])
def test_every_bonus_resumes_bit_for_bit(tiny, tmp_path, algorithm, bonus):
    settings = load_settings(tiny)
    whole = build_trainer("pendulum", algorithm, bonus, 0, settings)
    for index in range(4):
        whole.iterate()
        if index == 1:
            save_checkpoint(tmp_path / "half", whole)
    resumed = build_trainer("pendulum", algorithm, bonus, 1, settings)
    load_checkpoint(tmp_path / "half", resumed)
    for _ in range(2):
        resumed.iterate()
    save_checkpoint(tmp_path / "whole", whole)
    save_checkpoint(tmp_path / "resumed", resumed)
    assert_same(load_state(tmp_path / "whole"), load_state(tmp_path / "resumed"))


def assert_same(left: Any, right: Any) -> None:
    if isinstance(left, dict):
        assert left.keys() == right.keys()
        for key in left:
            assert_same(left[key], right[key])
    elif isinstance(left, torch.Tensor):
        assert torch.equal(left, right)
    else:
        assert left == right
