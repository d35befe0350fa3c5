"""Bags know which steps a person drove, and what they asked for there."""

import array
import json

import numpy as np
import pytest

from bayes_curiosity_interfaces.msg import ArmState, EpisodeSummary
from bayes_curiosity_ros.bags.embed import gather
from bayes_curiosity_ros.bags.episode import read_episodes
from bayes_curiosity_ros.bags.exports.lerobot_frames import INTERVENTION, frames
from bayes_curiosity_ros.bags.exports.registry import ExportSource, export
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.cli import main
from bayes_curiosity_ros.learning.episode_file import load_episodes
from bayes_curiosity_ros.tasks.registry import make_task
from support.pretended import JOINTS, Run, write_bag, write_records

DRIVEN = (1, 2)  # steps at which the person acted, in every episode
ASKED, GRIPPER = 0.0125, 0.75


class DrivenRun(Run):
    """A run in which a person took two steps of every episode."""

    def messages(self):
        for name, message in super().messages():
            if isinstance(message, EpisodeSummary):
                message.operator_steps = len(DRIVEN)
            elif hasattr(message, "actor") and message.step - 1 in DRIVEN:
                message.actor = ArmState.OPERATOR
                if isinstance(message, ArmState):
                    message.requested_deltas = array.array("d", [ASKED] * JOINTS)
                    message.requested_gripper = GRIPPER
            yield name, message


class JudgedRun(Run):
    """A run whose episodes end in three ways."""

    OUTCOMES = (EpisodeSummary.SUCCESS, EpisodeSummary.FAILURE, EpisodeSummary.TIME_LIMIT)

    def messages(self):
        for name, message in super().messages():
            if isinstance(message, EpisodeSummary):
                message.outcome = self.OUTCOMES[message.episode]
            yield name, message


@pytest.fixture
def bag(tmp_path):
    run, _ = write_bag(tmp_path / "bag", DrivenRun(episodes=2))
    return tmp_path / "bag", run


def test_an_episode_has_what_whoever_acted_asked_for(bag):
    path, run = bag
    for episode in read_episodes(BagReader(path)):
        assert np.flatnonzero(episode.driven).tolist() == list(DRIVEN)
        expected = run.actions[episode.id].copy()
        expected[list(DRIVEN)] = ASKED
        np.testing.assert_array_equal(episode.actions[:-1], expected)
        np.testing.assert_array_equal(episode.gripper[:-1][list(DRIVEN)], GRIPPER)
        assert np.isnan(episode.gripper[-1])
        assert not episode.faults


def test_a_step_of_a_person_without_an_arm_state_has_no_action(tmp_path):
    """The policy's, which was not carried out, is not taken for it."""
    run = DrivenRun(episodes=1)
    _, records = write_bag(tmp_path / "all", run)
    write_records(tmp_path / "some", [r for r in records if r.topic != "/arm/state"])
    (episode,) = read_episodes(BagReader(tmp_path / "some"))
    assert np.flatnonzero(np.isnan(episode.actions[:-1, 0])).tolist() == list(DRIVEN)


def test_the_embedding_learns_from_what_the_person_did(bag):
    _, actions = gather([str(bag[0])])
    assert (np.abs(actions - [*[ASKED] * JOINTS, GRIPPER]) < 1e-12).all(axis=1).sum() == 4


def test_a_lerobot_frame_says_whether_a_person_intervened(bag):
    episode = next(read_episodes(BagReader(bag[0])))
    columns = frames(episode, 10, 0, 0)
    assert columns[INTERVENTION].dtype == bool
    assert np.flatnonzero(columns[INTERVENTION]).tolist() == list(DRIVEN)
    np.testing.assert_allclose(columns["action"][1, :JOINTS], ASKED, rtol=1e-6)


def test_exported_arrays_have_it_too(bag, tmp_path):
    reader = BagReader(bag[0])
    done = export("npz", tmp_path / "npz", ExportSource(read_episodes(reader), reader.about))
    with np.load(done.path / "episode_000000.npz") as arrays:
        assert np.flatnonzero(arrays["driven"]).tolist() == list(DRIVEN)


def test_a_bag_says_how_many_steps_a_person_drove(bag, tmp_path, capsys):
    main(["bag", "info", str(bag[0])])
    assert "a person drove 4 steps" in capsys.readouterr().out
    write_bag(tmp_path / "plain")
    main(["bag", "info", str(tmp_path / "plain")])
    assert "a person drove" not in capsys.readouterr().out


def test_a_bag_is_remembered_as_whoever_acted_acted(bag, tmp_path, capsys):
    path, run = bag
    output = tmp_path / "shown.npz"
    words = ["remember", "reach", "--bag", str(path), "--output", str(output), "--driven-only"]
    assert main(words) == 0
    assert "2 episodes" in capsys.readouterr().out
    task = make_task("reach", threads=1)
    episodes = load_episodes(output, task)
    for index, episode in enumerate(read_episodes(BagReader(path))):
        expected = run.actions[episode.id].copy()
        expected[list(DRIVEN)] = ASKED
        length = episodes.lengths[index]
        asked, _ = task.commands(episodes.actions[index, :length])
        np.testing.assert_allclose(asked, expected.clip(-task.max_delta_rad, task.max_delta_rad))
    assert not episodes.terminated.any()  # they ended by the clock


def test_a_lerobot_dataset_is_remembered_as_the_bag_that_it_came_from(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    write_bag(tmp_path / "bag", JudgedRun(episodes=3, steps=6))
    words = ["bag", "export", str(tmp_path / "bag"), "--format", "lerobot", "--fps", "10"]
    assert main([*words, "--output", str(tmp_path / "set")]) == 0
    task, found = make_task("reach", threads=1), []
    for name in ("bag", "set"):
        output = tmp_path / f"{name}.npz"
        words = ["remember", "reach", "--bag", str(tmp_path / name), "--output", str(output)]
        assert main(words) == 0
        found.append(load_episodes(output, task))
    bag, dataset = found
    np.testing.assert_array_equal(dataset.lengths, bag.lengths - [0, 0, 1])
    np.testing.assert_array_equal(dataset.succeeded, [True, False, False])
    np.testing.assert_array_equal(dataset.terminated, bag.terminated)
    for index, length in enumerate(dataset.lengths):
        for name in ("observations", "actions"):
            ours, theirs = (getattr(each, name)[index, :length] for each in (dataset, bag))
            np.testing.assert_allclose(ours, theirs, atol=1e-6)
    paid = dataset.rewards[np.arange(3), dataset.lengths - 1]
    np.testing.assert_array_equal(paid, [task.marked_reward(True), task.marked_reward(False), 0])


def test_a_dataset_of_somebody_else_is_refused(tmp_path, capsys):
    (tmp_path / "meta").mkdir()
    info = {"codebase_version": "v2.1", "features": {"action": {}}}
    (tmp_path / "meta" / "info.json").write_text(json.dumps(info))
    assert main(["remember", "reach", "--bag", str(tmp_path)]) == 2
    assert "only those of `bag export --format lerobot`" in capsys.readouterr().err


def test_a_bag_in_which_nobody_acted_has_no_corrections(tmp_path, capsys):
    write_bag(tmp_path / "bag", Run(episodes=1))
    words = ["remember", "reach", "--bag", str(tmp_path / "bag"), "--driven-only"]
    assert main(words) == 2
    assert "no whole episode with actions to remember" in capsys.readouterr().err
