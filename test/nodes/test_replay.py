"""Replay as a process of its own: on the graph again, and every reward bit for bit."""

import numpy as np
import pytest
from rclpy.duration import Duration
from rosgraph_msgs.msg import Clock
from std_msgs.msg import UInt64
from std_srvs.srv import Trigger

from bayes_curiosity_interfaces.msg import Observation
from bayes_curiosity_ros.bags.episode import read_episodes
from bayes_curiosity_ros.bags.player import cues, parse_selection
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.bringup import table as bringup
from bayes_curiosity_ros.bringup.up import command_of
from bayes_curiosity_ros.learning.episode_log import read_log
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS
from bayes_curiosity_ros.nodes.reproduce import Reproduction
from support.graph import (
    Graph,
    parameters,
    until,
    wait_until_recorded,
)
from support.older import write_older_bag
from support.pretended import Run, write_bag
from support.recording import CURIOSITY, RECORDER, await_episodes, ended, frames, vectors
from support.waiting import WAIT_S

REPLAY = "bayes_curiosity_ros.nodes.replay_node"
CLI = "bayes_curiosity_ros.cli"


@pytest.fixture
def run():
    """A run whose rewards are those of a curiosity node with its default parameters."""
    return Run(episodes=3, steps=39, aborted={1})


@pytest.fixture
def recorded(run, tmp_path):
    """A bag of the run."""
    write_bag(tmp_path / "run", run)
    return tmp_path / "run"


def test_the_curiosity_node_reproduces_every_reward(start, recorded):
    start(CURIOSITY)
    check = start(CLI, "replay", str(recorded), "--check")
    output = check.communicate(timeout=2 * WAIT_S)[0]
    assert "3 episodes, 2 updates: 120 of 120 intrinsic rewards reproduced bit for bit" in output
    assert check.returncode == 0
    other = start(CLI, "replay", str(recorded), "--check", "--episodes", "2")
    output = other.communicate(timeout=2 * WAIT_S)[0]
    assert "0 of 40 intrinsic rewards" in output, "episode 2 alone meets another posterior"
    assert other.returncode == 1


def test_a_bag_from_before_runs_is_reproduced_bit_for_bit(start, background, recorded, tmp_path):
    start(CURIOSITY)
    write_older_bag(tmp_path / "then", BagReader(recorded).records())
    reader = BagReader(tmp_path / "then")
    result = Reproduction(background, reader).run(cues(reader, parse_selection("")))
    assert (result.updates, result.compared) == (2, 120)
    assert result.exact


def with_early_summaries(played):
    """As a recorder hears them that was held up: each before its episode's last observations."""
    heard = list(played)
    for cue in [each for each in heard if each.record.topic == "/episode"]:
        heard.remove(cue)
        before = [i for i, each in enumerate(heard) if each.begins_step and each[1] == cue.episode]
        heard.insert(before[-5], cue)
    return heard


def test_a_summary_that_was_heard_early_waits_for_its_observations(start, background, recorded):
    start(CURIOSITY)
    reader = BagReader(recorded)
    played = with_early_summaries(cues(reader, parse_selection("")))
    result = Reproduction(background, reader).run(played)
    assert (result.episodes, result.updates, result.compared) == (3, 2, 120)
    assert result.exact


def test_rewards_of_images_are_reproduced_too(start, background, tmp_path):
    sees = parameters(encoder__vector_size=6, encoder__image_shape="[4,16,16]")
    curiosity = start(CURIOSITY, *sees)
    recorder = start(RECORDER, *parameters(folder=tmp_path, name="run", bag__compression="zstd"))
    graph = Graph(background, {"observation": 2, "episode": 1})
    wait_until_recorded(background)
    shown = [frames(20, seed=episode) for episode in range(3)]
    paid = [graph.episode(i, vectors(20, i)[:, :6], frames=shown[i]) for i in range(3)]
    assert len({reward for rewards in paid for reward in rewards}) == 60
    await_episodes(tmp_path / "run", 3)
    ended(recorder)
    ended(curiosity)
    for episode in read_episodes(BagReader(tmp_path / "run")):
        np.testing.assert_array_equal(episode.color, [f.color for f in shown[episode.id]])
        np.testing.assert_array_equal(episode.depth, [f.depth for f in shown[episode.id]])
    start(CURIOSITY, *sees)
    check = start(CLI, "replay", str(tmp_path / "run"), "--check")
    output = check.communicate(timeout=2 * WAIT_S)[0]
    assert "3 episodes, 3 updates: 60 of 60 intrinsic rewards reproduced bit for bit" in output
    assert check.returncode == 0


