"""Running jobs: exact resume for everything registered, preparation, processes, Ray, bad words."""

from __future__ import annotations

import dataclasses
import io
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch
from PIL import Image

from bayes_curiosity_ros.curiosity.bonus import BONUSES
from bayes_curiosity_ros.experiments.engine import work as engine
from bayes_curiosity_ros.experiments.engine.jobs import Job, Record, Row
from bayes_curiosity_ros.experiments.engine.running import (
    jobs_of,
    prepare,
    progress,
    side_by_side,
    work_of,
)
from bayes_curiosity_ros.experiments.engine.schedule import run_on_ray
from bayes_curiosity_ros.experiments.engine.settings import Selection, load_settings
from bayes_curiosity_ros.experiments.engine.store import all_rows
from bayes_curiosity_ros.experiments.engine.work import Work
from bayes_curiosity_ros.files import load_state
from bayes_curiosity_ros.learning.algorithm import LEARNERS
from bayes_curiosity_ros.learning.event_log import EventLog
from bayes_curiosity_ros.learning.map.log import map_log_of
from bayes_curiosity_ros.learning.map.points import CuriosityMap
from bayes_curiosity_ros.learning.trainer import Iteration, Trainer
from support.events import events_of, numbers_of
from support.experiments import CURVES, ROOT, assert_same, command, parsed, prepared, untimed
from support.waiting import WAIT_S, wait_for


def cut_short(work: Work, job: Job, at: int, monkeypatch) -> None:
    """Run a job until it has taken more than `at` timesteps, then interrupt it."""
    iterate = Trainer.iterate

    def cut(trainer: Trainer) -> Iteration:
        if trainer.timesteps > at:
            raise KeyboardInterrupt
        return iterate(trainer)

    with monkeypatch.context() as patch:
        patch.setattr(engine, "CHECKPOINT_S", 0.0)
        patch.setattr(Trainer, "iterate", cut)
        with pytest.raises(KeyboardInterrupt):
            work(job)


def assert_resumes(work: Work, job: Job, at: int, monkeypatch) -> list[Row]:
    """Fail unless an interrupted run ends as an unbroken one; the rows of that."""
    budget = work.cells[job.cell].timesteps
    whole, state = work(job), load_state(work.checkpoint(job))
    assert whole[-1].timesteps >= budget
    shutil.rmtree(work.checkpoint(job).parent)
    cut_short(work, job, at, monkeypatch)
    assert at < work.progress(job) < budget
    assert untimed(work(job)) == untimed(whole)
    assert_same(load_state(work.checkpoint(job)), state)
    assert untimed(work(job)) == untimed(whole)  # finished, it only says so again
    return whole


@pytest.mark.parametrize("bonus", BONUSES.names())
@pytest.mark.parametrize("learner", LEARNERS.names())
def test_an_interrupted_run_equals_an_unbroken_one(table, tmp_path, monkeypatch, learner, bonus):
    table.write_text(table.read_text().partition("only:")[0])
    settings = load_settings(table).only(Selection(learners=(learner,), methods=(bonus,)))
    (job,) = jobs_of(settings, [0])
    rows = assert_resumes(work_of(settings, tmp_path), job, 150, monkeypatch)
    assert [row.timesteps for row in rows] == [0, 200, 400]
    assert all(np.isfinite(row.evaluation_return) for row in rows)
    assert np.isnan(rows[0].extrinsic_return)


@pytest.mark.parametrize("learner", LEARNERS.names())
def test_seeds_side_by_side_are_what_each_is_alone(table, tmp_path, monkeypatch, learner):
    """Also when they were interrupted; they differ in how far each has come by then."""
    table.write_text(table.read_text().partition("only:")[0])
    settings = load_settings(table).only(Selection(learners=(learner,), methods=("curiosity",)))
    jobs = jobs_of(settings, [0, 1, 2])
    alone, together = (work_of(settings, tmp_path / name) for name in ("alone", "together"))
    cut_short(together, jobs[1], 150, monkeypatch)
    rows = together.together(jobs)
    assert untimed(rows) == untimed([row for job in jobs for row in alone(job)])
    for job in jobs:
        assert_same(load_state(together.checkpoint(job)), load_state(alone.checkpoint(job)))


def test_seeds_of_a_cell_are_grouped_and_the_first_of_all_cells_come_first():
    cells = [("reach", "trpo", "none"), ("reach", "trpo", "rnd")]
    jobs = [Job(*cell, seed) for seed in range(3) for cell in cells]
    groups = side_by_side(jobs, 2)
    assert [[job.seed for job in group] for group in groups] == [[0, 1], [0, 1], [2], [2]]
    assert [group[0].method for group in groups] == ["none", "rnd", "none", "rnd"]
    assert side_by_side(jobs, 1) == [(job,) for job in jobs]


