"""Bags as raw material: info, export, embedding, scores, the posterior, the arm again."""

import array
import json

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from rosbags.rosbag2 import Reader

from bayes_curiosity_interfaces.msg import Action, ArmState, EpisodeSummary, Observation
from bayes_curiosity_ros.bags.episode import read_episodes
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.exports.registry import EXPORTS, Exported, ExportSource, export
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.bags.redrive import Redriver, recorded_dynamics
from bayes_curiosity_ros.bags.storage import Record
from bayes_curiosity_ros.cli import main
from bayes_curiosity_ros.curiosity.model_file import load_model, model_id
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.tasks.registry import make_task
from support.pretended import START_NS, STEP_NS, Run, begin_bag, write_bag


def test_info_and_episodes_are_told(tmp_path, capsys):
    write_bag(tmp_path / "bag")
    assert main(["bag", "info", str(tmp_path / "bag")]) == 0
    told = capsys.readouterr().out
    assert "task: reach" in told
    assert "/observation" in told
    assert main(["bag", "episodes", str(tmp_path / "bag"), "--episodes", "1-2"]) == 0
    told = capsys.readouterr().out
    assert "2 episodes" in told
    assert "time_limit" in told


def test_losses_are_told(tmp_path, capsys):
    write_bag(tmp_path / "bag", close=False)
    main(["bag", "info", str(tmp_path / "bag")])
    assert "lost: bag has no metadata.yaml" in capsys.readouterr().out


def test_a_broken_bag_is_repaired(tmp_path, capsys):
    _, records = write_bag(tmp_path / "bag", close=False)
    assert main(["bag", "repair", str(tmp_path / "bag"), str(tmp_path / "whole")]) == 0
    with Reader(tmp_path / "whole") as reader:
        assert [data for *_, data in reader.messages()] == [record.data for record in records]
    assert BagReader(tmp_path / "whole").about["repaired_from"] == "bag"


def test_no_bag_is_one_line(tmp_path, capsys):
    assert main(["bag", "info", str(tmp_path / "absent")]) == 2
    assert "does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("name", EXPORTS.names())
def test_every_format_exports_a_crashed_recording(tmp_path, name):
    for package in EXPORTS[name].needs:
        pytest.importorskip(package)
    write_bag(tmp_path / "bag", Run(episodes=2), close=False)
    reader = BagReader(tmp_path / "bag")
    assert reader.about["task"] == "reach"
    source = ExportSource(read_episodes(reader), reader.about, fps=10)
    done = export(name, tmp_path / "out", source)
    assert done.episodes == 2
    assert done.left_out == ()
    assert done.path.exists()


@pytest.fixture
def formats(monkeypatch):
    """The registry; what is added to it goes with the test."""
    EXPORTS.names()
    monkeypatch.setattr(EXPORTS, "_entries", dict(EXPORTS._entries))
    return EXPORTS


def test_a_new_format_is_known_to_the_command(tmp_path, formats, capsys):
    @formats.register("count", output="file with a number")
    def export_count(path, source):
        path.write_text(str(sum(1 for _ in source.episodes)))
        return Exported(path, 0)

    write_bag(tmp_path / "bag")
    words = ["bag", "export", str(tmp_path / "bag"), "--format", "count"]
    assert main([*words, "--output", str(tmp_path / "count")]) == 0
    assert (tmp_path / "count").read_text() == "3"
    with pytest.raises(SystemExit):
        main(["bag", "export", "--help"])
    assert "count: file with a number" in " ".join(capsys.readouterr().out.split())


def test_a_format_whose_package_is_missing_says_what_to_install(tmp_path, formats):
    formats.register("odd", output="nothing", needs=("no_such_package",))(print)
    with pytest.raises(BagError, match="'odd' needs no_such_package: pip install no_such_package"):
        export("odd", tmp_path, ExportSource([], {}))


def test_an_unknown_format_is_refused_with_the_names_there_are(tmp_path):
    with pytest.raises(ConfigError, match=r"unknown export format 'csv'.*npz.*parquet"):
        export("csv", tmp_path, ExportSource([], {}))


def test_npz_holds_the_episode(tmp_path):
    run, _ = write_bag(tmp_path / "bag", Run(episodes=2, images=True))
    main(["bag", "export", str(tmp_path / "bag"), "--output", str(tmp_path / "npz")])
    with np.load(tmp_path / "npz" / "episode_000001.npz", allow_pickle=False) as file:
        np.testing.assert_array_equal(file["vectors"], run.vectors[1])
        np.testing.assert_array_equal(file["color"], run.color[1])
        about = json.loads(str(file["about"]))
    assert (about["task"], about["episode"], about["outcome"]) == ("reach", 1, "time_limit")


