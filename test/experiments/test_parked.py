"""`bayes-curiosity explore`: its verdict, its figure and film, and a short run for real."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from bayes_curiosity_ros import cli
from bayes_curiosity_ros.bringup.table import nodes
from bayes_curiosity_ros.curiosity.curiosity import preset_config
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.experiments.engine.store import read_rows
from bayes_curiosity_ros.experiments.parked import film
from bayes_curiosity_ros.experiments.parked import settings as parked_settings
from bayes_curiosity_ros.experiments.parked.command import begin_again
from bayes_curiosity_ros.experiments.parked.contrast import first_trainer, run_in_process
from bayes_curiosity_ros.experiments.parked.display import Display
from bayes_curiosity_ros.experiments.parked.film import side_by_side, write_film
from bayes_curiosity_ros.experiments.parked.plots import Seen, plot, success_band
from bayes_curiosity_ros.experiments.parked.settings import METHODS, comparison, run_over_ros
from bayes_curiosity_ros.experiments.parked.verdict import summary, verdict
from bayes_curiosity_ros.learning.episode_log import EpisodeLog, EpisodeRow, read_log
from bayes_curiosity_ros.learning.intervals import Share, at_the_end
from bayes_curiosity_ros.learning.trail import read_trail
from bayes_curiosity_ros.resources import find
from bayes_curiosity_ros.tasks.arm.plan import hands_of

# The command's own settings, with little to prepare and to learn from.
SMALL = """
extends: {base}
every_task:
  demonstrations: {{count: 100}}
  embedding: {{max_epochs: 1}}
  learners: {{trpo: {{min_steps: 120}}}}
