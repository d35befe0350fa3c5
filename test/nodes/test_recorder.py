"""The recorder as a process of its own, in a graph with the real curiosity node."""

import array
import shutil
import signal
import time
from functools import partial

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.duration import Duration
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from bayes_curiosity_interfaces.msg import EpisodeSummary, Observation
from bayes_curiosity_ros.bags.episode import read_episodes
from bayes_curiosity_ros.bags.peek import episode_and_step
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.nodes.conversions.images import images_of_frame
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS
from bayes_curiosity_ros.nodes.recorder_node import RecorderConfig
from bayes_curiosity_ros.nodes.taps import SETTLED
from support.graph import (
    MEET_S,
    Graph,
    eventually,
    inbox,
    parameters,
    until,
    wait_until_recorded,
)
from support.recording import CURIOSITY, RECORDER, await_episodes, ended, frames, vectors
from support.waiting import WAIT_S, wait_for


def acknowledged(graph):
    """Wait until reliable listeners have all that the graph published."""
    for publisher in graph.publishers.values():
        assert publisher.wait_for_all_acked(Duration(seconds=WAIT_S))


def test_a_run_is_recorded_whole(start, background, tmp_path):
    start(CURIOSITY)
    recorder = start(
        RECORDER, *parameters(folder=tmp_path, name="run", task="reach", seed=7, settings="'{}'")
    )
    graph = Graph(background, {"observation": 2, "action": 1, "camera/color/image_raw": 1})
    wait_until_recorded(background)
    for frame in frames(5, seed=0):
        graph.publish("camera/color/image_raw", images_of_frame(frame)[0])
    wanted = [vectors(30, seed) for seed in range(3)]
    outcomes = (EpisodeSummary.TIME_LIMIT, EpisodeSummary.ABORTED, EpisodeSummary.SUCCESS)
    rewards = [
        graph.episode(i, rows, outcome)
        for i, (rows, outcome) in enumerate(zip(wanted, outcomes, strict=True))
    ]
    await_episodes(tmp_path / "run", 3)
    acknowledged(graph)
    output = ended(recorder)
    assert "0 dropped, 0 lost on the way; complete" in output

    reader = BagReader(tmp_path / "run")
    episodes = list(read_episodes(reader))
    assert reader.losses == []
    assert [episode.outcome for episode in episodes] == ["time_limit", "aborted", "success"]
    for episode, rows, paid in zip(episodes, wanted, rewards, strict=True):
        assert episode.faults == ()
        np.testing.assert_array_equal(episode.vectors, rows)
        np.testing.assert_array_equal(episode.reward, paid)
    counts = {name: count for name, (_, count) in reader.metadata.topics.items()}
    image = "camera/color/image_raw"  # of best effort
    assert 0 < counts[f"/{image}"] <= graph.sent.pop(image)
    for name, sent in graph.sent.items():
        assert counts[f"/{name}"] == sent, name
    assert counts["/curiosity/state"] >= 2
    about = reader.about
    assert (about["task"], about["seed"], about["dropped"]) == ("reach", "7", "0")
    assert len(about["model_id"]) == 12
    assert about["episodes"].startswith("[[0, ")
    qos = {name: topic.qos[0] for name, (topic, _) in reader.metadata.topics.items()}
    assert qos["/curiosity/state"].durability == "transient_local"
    assert qos["/camera/color/image_raw"].reliability == "best_effort"
    assert reader.topics["/observation"].definition.type_hash.startswith("RIHS01_")


def recorded_steps(reader):
    """The steps of which a bag has the observation."""
    return [
        episode_and_step(record.data)[1]
        for record in reader.records()
        if record.topic == "/observation"
    ]


def test_a_killed_recorder_leaves_all_but_the_last_moments(start, background, tmp_path):
    """What was sent is on disk a second later, on a slow machine four; a kill costs none of it."""
    recorder = start(RECORDER, *parameters(folder=tmp_path, name="run"))
    graph = Graph(background, {"observation": 1, "arm/state": 1, "joint_states": 1})
    for step in range(300):
        graph.step(1, step, np.zeros(9))
    assert until(lambda: len(recorded_steps(BagReader(tmp_path / "run"))) == 300, 4.0)
    for step in range(300, 400):
        graph.step(1, step, np.zeros(9))
    recorder.kill()
    recorder.communicate(timeout=WAIT_S)

    reader = BagReader(tmp_path / "run")
    steps = recorded_steps(reader)
    assert len(steps) >= 300
    assert steps == list(range(len(steps)))
    assert any("no metadata.yaml" in loss for loss in reader.losses)
    (episode,) = read_episodes(reader)
    assert "its end was not recorded" in episode.faults