@pytest.mark.parametrize("task", ["reach", "visual_reach"])
def test_a_prepared_run_resumes_too(curves, tmp_path, monkeypatch, task):
    job = Job(task, "trpo", "curiosity", 0)
    work = prepared(load_settings(curves), tmp_path, [job])
    at = work.cells[job.cell].timesteps // 3
    rows = assert_resumes(work, job, at, monkeypatch)
    assert [row.episodes for row in rows] == sorted({row.episodes for row in rows})
    assert all(np.isnan(row.evaluation_return) for row in rows)


def test_a_job_repeats_itself_exactly_and_seeds_differ(table, tmp_path):
    settings = load_settings(table)
    job = Job("pendulum", "trpo", "curiosity", 0)
    first, second = (work_of(settings, tmp_path / name)(job) for name in ("one", "two"))
    assert untimed(first) == untimed(second)
    other = work_of(settings, tmp_path / "one")(dataclasses.replace(job, seed=1))
    assert first[-1].intrinsic_reward != other[-1].intrinsic_reward


def test_rows_of_a_run_are_in_event_files_where_asked_for(table, tmp_path):
    pytest.importorskip("tensorboard")
    words = ("--learner", "trpo", "--method", "none", "--seeds", "0", "--log", "tensorboard")
    assert command("table1", table, tmp_path / "out", *words) == 0
    (folder,) = (tmp_path / "out").rglob("tensorboard")
    assert folder.parts[-5:-1] == ("pendulum", "trpo", "none", "seed_0")
    numbers = numbers_of(folder)
    rows = all_rows(tmp_path / "out")
    assert numbers["evaluation_return"] == [
        (row.timesteps, pytest.approx(row.evaluation_return, rel=1e-6)) for row in rows
    ]
    assert [step for step, _ in numbers["success_rate"]] == [200, 400]


@pytest.mark.parametrize("task", ["reach", "visual_reach"])
def test_the_map_of_a_run_is_in_its_event_files_and_changes_nothing(
    curves, tmp_path, monkeypatch, task
):
    pytest.importorskip("tensorboard")
    monkeypatch.setattr(CuriosityMap.of, "__defaults__", (40,))
    job = Job(task, "trpo", "curiosity", 0)
    plain = prepared(load_settings(curves), tmp_path, [job])
    rows = plain(job)
    plain.forget(job)
    told = dataclasses.replace(plain, log="tensorboard")
    assert untimed(told(job)) == untimed(rows)
    (folder,) = tmp_path.rglob("tensorboard")
    pictures = events_of(folder).Images("curiosity/map")
    assert [each.step for each in pictures] == [0, *(row.timesteps for row in rows)]
    light = [mean_light(each.encoded_image_string) for each in pictures]
    assert light[-1] < light[0]


def test_a_run_that_goes_on_draws_no_map_twice(curves, tmp_path, monkeypatch):
    pytest.importorskip("tensorboard")
    monkeypatch.setattr(CuriosityMap.of, "__defaults__", (40,))
    job = Job("reach", "trpo", "curiosity", 0)
    work = prepared(load_settings(curves), tmp_path, [job])
    work = dataclasses.replace(work, log="tensorboard")
    cut_short(work, job, 150, monkeypatch)
    rows = work(job)
    (folder,) = tmp_path.rglob("tensorboard")
    steps = [each.step for each in events_of(folder).Images("curiosity/map")]
    assert steps == [0, *(row.timesteps for row in rows)]
    assert [step for step, _ in numbers_of(folder)["success_rate"]] == steps[1:]


@pytest.mark.parametrize("method", ["rnd", "none"])
def test_other_bonuses_have_no_map(curves, tmp_path, method):
    job = Job("reach", "trpo", method, 0)
    trainer = prepared(load_settings(curves), tmp_path, [job]).trainer(job)
    assert map_log_of(trainer, EventLog(tmp_path, "")) is None


def mean_light(png: bytes) -> float:
    with Image.open(io.BytesIO(png)) as picture:
        return float(np.asarray(picture.convert("L")).mean())


def test_methods_start_from_the_same_policy_and_initial_states(curves, tmp_path):
    methods, seeds = ("curiosity", "none"), (0, 1)
    wanted = {(m, seed): Job("reach", "trpo", m, seed) for m in methods for seed in seeds}
    work = prepared(load_settings(curves), tmp_path, list(wanted.values()))
    trainers = {key: work.trainer(job) for key, job in wanted.items()}
    first = {key: t.algorithm.imitator.parameters.clone() for key, t in trainers.items()}
    episodes = {key: t.gatherer.gather(t.algorithm.explore()) for key, t in trainers.items()}
    for seed in seeds:
        mine, other = ("curiosity", seed), ("none", seed)
        assert first[mine].equal(first[other])
        np.testing.assert_array_equal(episodes[mine].observations, episodes[other].observations)
    assert not first["none", 0].equal(first["none", 1])
    assert len(list((tmp_path / "prepared").glob("*demonstrations*"))) == 1