def test_another_model_is_not_compared(start, recorded):
    start(CURIOSITY, *parameters(encoder_seed=1))
    check = start(CLI, "replay", str(recorded), "--check")
    output = check.communicate(timeout=2 * WAIT_S)[0]
    assert "the bag was recorded with model_id = " in output
    assert check.returncode == 2


def test_a_bag_is_on_the_graph_again(start, background, run, recorded):
    heard, clock = [], []
    node = background.node
    node.create_subscription(Observation, "observation", heard.append, EPISODE_QOS)
    node.create_subscription(Clock, "/clock", clock.append, EPISODE_QOS)
    words = parameters(bag=str(recorded), rate=0.0, exclude="[action]", paused=True, wait_s=0.0)
    replay = start(REPLAY, *words)
    background.call(Trigger, "replay/step", Trigger.Request(), timeout_s=WAIT_S)
    assert until(lambda: len(heard) == 1, WAIT_S)
    seek = node.create_publisher(UInt64, "replay/seek", 10)
    assert until(lambda: seek.get_subscription_count() == 1, WAIT_S)
    seek.publish(UInt64(data=2))
    assert seek.wait_for_all_acked(Duration(seconds=WAIT_S))
    background.call(Trigger, "replay/resume", Trigger.Request(), timeout_s=WAIT_S)
    output = replay.communicate(timeout=WAIT_S)[0]
    assert replay.returncode == 0, output
    assert until(lambda: len(heard) == 41, WAIT_S)
    assert [(m.episode, m.step) for m in heard[1:]] == [(2, step) for step in range(40)]
    np.testing.assert_array_equal([m.vector for m in heard[1:]], run.vectors[2])
    assert clock


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "bag is empty"),
        ({"bag": "/no/such/bag"}, "does not exist"),
        ({"bag": "BAG", "episodes": "'7-9'"}, "has no episode 7-9; it has 0 … 2"),
        ({"bag": "BAG", "rate": -1.0}, "rate = -1.0"),
    ],
)
def test_what_cannot_be_replayed_is_one_line(start, tmp_path, options, words):
    write_bag(tmp_path / "bag")
    options = {k: str(tmp_path / "bag") if v == "BAG" else v for k, v in options.items()}
    process = start(REPLAY, *parameters(**options))
    output = process.communicate(timeout=WAIT_S)[0]
    assert words in output
    assert process.returncode == 2, output
    assert "Traceback" not in output


def test_a_simulated_run_is_recorded_replayed_and_driven_again(start, background, tmp_path):
    """The whole stack: every reward bit for bit, every joint to 1e-9 rad."""
    options = {"task": "reach", "timesteps": "120", "output": str(tmp_path), "record": "true"}
    specs = {spec.name: spec for spec in bringup.nodes(options)}
    short = {"learner": ["-p", "iteration_steps:=120"]}
    running = {}
    for name in ("recorder", "arm", "curiosity", "learner"):
        if name == "learner":
            wait_until_recorded(background, 2)
        words = command_of(specs[name], "")[3:] + short.get(name, [])
        running[name] = start(specs[name].module, *words)
    output = running["learner"].communicate(timeout=2 * WAIT_S)[0]
    assert running["learner"].returncode == 0, output
    (bag,) = (tmp_path / "bags").iterdir()  # has all: the learner's last act is to wait for it
    assert "0 dropped, 0 lost on the way; complete" in ended(running["recorder"])
    ended(running["curiosity"])

    reader = BagReader(bag)
    episodes = list(read_episodes(reader))
    assert [e.faults for e in episodes] == [()] * len(read_log(tmp_path / "episodes.csv"))
    assert sum(len(episode) - 1 for episode in episodes) >= 120
    assert reader.about["task"] == "reach"
    start(CURIOSITY, *command_of(specs["curiosity"], "")[3:])
    check = start(CLI, "replay", str(bag), "--check").communicate(timeout=2 * WAIT_S)[0]
    rewards = sum(len(episode) for episode in episodes)
    assert f"{rewards} of {rewards} intrinsic rewards reproduced bit for bit" in check
    redrive = start(CLI, "replay", str(bag), "--redrive")
    assert redrive.wait(2 * WAIT_S) == 0, redrive.communicate()[0]