def test_what_a_recorder_missed_while_it_was_held_up_is_named(start, background, tmp_path):
    """Five large messages are kept for it, and what fits into a socket's buffer."""
    recorder = start(RECORDER, *parameters(folder=tmp_path, name="run"))
    told = inbox(background, DiagnosticStatus, "recorder/status", LATCHED_QOS)
    node, few = background.node, QoSProfile(depth=5)
    seen = node.create_publisher(Observation, "observation", few)
    over = node.create_publisher(EpisodeSummary, "episode", EPISODE_QOS)
    wait_for(lambda: seen.get_subscription_count() and over.get_subscription_count(), "a recorder")
    vector = array.array("d", bytes(8 * 5000))

    def publish(episode):
        for step in range(3):
            seen.publish(Observation(episode=episode, step=step, vector=vector))
        over.publish(EpisodeSummary(episode=episode, steps=2))

    def settled(status):
        return {v.key: v.value for v in status.values}[SETTLED] == "1"

    time.sleep(MEET_S)
    publish(1)
    eventually(told, settled)
    recorder.send_signal(signal.SIGSTOP)
    for episode in range(2, 200):
        publish(episode)
    recorder.send_signal(signal.SIGCONT)
    for publisher in (seen, over):
        assert publisher.wait_for_all_acked(Duration(seconds=WAIT_S))
    assert "lost on the way; not complete: episode" in ended(recorder)
    reader = BagReader(tmp_path / "run")
    whole = {episode.id for episode in read_episodes(reader) if not episode.faults}
    assert 1 in whole
    assert len(whole) < 199
    assert "Observation missing, the first at step 0" in reader.about["lacking"]
    assert reader.about["complete"] == "false"


def test_a_required_recorder_that_cannot_write_ends(start, background, tmp_path):
    options = {"folder": tmp_path, "name": "run", "required": True, "bag__max_file_mb": 0.001}
    recorder = start(RECORDER, *parameters(**options))
    graph = Graph(background, {"observation": 1})
    shutil.rmtree(tmp_path / "run")
    for step in range(100):
        graph.step(1, step, np.zeros(9))
    output = recorder.communicate(timeout=WAIT_S)[0]
    assert recorder.returncode != 0
    assert "the recording is required, and cannot go on: FileNotFoundError" in output
    assert "Traceback" not in output


def test_a_recorder_that_is_started_again_has_a_bag_of_its_own(tmp_path):
    config = RecorderConfig(folder=str(tmp_path))
    assert config.about()["before"] == ""
    first = config.path()
    first.mkdir()
    (first.parent / f"{first.name}_2").mkdir()
    assert config.path() not in (first, first.parent / f"{first.name}_2")
    assert config.about()["before"] in (first.name, f"{first.name}_2")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_cleanly(start, background, tmp_path, sent):
    recorder = start(RECORDER, *parameters(folder=tmp_path, name="run"))
    Graph(background, {"observation": 1})
    recorder.send_signal(sent)
    ended(recorder, sent)
    assert (tmp_path / "run" / "metadata.yaml").is_file()


def test_drops_are_reported_and_counted(start, background, tmp_path):
    """A queue of almost nothing: what does not fit is counted, nothing else suffers."""
    recorder = start(
        RECORDER, *parameters(folder=tmp_path, name="run", queue__max_queue_mb=0.0005)
    )
    told = inbox(background, DiagnosticStatus, "recorder/status", LATCHED_QOS)
    graph = Graph(background, {"observation": 1, "arm/state": 1})
    for step in range(200):
        graph.step(1, step, np.zeros(9))
    warning = eventually(told, lambda status: status.level == DiagnosticStatus.WARN, WAIT_S)
    values = {entry.key: entry.value for entry in warning.values}
    acknowledged(graph)
    assert int(values["dropped /observation"]) > 0
    ended(recorder)
    reader = BagReader(tmp_path / "run")
    kept = sum(1 for record in reader.records() if record.topic == "/observation")
    assert kept + int(reader.about["dropped /observation"]) == 200


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bag__storage": "rosbag1"}, "unknown storage 'rosbag1'"),
        ({"period_s": 9.0}, "period_s = 9.0"),
        ({"name": "."}, "path '.' is not the name of a file in"),
    ],
)
def test_bad_parameters_end_it_with_one_line(start, tmp_path, options, words):
    process = start(RECORDER, *parameters(folder=tmp_path, **options))
    output = process.communicate(timeout=WAIT_S)[0]
    assert process.returncode == 2
    assert words in output
    assert "Traceback" not in output


DEMONSTRATE = "bayes_curiosity_ros.nodes.demonstrate_node"


def test_a_person_demonstrates(start, background, tmp_path):
    """Joint states in; a bag with pairs to learn from out."""
    words = {"motion__with_object": False, "motion__period_s": 0.02, "first_episode": 5}
    start(DEMONSTRATE, *parameters(**words))
    recorder = start(RECORDER, *parameters(folder=tmp_path, name="run", task="reach"))
    graph = Graph(background, {"joint_states": 2})
    names = [f"joint_{i}" for i in range(1, 7)]
    steps = []
    background.node.create_subscription(
        Observation, "observation", lambda message: steps.append(message.step), EPISODE_QOS
    )

    def jog(angle):
        graph.publish("joint_states", JointState(name=names, position=[angle] * 6))

    def press(name):
        return background.call(Trigger, f"demonstrate/{name}", Trigger.Request(), WAIT_S)

    def begun():
        jog(0.0)
        return press("begin").success

    def reached(step):
        jog(0.01 * step)  # again and again: of best effort, one may be lost
        return steps[-1:] == [step]

    assert "begin first" in press("end").message
    assert until(begun, WAIT_S)
    for step in range(1, 11):
        assert until(partial(reached, step), WAIT_S)
    assert "10 steps" in press("end").message
    await_episodes(tmp_path / "run", 1)
    ended(recorder)
    (episode,) = read_episodes(BagReader(tmp_path / "run"))
    assert (episode.id, episode.outcome, episode.faults) == (5, "success", ())
    observations, actions = episode.pairs()
    assert len(observations) == 10
    np.testing.assert_allclose(actions[:, :6], 0.01, atol=1e-12)