def test_tasks_are_prepared_side_by_side_like_one_after_the_other(curves, tmp_path, capfd):
    settings = load_settings(curves).only(Selection(methods=("curiosity",)))
    wanted = jobs_of(settings, [0, 1])
    one_by_one = prepared(settings, tmp_path / "one", wanted)
    together = work_of(settings, tmp_path / "two")
    prepare(wanted, together, workers=2)
    assert capfd.readouterr().err.count("imitation") == 4
    for job in wanted:
        grounds = [work.ground(job.cell) for work in (together, one_by_one)]
        encoders = [ground.encoder(job.seed).state_dict() for ground in grounds]
        policies = [ground.learner(job.seed).imitator.state_dict() for ground in grounds]
        torch.testing.assert_close(*encoders, rtol=0, atol=0)
        torch.testing.assert_close(*policies, rtol=0, atol=0)

    prepare(wanted, together, workers=2)
    assert capfd.readouterr().err == ""


def test_preparation_makes_what_is_needed_and_no_more(ablations, tmp_path):
    wanted = [Job("reach", "trpo", method, 0) for method in ("scratch", "random", "continual")]
    work = work_of(load_settings(ablations), tmp_path)
    made = []
    for job in wanted:
        work.ground(job.cell).make([0])
        assert work.ground(job.cell).ready([0])
        names = {path.name.split("_")[1] for path in (tmp_path / "prepared").glob("reach_*")}
        made.append(names)
    assert made == [set(), {"demonstrations", "policy"}, {"demonstrations", "policy"}]


@pytest.mark.parametrize("per_seed", [False, True], ids=["shared", "per seed"])
@pytest.mark.parametrize(
    "said", ["", "    embedding_from: parked_reach\n"], ids=["own", "another"]
)
def test_demonstrations_can_be_of_another_pose(curves, tmp_path, per_seed, said):
    shown = f"  reach:\n{said}    shown: {{placement: {{turn_rad: 1.0}}}}\n"
    shown += f"    demonstrations_per_seed: {str(per_seed).lower()}\n"
    curves.write_text(CURVES.replace("  reach:\n", shown))
    job = Job("reach", "trpo", "curiosity", 0)
    ground = prepared(load_settings(curves), tmp_path, [job]).ground(job.cell)
    ready = ground.simulated.robot.arm.ready_rad[0]
    ours = ground.simulated.initial_states(32, np.random.default_rng(0))
    np.testing.assert_allclose(ground.simulated.observe(ours)[:, 0], ready, atol=0.06)
    theirs = ground.demonstrations(0).vectors[:32, 0]  # every cell's first step
    np.testing.assert_allclose(theirs, ready + 1.0, atol=0.06)


def test_learners_share_a_seeds_encoder_and_seeds_do_not(table, tmp_path):
    work = work_of(load_settings(table), tmp_path)
    learners = [Job("pendulum", name, "curiosity", 0).cell for name in ("trpo", "ddpg")]
    first, second = (work.ground(cell).encoder(0).state_dict() for cell in learners)
    torch.testing.assert_close(first, second, rtol=0, atol=0)
    other = work.ground(learners[0]).encoder(1).state_dict()
    assert not all(torch.equal(first[name], other[name]) for name in first)
    assert len(list((tmp_path / "prepared").glob("*_model_*"))) == 2


def test_what_is_shown_decides_which_files_serve(curves, tmp_path):
    job = Job("reach", "trpo", "curiosity", 0)
    before = work_of(load_settings(curves), tmp_path).ground(job.cell).files(0)
    curves.write_text(CURVES.replace("  reach:\n", "  reach:\n    shown: {horizon: 9}\n"))
    after = work_of(load_settings(curves), tmp_path).ground(job.cell).files(0)
    assert not {*vars(before).values()} & {*vars(after).values()}


def test_each_method_has_its_bonus(ablations, tmp_path):
    settings = load_settings(ablations)
    wanted = jobs_of(settings, [0])
    work = prepared(settings, tmp_path, wanted)
    kinds = {job.method: type(work.trainer(job).bonus).__name__ for job in wanted}
    assert kinds == {
        "curiosity": "Curiosity",
        "continual": "ContinualCuriosity",
        "random": "Curiosity",
        "scratch": "NoBonus",
    }
    rows = work(Job("reach", "trpo", "continual", 0))
    assert rows[-1].episodes > 4  # so its embedding was learnt anew
    names = ("scratch", "curiosity")
    fresh, imitated = (work.trainer(Job("reach", "trpo", name, 0)) for name in names)
    assert not fresh.algorithm.policy.parameters.equal(imitated.algorithm.policy.parameters)


