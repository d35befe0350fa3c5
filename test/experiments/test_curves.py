"""The arm's curves: resume, rows, films, bad input."""

from __future__ import annotations

import csv
import dataclasses
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from bayes_curiosity_ros import cli
from bayes_curiosity_ros.experiments.curves import films, jobs
from bayes_curiosity_ros.experiments.curves.analysis import curves_of
from bayes_curiosity_ros.experiments.curves.command import (
    all_rows,
    jobs_of,
    prepare,
    progress,
    work_of,
)
from bayes_curiosity_ros.experiments.curves.jobs import Job, Row, Work
from bayes_curiosity_ros.experiments.curves.settings import (
    CurveSettings,
    load_ablations,
    load_curves,
)
from bayes_curiosity_ros.experiments.engine.store import Store
from bayes_curiosity_ros.learning.trainer import Iteration, Trainer
from bayes_curiosity_ros.robot.cameras.camera import CameraError

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "curves.md").read_text()
TINY = """
points: 3
tasks:
  reach:
    timesteps: 450
    parallel: 3
    min_steps: 100
    demonstrations: {count: 60}
    imitation: {epochs: 1}
    embedding: {max_epochs: 1}
    bonuses: {curiosity: {weight: 0.1}, rnd: {weight: 0.1}, vime: {weight: 0.01}, none: }
  visual_reach:
    timesteps: 200
    parallel: 3
    min_steps: 100
    demonstrations: {count: 60}
    imitation: {epochs: 1}
    embedding: {max_epochs: 1}
    bonuses: {curiosity: {weight: 0.1}, rnd: {weight: 0.1}, none: }
"""
VARIANTS = """
curves: tiny.yaml
task: reach
variants:
  curiosity:
  continual: {embedding: continual, continual: {every_episodes: 4, epochs: 1}}
  random: {embedding: random, encoder: {fourier_features: 16}}
  scratch: {bonus: none, pretrained: false}
panels: {all: [curiosity, continual, random, scratch]}
"""


@pytest.fixture
def tiny(tmp_path) -> Path:
    (tmp_path / "ablations.yaml").write_text(VARIANTS)
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


def command(tiny: Path, output: Path, *more: str) -> int:
    words = ["experiment", "curves", "--config", str(tiny), "--output", str(output)]
    return cli.main([*words, "--workers", "1", "--no-videos", *more])


def ready(settings: CurveSettings, output: Path, wanted: list[Job]) -> Work:
    work = work_of(wanted, settings, output)
    for job in wanted:
        work.ground(job.task, job.bonus).make([job.seed], print)
    return work


def untimed(rows: list[Row]) -> list[Row]:
    return [dataclasses.replace(row, seconds=0.0) for row in rows]


def no_gl(*words: object) -> None:
    """In a film's place: rays are quick, and always there."""
    raise CameraError("no OpenGL here")


@pytest.mark.parametrize("bonus", ["curiosity", "rnd", "vime", "none"])
def test_an_interrupted_run_equals_an_unbroken_one(tiny, tmp_path, monkeypatch, bonus):
    job, settings = Job("reach", bonus, 0), load_curves(tiny)
    work = ready(settings, tmp_path, [job])
    whole = work(job)
    assert whole[-1].timesteps >= 450
    assert [row.episodes for row in whole] == sorted({row.episodes for row in whole})

    shutil.rmtree(work.checkpoint(job).parent)
    monkeypatch.setattr(jobs, "CHECKPOINT_S", 0.0)
    iterate = Trainer.iterate

    def cut_short(trainer: Trainer) -> Iteration:
        if trainer.timesteps > 200:
            raise KeyboardInterrupt
        return iterate(trainer)

    monkeypatch.setattr(Trainer, "iterate", cut_short)
    with pytest.raises(KeyboardInterrupt):
        work(job)
    assert 200 < work.progress(job) < 450
    monkeypatch.setattr(Trainer, "iterate", iterate)
    assert untimed(work(job)) == untimed(whole)
    assert untimed(work(job)) == untimed(whole)  # finished, it only says so again


def test_methods_start_from_the_same_policy_and_placements(tiny, tmp_path):
    wanted = [Job("reach", bonus, seed) for bonus in ("curiosity", "none") for seed in (0, 1)]
    work = ready(load_curves(tiny), tmp_path, wanted)
    trainers = {job: work.trainer(job) for job in wanted}
    first = {job: t.algorithm.policy.parameters.clone() for job, t in trainers.items()}
    states = {job: t.task.initial_states(2, t.rng) for job, t in trainers.items()}
    for seed in (0, 1):
        mine, other = Job("reach", "curiosity", seed), Job("reach", "none", seed)
        assert first[mine].equal(first[other])
        np.testing.assert_array_equal(states[mine], states[other])
    assert not first[wanted[0]].equal(first[wanted[1]])
    assert len(list((tmp_path / "prepared").glob("*demonstrations*"))) == 1