"""


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Put small settings in the place of the command's own."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL.format(base=find("config/experiments", "exploration.yaml")))
    monkeypatch.setattr(parked_settings, "CONFIG", str(path))
    monkeypatch.setattr(film, "EPISODES", 1)


def episodes(count: int, successes_from: float) -> list[EpisodeRow]:
    """Made-up episodes of 10 steps; from a share of the run on, all of them succeed."""
    return [
        EpisodeRow(
            number,
            10 * number,
            10,
            "success" if number > successes_from * count else "time_limit",
            0.0,
            0.1,
            -4.0,
            5.0 * number,
        )
        for number in range(1, count + 1)
    ]


def test_wilsons_interval():
    none, half = Share(0, 100).interval, Share(50, 100).interval
    assert (none.value, none.lower, none.upper) == pytest.approx((0.0, 0.0, 0.0370), abs=1e-4)
    assert (half.value, half.lower, half.upper) == pytest.approx((0.5, 0.4038, 0.5962), abs=1e-4)
    assert Share(0, 0).interval.upper == 1.0


def test_the_end_is_the_last_tenth_of_the_episodes():
    assert at_the_end(episodes(200, 0.95)) == Share(10, 20)
    assert at_the_end(episodes(3, 0.0)) == Share(1, 1)


@pytest.mark.parametrize(
    ("placebo", "said", "named"),
    [
        (Share(3, 100), "Yes: 80%", "0% without it and 3% with the placebo"),
        (Share(75, 100), "Undecided: 80%", "75% with the placebo; the intervals meet"),
        (Share(99, 100), "No: 80%", "but 99% with the placebo; the intervals do not meet"),
    ],
)
def test_the_verdict_says_what_the_intervals_say(placebo, said, named):
    ends = {"curiosity": Share(80, 100), "none": Share(0, 100), "placebo": placebo}
    text = verdict(ends)
    assert text.startswith(said)
    assert named in text
    assert f"Does curiosity carry? {said}" in summary(ends)
    assert "80 of 100 episodes" in summary(ends)


def test_nothing_found_by_anybody_is_undecided():
    assert verdict(dict.fromkeys(METHODS, Share(0, 100))).startswith("Undecided:")


def test_hands_are_where_the_task_says(tmp_path):
    task = comparison(tmp_path, 0, 100).make_task()
    states = task.initial_states(5, np.random.default_rng(0))
    hands = hands_of(task, task.observe(states))
    np.testing.assert_allclose(hands, task.stepper.hands(states), atol=1e-12)


def test_the_figure_of_made_up_runs(tmp_path):
    task = comparison(tmp_path, 0, 100).make_task()
    rng = np.random.default_rng(0)
    runs = {
        name: Seen(episodes(300, share), rng.normal(0.4, 0.1, (1000, 2)))
        for name, share in zip(METHODS, (0.5, 1.0, 0.99), strict=True)
    }
    times, (lower, value, upper) = success_band(runs["curiosity"].episodes)
    assert times[-1] == 3000
    assert (value[0], value[-1]) == (0.0, 1.0)
    assert (lower <= value).all()
    assert (value <= upper).all()
    plot(runs, task, tmp_path / "figure.png")
    assert Image.open(tmp_path / "figure.png").size[0] > 1000


def test_clips_stand_side_by_side_and_the_shorter_one_waits():
    clips = [[np.full((48, 64, 3), shade, np.uint8)] * count for shade, count in ((9, 2), (99, 5))]
    frames = list(side_by_side(clips, ("before", "after")))
    assert len(frames) > 5
    assert all(frame.shape == frames[0].shape for frame in frames)
    assert (frames[-1][-1, 0] == 9).all()
    assert (frames[-1][-1, -1] == 99).all()


def test_a_film_of_the_first_policy(small, tmp_path):
    runs = comparison(tmp_path, 0, 100)
    task = runs.make_task()
    before = first_trainer(runs, task)
    write_film(before, before, task, tmp_path / "film.gif")
    assert Image.open(tmp_path / "film.gif").n_frames > 3


def test_a_line_says_where_a_run_stands(tmp_path):
    path = tmp_path / "log.csv"
    display = Display({"curiosity": path}, 2000)
    assert display.line("curiosity") == ""
    log = EpisodeLog(path)
    for row in episodes(100, 0.75):
        log.add(row)
    line = display.line("curiosity")
    assert "curiosity  episode   100  step   1000/2000  success  25%  learnt   500 nats" in line
    with path.open("a") as file:
        file.write("101,1010")  # half a line
    assert display.line("curiosity") == line


def test_nodes_and_runs_in_process_have_the_experiments_settings(tmp_path):
    runs = comparison(tmp_path, 3, 1000)
    options = yaml.safe_load(find("config/experiments", "exploration.yaml").read_text())
    method = options["every_task"]["methods"]["curiosity"]
    given = runs.parameters()["/**/curiosity"]["ros__parameters"]["curiosity"]
    assert given["weight"] == method["weight"] == runs.curiosity("placebo").weight
    assert runs.trpo.max_kl == 0.05
    learner = {spec.name: spec for spec in nodes(runs.bringup(resume=False))}["learner"]
    assert learner.parameters["dynamics"] == "kinematic"
    assert learner.files[-1].endswith("parameters.yaml")


def test_up_has_the_experiments_settings_for_the_parked_arm(tmp_path):
    runs = comparison(tmp_path, 0, 1000)
    shipped = yaml.safe_load(find("config/bringup", "parked_reach.yaml").read_text())
    learner = shipped["/**/learner"]["ros__parameters"]
    assert learner["iteration_steps"] == runs.cell.learning.min_steps
    assert {**runs.cell.learning.options, **learner["trpo"]} == runs.cell.learning.options
    curiosity = shipped["/**/curiosity"]["ros__parameters"]["curiosity"]
    assert preset_config(curiosity) == runs.curiosity("curiosity")


@pytest.mark.parametrize("which", ["options", "shown"])
def test_an_option_that_nodes_do_not_know_is_refused(tmp_path, which):
    runs = comparison(tmp_path, 0, 1000)
    cell = dataclasses.replace(runs.cell, **{which: {"horizon": 80}})
    with pytest.raises(ConfigError, match="horizon"):
        dataclasses.replace(runs, cell=cell)


def test_a_run_that_begins_again_keeps_only_what_was_prepared(small, tmp_path):
    runs = comparison(tmp_path / "explore", 0, 100)
    kept = [runs.files.model, runs.files.demonstrations]
    gone = [runs.checkpoint, *map(runs.log_of, METHODS)]
    for path in (*kept, *gone):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    begin_again(runs)
    assert [path.exists() for path in (*kept, *gone)] == [True] * 2 + [False] * 4


def explore(folder: Path, *words: str) -> int:
    return cli.main(["explore", "--output", str(folder), *words])


def outcomes(log: Path) -> list[tuple]:
    rows = read_log(log)
    return [(row.steps, row.outcome, row.extrinsic_return, row.intrinsic_return) for row in rows]


def test_a_short_run_over_ros_is_that_in_process_bit_for_bit_and_goes_on(
    small, background, tmp_path
):
    folder = tmp_path / "explore"
    assert explore(folder, "--timesteps", "200") == 0
    assert "Does curiosity carry?" in (folder / "verdict.txt").read_text()
    assert explore(folder, "--timesteps", "200") == 2  # there is a run already
    assert explore(folder, "--timesteps", "400", "--resume") == 0
    made = {path.name for path in folder.iterdir()}
    assert {"explore.png", "explore.gif", "rows.csv", "verdict.txt"} <= made
    rows = read_rows(folder / "rows.csv")
    last = {row.method: row.timesteps for row in rows}
    assert last.keys() == set(METHODS)
    assert min(last.values()) >= 400

    alone = dataclasses.replace(comparison(folder, 0, 400), folder=tmp_path / "alone")
    alone.folder.mkdir()
    for path in (alone.files.demonstrations, alone.files.model):
        path.write_bytes((folder / path.name).read_bytes())
    run_in_process(alone, "curiosity")
    for name in ("episodes.csv", "observations.f32"):
        assert (alone.folder_of("curiosity") / name).exists()
    ours, theirs = (each / "curiosity" for each in (folder, alone.folder))
    assert outcomes(ours / "episodes.csv") == outcomes(theirs / "episodes.csv")
    logs = [read_log(each / "episodes.csv") for each in (ours, theirs)]
    resumed, unbroken = ([row.information for row in log] for log in logs)
    assert resumed == pytest.approx(unbroken)
    trails = [read_trail(each / "observations.f32", 9) for each in (ours, theirs)]
    np.testing.assert_array_equal(*trails)
    firsts = [read_trail(folder / name / "observations.f32", 9)[0] for name in METHODS]
    assert all((first == firsts[0]).all() for first in firsts)  # the same initial state


def test_a_bonus_that_lives_in_the_learner_has_its_weight_there(tmp_path):
    run = run_over_ros("rnd", tmp_path, 3, 1000)
    options = yaml.safe_load(find("config/experiments", "exploration.yaml").read_text())
    weight = options["every_task"]["methods"]["rnd"]["weight"]
    assert run.learner("rnd").bonus_weight == weight
    (parameters,) = run.parameters().values()
    assert parameters["ros__parameters"]["bonus_weight"] == weight
    assert run.folder_of("rnd") == tmp_path / "rnd" / "seed_3"
    assert "curiosity" not in {spec.name for spec in nodes(run.bringup(resume=False))}


@pytest.mark.parametrize("method", ["placebo", "imitation", "vime", "price", "none_of_them"])
def test_a_method_that_nodes_do_not_have_is_one_line_before_any_work(tmp_path, capsys, method):
    words = ["experiment", "parked", "--output", str(tmp_path / "out"), "--method", method]
    assert cli.main(words) == 2
    error = capsys.readouterr().err
    assert method in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_curve_over_ros_is_that_in_process_bit_for_bit(small, background, tmp_path, capfd):
    words = ["experiment", "parked", "--output", str(tmp_path), "--timesteps", "200", "--no-plots"]
    words += ["--seeds", "2", "--method", "rnd"]
    assert cli.main(words) == 0
    assert "| arm_parked_reach | rnd |" in (tmp_path / "table.md").read_text()
    run = run_over_ros("rnd", tmp_path, 2, 200)
    over_ros = outcomes(run.log_of("rnd"))
    alone = dataclasses.replace(run, folder=tmp_path / "alone")
    run_in_process(alone, "rnd")
    assert over_ros == outcomes(alone.log_of("rnd"))
    capfd.readouterr()
    assert cli.main(words) == 0
    assert "run 1" not in capfd.readouterr().out  # it is there already
