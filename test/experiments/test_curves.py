"""The arm's curves: the command, films, what the docs say."""

from __future__ import annotations

import csv
import dataclasses
import re

import pytest
from PIL import Image

from bayes_curiosity_ros import cli
from bayes_curiosity_ros.experiments.curves import films
from bayes_curiosity_ros.experiments.curves.analysis import curves_of
from bayes_curiosity_ros.experiments.engine.jobs import Job, Row
from bayes_curiosity_ros.experiments.engine.settings import Selection, load_settings
from bayes_curiosity_ros.robot.cameras.camera import CameraError
from support.experiments import ROOT, command, parsed, prepared, stored

DOCS = (ROOT / "docs" / "curves.md").read_text()


@pytest.fixture
def rays(monkeypatch):
    """Films by rays, which are quick and always there, of one episode."""

    def no_gl(*words: object) -> None:
        raise CameraError("no OpenGL here")

    monkeypatch.setattr(films, "film", no_gl)
    monkeypatch.setattr(films, "EPISODES", 1)


def test_visual_runs_see_through_one_encoder(curves, tmp_path, rays):
    methods = ("curiosity", "rnd", "none")
    wanted = [Job("visual_reach", "trpo", method, 0) for method in methods]
    work = prepared(load_settings(curves), tmp_path, wanted)
    for job in wanted:
        rows = work(job)
        assert rows[-1].timesteps >= 250
        assert (rows[0].intrinsic_reward != 0) == (job.method != "none")
    assert len(list((tmp_path / "prepared").glob("*_model_*"))) == 1
    arm = work.ground(wanted[1].cell).simulated
    films.write_film(films.trained(wanted[1], work), arm, tmp_path / "film.gif")
    assert Image.open(tmp_path / "film.gif").n_frames > 3


def test_command_writes_rows_table_figure_and_film_and_resumes(curves, tmp_path, capsys, rays):
    out = tmp_path / "out"
    words = ["experiment", "curves", "--config", str(curves), "--output", str(out)]
    words += ["--task", "reach", "--bonus", "none", "--seeds", "0", "--timesteps", "200"]
    assert cli.main([*words, "--workers", "1"]) == 0
    path = out / "rows.csv"
    with path.open() as file:
        columns = [field.name for field in dataclasses.fields(Row)]
        assert next(csv.reader(file)) == [*columns, "crc32"]
    text = path.read_text()
    path.write_text(text + text.splitlines()[-1][:20])  # half a line, as a crash would leave it
    assert cli.main([*words, "--workers", "1"]) == 0
    assert "1 of 1 runs are already there" in capsys.readouterr().err
    assert path.read_text() == text
    assert "| reach | none |" in (out / "table.md").read_text()
    assert (out / "curves.png").stat().st_size > 10_000
    assert Image.open(out / "reach.gif").n_frames > 3


def test_ablations_report_on_their_own_methods_in_a_copy_of_the_curves(ablations, tmp_path):
    out, mine = tmp_path / "out", ("curiosity", "scratch")
    own, theirs = load_settings(ablations), load_settings(ablations.with_name("curves.yaml"))
    theirs = theirs.only(Selection(("reach",), methods=("rnd", "curiosity")))
    stored(theirs.with_timesteps(200), out, [0])
    stored(own.only(Selection(methods=("scratch",))).with_timesteps(200), out, [0])
    words = ("--variant", *mine, "--timesteps", "200", "--seeds", "0")
    assert command("ablations", ablations, out, *words) == 0
    text = (out / "table.md").read_text()
    assert all(f"| reach | {method} |" in text for method in mine)
    assert "rnd" not in text
    assert "### Claims" not in text


def test_film_of_the_best_policy(curves, tmp_path, rays):
    wanted = [Job("reach", "trpo", method, 0) for method in ("rnd", "none")]
    work = prepared(load_settings(curves), tmp_path, wanted)
    rows = {job: work(job) for job in wanted}
    best = [dataclasses.replace(row, successes_per_timestep_100=1.0) for row in rows[wanted[1]]]
    found = curves_of([*rows[wanted[0]], *best], 100)
    assert films.best_run(found, work, "reach") == wanted[1]
    (path,) = films.film_best(found, work)
    assert Image.open(path).n_frames > 3
    assert path.stat().st_size <= films.MAX_BYTES
    work.forget(wanted[1])
    assert films.best_run(found, work, "reach") == wanted[0]


@pytest.mark.parametrize("line", re.findall(r"bayes-curiosity ([a-z][^#`\n…]*)", DOCS))
def test_commands_in_the_docs_are_understood(line):
    words = line.split()
    assert parsed(words).command == words[0]


def test_columns_in_the_docs_are_the_rows():
    columns = {field.name for field in dataclasses.fields(Row)}
    table = DOCS.split("Every experiment has these columns")[1].split("\n\nEpisodes that")[0]
    assert set(re.findall(r"`(\w+)`", table)) == columns


def test_a_method_that_a_task_has_not_is_refused(curves, tmp_path, capsys):
    words = ("--task", "visual_reach", "--method", "vime")
    assert command("curves", curves, tmp_path / "out", *words) == 2
    assert "unknown method 'vime'" in capsys.readouterr().err