def test_tasks_are_prepared_side_by_side_like_one_after_the_other(tiny, tmp_path, capfd):
    tasks = ("reach", "visual_reach")
    wanted = [Job(task, "curiosity", seed) for task in tasks for seed in (0, 1)]
    settings = load_curves(tiny)
    one_by_one = ready(settings, tmp_path / "one", wanted)
    together = work_of(wanted, settings, tmp_path / "two")
    prepare(wanted, together, workers=2)
    assert capfd.readouterr().err.count("policy of seed") == 4
    for job in wanted:
        grounds = [work.ground(job.task, job.bonus) for work in (together, one_by_one)]
        encoders = [ground.trained_encoder().state_dict() for ground in grounds]
        policies = [ground.learner(job.seed).policy.state_dict() for ground in grounds]
        torch.testing.assert_close(*encoders, rtol=0, atol=0)
        torch.testing.assert_close(*policies, rtol=0, atol=0)

    prepare(wanted, together, workers=2)
    assert capfd.readouterr().err == ""


def test_visual_runs_see_through_one_encoder(tiny, tmp_path, monkeypatch):
    wanted = [Job("visual_reach", bonus, 0) for bonus in ("curiosity", "rnd", "none")]
    work = ready(load_curves(tiny), tmp_path, wanted)
    for job in wanted:
        rows = work(job)
        assert rows[-1].timesteps >= 200
        assert (rows[0].curiosity != 0) == (job.bonus != "none")
    assert len(list((tmp_path / "prepared").glob("*embedding*"))) == 1
    monkeypatch.setattr(films, "film", no_gl)
    monkeypatch.setattr(films, "EPISODES", 1)
    ground = work.ground("visual_reach", "rnd")
    films.write_film(films.trained(wanted[1], work), ground.arm, tmp_path / "film.gif")
    assert Image.open(tmp_path / "film.gif").n_frames > 3


def test_ray_gives_the_same_rows(tiny, tmp_path):
    words = ["--task", "reach", "--bonus", "rnd", "--seeds", "0-1", "--no-plots"]
    assert command(tiny, tmp_path / "here", *words) == 0
    assert command(tiny, tmp_path / "ray", *words, "--cluster") == 0
    here, ray = (
        sorted(untimed(all_rows(tmp_path / name)), key=lambda row: row.job)
        for name in ("here", "ray")
    )
    assert here == ray
    assert {row.seed for row in here} == {0, 1}


def test_command_writes_rows_table_and_figure_and_resumes(tiny, tmp_path, capsys):
    words = ["--task", "reach", "--bonus", "none", "--seeds", "0", "--timesteps", "200"]
    assert command(tiny, tmp_path / "out", *words) == 0
    path = tmp_path / "out" / "reach" / "none" / "rows.csv"
    with path.open() as file:
        assert next(csv.reader(file)) == [field.name for field in dataclasses.fields(Row)]
    text = path.read_text()
    path.write_text(text + text.splitlines()[-1][:20])  # half a line, as a crash would leave it
    assert command(tiny, tmp_path / "out", *words) == 0
    assert "1 of 1 runs are already there" in capsys.readouterr().err
    assert path.read_text() == text
    assert "| reach | none |" in (tmp_path / "out" / "table.md").read_text()
    assert (tmp_path / "out" / "curves.png").stat().st_size > 10_000


def test_ablations_vary_one_method(tiny, tmp_path):
    settings = load_ablations(tiny.parent / "ablations.yaml")
    assert settings.methods["reach"]["random"].options == {"weight": 0.1}
    assert settings.methods["reach"]["random"].encoder == {"fourier_features": 16}
    assert (
        settings.methods["reach"]["curiosity"] == load_curves(tiny).methods["reach"]["curiosity"]
    )
    wanted = jobs_of(settings, ["reach"], list(settings.methods["reach"]), [0])
    work = ready(settings, tmp_path, wanted)
    kinds = {job.bonus: type(work.trainer(job).bonus).__name__ for job in wanted}
    assert kinds == {
        "curiosity": "Curiosity",
        "continual": "ContinualCuriosity",
        "random": "Curiosity",
        "scratch": "NoBonus",
    }
    rows = work(Job("reach", "continual", 0))
    assert rows[-1].episodes > 4  # so its embedding was learnt anew
    fresh, imitated = (work.trainer(Job("reach", n, 0)) for n in ("scratch", "curiosity"))
    assert not fresh.algorithm.policy.parameters.equal(imitated.algorithm.policy.parameters)


def test_shipped_settings_are_whole():
    settings = load_curves(ROOT / "config/experiments" / "curves.yaml")
    assert [*settings.tasks] == ["reach", "grasp", "visual_reach", "visual_grasp"]
    for task in settings.tasks:
        methods = {"curiosity", "rnd", "none"} | ({"vime"} if "visual" not in task else set())
        assert set(settings.methods[task]) == methods
        assert settings.tasks[task].demonstrations.count == 8000
    work_of(jobs_of(settings, [*settings.tasks], ["curiosity", "rnd"], [0]), settings, Path())
    ablations = load_ablations(ROOT / "config/experiments" / "ablations.yaml")
    base = settings.methods["grasp"]["curiosity"]
    assert ablations.methods["grasp"]["curiosity"] == base
    weights = [m.options.get("weight", 1.0) for m in ablations.methods["grasp"].values()]
    assert max(weights) / min(weights) >= 100