@pytest.mark.slow
def test_ray_gives_the_same_rows(table, tmp_path):
    jobs = [Job("pendulum", "trpo", "none", seed) for seed in (0, 1)]
    here, ray = (work_of(load_settings(table), tmp_path / name) for name in ("here", "ray"))
    on_ray = dict(run_on_ray(jobs, ray, "local"))
    for job in jobs:
        assert untimed(on_ray[job]) == untimed(here(job))


def test_cluster_without_ray_says_what_to_install(table, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert command("table1", table, tmp_path / "out", "--cluster") == 2
    assert "needs Ray" in capsys.readouterr().err


def test_progress_counts_steps_of_all_jobs(table, tmp_path, capsys):
    wanted = [Job("pendulum", "trpo", "none", seed) for seed in (0, 1)]
    work = work_of(load_settings(table), tmp_path)
    for job, steps in zip(wanted, ("400", "200"), strict=True):
        path = work.checkpoint(job).with_suffix(".steps")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(steps)
    with progress(wanted, work):
        pass
    assert "75%" in capsys.readouterr().err


def test_terminated_run_keeps_what_was_finished(table, tmp_path):
    words = ["experiment", "table1", "--config", str(table), "--output", str(tmp_path / "out")]
    process = subprocess.Popen(
        [sys.executable, "-m", "bayes_curiosity_ros.cli", *words, "--workers", "1", "--no-plots"],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    rows = tmp_path / "out/rows.csv"
    wait_for(lambda: rows.exists() and all_rows(rows.parent), "finished run", 120.0)
    process.terminate()
    told = process.communicate(timeout=WAIT_S)[1]
    assert process.returncode == 128 + signal.SIGTERM
    assert "stopped by SIGTERM: " in told
    assert "of 80 runs are finished; the same command goes on" in told
    assert 0 < len({row.job for row in all_rows(tmp_path / "out")}) < 80


def test_metric_is_of_the_most_recent_episodes():
    record = Record(Job("reach", "trpo", "none", 0), points=2, budget=40)
    lengths, succeeded = np.full(20, 2), np.arange(20) >= 15
    record.add(Iteration(20, 1.0, 0.0, {"intrinsic": 0.0}, lengths[:10], succeeded[:10]), None, 0)
    record.add(Iteration(40, 1.0, 0.5, {"intrinsic": 0.0}, lengths[10:], succeeded[10:]), 32, 0)
    first, last = record.rows
    assert (first.successes_per_timestep, first.first_success, first.episodes) == (0.0, -1, 10)
    assert last.successes_per_timestep == pytest.approx(5 / 20)
    assert last.successes_per_timestep_100 == pytest.approx(5 / 40)
    assert (last.first_success, last.episodes) == (32, 20)


@pytest.mark.parametrize("name", ["table1", "curves", "ablations"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--task", "cartpole"], "unknown task 'cartpole'; choose one of: pendulum"),
        (["--learner", "ppo"], "unknown learner 'ppo'"),
        (["--algorithm", "ppo"], "unknown learner 'ppo'"),
        (["--method", "icm"], "unknown method 'icm'"),
        (["--bonus", "icm"], "unknown method 'icm'"),
        (["--variant", "icm"], "unknown method 'icm'"),
        (["--seeds", "9-0"], "names no number"),
        (["--seeds", "all"], "is not like 3, 0-9"),
        (["--timesteps", "0"], "--timesteps = '0' must be"),
        (["--steps", "0"], "--timesteps = '0' must be"),
        (["--workers", "0"], "--workers = '0' must be"),
        (["--config", "nothing.yaml"], "cannot read nothing.yaml"),
    ],
)
def test_bad_words_are_one_line_before_any_work(table, tmp_path, capsys, name, words, message):
    assert command(name, table, tmp_path / "out", *words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_an_unknown_option_is_not_understood(capsys):
    with pytest.raises(SystemExit):
        parsed(["experiment", "curves", "--colour", "red"])
    assert "--colour" in capsys.readouterr().err


def test_table1_does_without_what_only_the_arm_needs():
    code = (
        "import sys; from bayes_curiosity_ros import cli\n"
        "try: cli.main(['experiment', 'table1', '--help'])\n"
        "except SystemExit: print('mujoco' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "--timesteps" in done.stdout
    assert done.stderr.strip() == "False"