def test_parquet_holds_every_step(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    run, _ = write_bag(tmp_path / "bag", Run(episodes=2, images=True))
    words = ["bag", "export", str(tmp_path / "bag"), "--format", "parquet"]
    main([*words, "--output", str(tmp_path / "episodes")])
    table = parquet.read_table(tmp_path / "episodes.parquet")
    assert table.num_rows == 12
    np.testing.assert_array_equal(
        np.stack(table["vectors"].to_numpy()), run.vectors.reshape(-1, 9)
    )
    assert table["color"][7].as_py() == run.color[1, 1].tobytes()
    assert table.schema.metadata[b"task"] == b"reach"


def test_scores_are_the_recorded_ones_and_so_is_the_posterior(tmp_path, capsys):
    run, _ = write_bag(tmp_path / "bag", Run(episodes=4, steps=20))
    words = ["score", "--bag", str(tmp_path / "bag"), "--output", str(tmp_path / "out")]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "84 of 84 recorded rewards equal bit for bit" in told
    assert "posterior of 84 observations: the recorded one, bit for bit" in told
    rows = (tmp_path / "out" / "scores.csv").read_text().splitlines()
    assert len(rows) == 1 + 84
    assert float(rows[1].split(",")[4]) == run.rewards[0, 0]
    assert (tmp_path / "out" / "scores.png").stat().st_size > 1000
    rebuilt = load_model(tmp_path / "out" / "model.safetensors")
    theirs = run.curiosity.regression
    assert rebuilt.curiosity.regression.count == theirs.count
    assert rebuilt.curiosity.regression.log_determinant == theirs.log_determinant
    assert list(rebuilt.episodes) == [(0, 3)]


def test_another_model_is_refused(tmp_path, capsys):
    write_bag(tmp_path / "bag", Run(steps=30))
    embed = ["embed", "--bag", str(tmp_path / "bag"), "--max-epochs", "1"]
    main([*embed, "--output", str(tmp_path / "model")])
    assert main(["score", "--bag", str(tmp_path / "bag"), "--model", str(tmp_path / "model")]) == 2
    assert "was recorded with model" in capsys.readouterr().err


def test_an_embedding_is_learnt_from_bags(tmp_path, capsys):
    for seed, name in enumerate(("first", "second")):
        write_bag(tmp_path / name, Run(episodes=2, steps=30, seed=seed))
    words = ["embed", "--bag", str(tmp_path / "first"), str(tmp_path / "second")]
    assert main([*words, "--embedding-epochs", "2", "--output", str(tmp_path / "model")]) == 0
    assert "120 pairs" in capsys.readouterr().out
    model = load_model(tmp_path / "model")
    assert model.trained
    assert len(model_id(model.curiosity)) == 12


def test_bags_of_different_tasks_are_not_mixed(tmp_path, capsys):
    write_bag(tmp_path / "one", about={"task": "reach"})
    write_bag(tmp_path / "other", about={"task": "grasp"})
    words = ["embed", "--bag", str(tmp_path / "one"), str(tmp_path / "other")]
    assert main([*words, "--output", str(tmp_path / "model")]) == 2
    assert "'reach'" in capsys.readouterr().err


def record_simulation(path, task_name, dynamics="", steps=15, episodes=2):
    """A bag of the simulated arm, moved at random, as its node publishes it."""
    task = make_task(task_name, dynamics=dynamics or None)
    rng = np.random.default_rng(5)
    bag = begin_bag(path, {"task": task_name, "settings": json.dumps({"dynamics": dynamics})})
    time = START_NS

    def write(name, message):
        nonlocal time
        time += STEP_NS
        bag.write(Record(name, time, time, serialize_message(message)))

    world = task.stepper.world
    for episode in range(episodes):
        row = task.initial_states(1, rng)
        for step in range(steps + 1):
            qpos = row[0, task.layout.qpos]
            fingers = qpos[world.gripper_qpos]
            positions = np.concatenate([task.layout.joints(row)[0], fingers])
            state = ArmState(episode=episode, step=step, object_known=True)
            state.positions = array.array("d", positions)
            spot = state.object_pose.position
            spot.x, spot.y, spot.z = task.layout.object_position(row)[0].tolist()
            write("/arm/state", state)
            seen = array.array("d", task.observe(row)[0])
            write("/observation", Observation(episode=episode, step=step, vector=seen))
            if step == steps:
                break
            deltas, grips = task.commands(rng.uniform(-1, 1, (1, task.action_size)))
            action = Action(episode=episode, step=step, gripper=float(grips[0]))
            action.joint_deltas = array.array("d", deltas[0])
            write("/action", action)
            row = task.stepper.advance(row, deltas, grips)
        outcome = EpisodeSummary.TIME_LIMIT
        write("/episode", EpisodeSummary(episode=episode, steps=steps, outcome=outcome))
    bag.close()


@pytest.mark.parametrize(
    ("task", "dynamics"), [("reach", ""), ("grasp", ""), ("parked_reach", "kinematic")]
)
def test_the_simulated_arm_goes_the_same_way_again(tmp_path, task, dynamics, capsys):
    record_simulation(tmp_path / "bag", task, dynamics)
    redriver = Redriver(task, dynamics=dynamics)
    for episode in read_episodes(BagReader(tmp_path / "bag")):
        assert redriver.drive(episode).deviation_rad.max() <= 1e-9
    assert main(["replay", str(tmp_path / "bag"), "--redrive"]) == 0
    assert "2 episodes driven again, 0 not" in capsys.readouterr().out


@pytest.mark.parametrize("settings", ["", "by hand", "[1]", "{}"])
def test_settings_that_name_no_dynamics_leave_the_robots_own(settings):
    assert recorded_dynamics(settings) == ""


def test_what_cannot_be_driven_is_said(tmp_path, capsys):
    write_bag(tmp_path / "bag", Run(episodes=1, steps=2))
    (episode,) = read_episodes(BagReader(tmp_path / "bag"))
    with pytest.raises(ConfigError, match="unknown task of an arm 'pendulum'"):
        Redriver("pendulum")
    assert main(["replay", str(tmp_path / "bag"), "--redrive"]) == 1
    assert "away from the recording" in capsys.readouterr().out
    assert len(episode) == 3


@pytest.mark.parametrize(
    ("task", "words"),
    [("juggle", "unknown task of an arm 'juggle'"), ("", "does not name its task")],
)
def test_a_bag_of_an_unknown_task_is_not_driven(tmp_path, capsys, task, words):
    write_bag(tmp_path / "bag", about={"task": task})
    assert main(["replay", str(tmp_path / "bag"), "--redrive"]) == 2
    assert words in capsys.readouterr().err