@pytest.mark.parametrize("line", re.findall(r"bayes-curiosity ([a-z][^#`\n…]*)", DOCS))
def test_commands_in_the_docs_are_understood(line):
    words = line.split()
    assert cli.build_parser(words[0]).parse_args(words).command == words[0]


def test_an_unknown_option_is_not_understood(capsys):
    with pytest.raises(SystemExit):
        cli.build_parser("experiment").parse_args(["experiment", "curves", "--colour", "red"])
    assert "--colour" in capsys.readouterr().err


def test_table1_does_without_what_only_the_arm_needs():
    code = (
        "import sys; from bayes_curiosity_ros.cli import build_parser as b; "
        "b('experiment').parse_args(['experiment', 'table1']); print('mujoco' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_columns_in_the_docs_are_the_rows():
    columns = {field.name for field in dataclasses.fields(Row)}
    table = DOCS.split("| column | what |")[1].split("\n\n")[0]
    named = {name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line)}
    assert named <= columns
    assert columns - named == {"task", "bonus", "seed", "timesteps", "episodes"}


def test_film_of_the_best_policy(tiny, tmp_path, monkeypatch):
    wanted = [Job("reach", bonus, 0) for bonus in ("rnd", "none")]
    work = ready(load_curves(tiny), tmp_path, wanted)
    rows = {job: work(job) for job in wanted}
    best = [dataclasses.replace(row, successes_per_timestep_100=1.0) for row in rows[wanted[1]]]
    curves = curves_of([*rows[wanted[0]], *best], 100)
    assert films.best_run(curves, work, "reach") == wanted[1]
    monkeypatch.setattr(films, "film", no_gl)
    monkeypatch.setattr(films, "EPISODES", 1)
    (path,) = films.film_best(curves, work)
    assert Image.open(path).n_frames > 3
    assert path.stat().st_size <= films.MAX_BYTES
    work.checkpoint(wanted[1]).unlink()
    assert films.best_run(curves, work, "reach") == wanted[0]


def test_progress_counts_steps_of_all_jobs(tiny, tmp_path, capsys):
    wanted = [Job("reach", "none", seed) for seed in (0, 1)]
    work = work_of(wanted, load_curves(tiny), tmp_path)
    for job, steps in zip(wanted, ("450", "225"), strict=True):
        path = work.checkpoint(job).with_suffix(".steps")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(steps)
    with progress(wanted, work):
        pass
    assert "75%" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--task", "dance"], "unknown task 'dance'; choose one of: reach, visual_reach"),
        (["--bonus", "icm"], "unknown bonus 'icm'"),
        (["--task", "visual_reach", "--bonus", "vime"], "unknown bonus 'vime'"),
        (["--seeds", "4-0"], "names no seed"),
        (["--timesteps", "0"], "timesteps = 0"),
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
        ("  reach:", "  dance:", "unknown task 'dance'"),
        ("weight: 0.1}, rnd", "wait: 0.1}, rnd", "wait"),
        ("none: ", "icm: ", "unknown bonus 'icm'"),
        ("min_steps: 100", "min_steps: 0", "min_steps = 0"),
        ("parallel: 3", "paralel: 3", "paralel"),
        ("epochs: 1}", "epochs: none}", "epochs = 'none'; expected int"),
        ("points: 3", "points: 0", "points = 0"),
        ("points: 3\n", "", "points"),
    ],
)
def test_bad_settings_file(tiny, tmp_path, capsys, old, new, message):
    tiny.write_text(TINY.replace(old, new, 1))
    assert command(tiny, tmp_path / "out", "--task", "reach") == 2
    assert message in capsys.readouterr().err


def test_an_encoder_of_its_own_is_refused_on_a_visual_task(tiny, tmp_path, capsys):
    own = "{curiosity: {weight: 0.1, embedding: random}, rnd: {weight: 0.1}, none: }"
    tiny.write_text(TINY.replace("{curiosity: {weight: 0.1}, rnd: {weight: 0.1}, none: }", own))
    assert command(tiny, tmp_path / "out", "--task", "visual_reach") == 2
    assert "through the same one" in capsys.readouterr().err


def test_changed_settings_are_refused_for_what_they_change(tiny, tmp_path, capsys):
    settings = load_curves(tiny)
    work = work_of([Job("reach", "rnd", 0)], settings, tmp_path / "out")
    Store(work.cell_folder("reach", "rnd"), work.cells["reach", "rnd"], Row)
    tiny.write_text(TINY.replace("rnd: {weight: 0.1}", "rnd: {weight: 0.2}", 1))
    assert command(tiny, tmp_path / "out", "--task", "reach", "--bonus", "rnd") == 2
    assert f"{Path('reach') / 'rnd'} holds results of other settings" in capsys.readouterr().err


def test_unwritable_folder(tiny, tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert command(tiny, tmp_path / "file" / "out", "--task", "reach") == 2
    assert "cannot write" in capsys.readouterr().err
