"""Recorder and replay as processes of their own, in a graph with the real curiosity node."""

import signal
from functools import partial

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.duration import Duration
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import UInt64
from std_srvs.srv import Trigger

from bayes_curiosity_interfaces.msg import EpisodeSummary, Observation
from bayes_curiosity_ros.bags.episode import read_episodes
from bayes_curiosity_ros.bags.peek import episode_and_step
from bayes_curiosity_ros.bags.player import cues, parse_selection
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.bringup import table as bringup
from bayes_curiosity_ros.bringup.up import command_of
from bayes_curiosity_ros.learning.episode_log import read_log
from bayes_curiosity_ros.nodes.conversions.images import images_of_frame
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS
from bayes_curiosity_ros.nodes.reproduce import Reproduction
from bayes_curiosity_ros.robot.cameras.camera import Frame
from support.graph import Graph, eventually, inbox, parameters, until, wait_until_recorded
from support.pretended import Run, write_bag
from support.waiting import WAIT_S

CURIOSITY = "bayes_curiosity_ros.nodes.curiosity_node"
RECORDER = "bayes_curiosity_ros.nodes.recorder_node"


def ended(process, number=signal.SIGINT):
    process.send_signal(number)
    output = process.communicate(timeout=WAIT_S)[0]
    assert process.returncode == 0, output
    assert "Traceback" not in output
    return output


def acknowledged(graph):
    """Wait until reliable listeners have all that the graph published."""
    for publisher in graph.publishers.values():
        assert publisher.wait_for_all_acked(Duration(seconds=WAIT_S))


def await_episodes(path, count):
    """Wait until a bag under way holds so many episodes, and of each all messages."""

    def whole():
        return [episode.faults for episode in read_episodes(BagReader(path))] == [()] * count

    assert until(whole, WAIT_S)


def vectors(count, seed):
    return np.random.default_rng(seed).normal(size=(count, 9))


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
        ({"name": "."}, "never overwritten"),
    ],
)
def test_bad_parameters_end_it_with_one_line(start, tmp_path, options, words):
    process = start(RECORDER, *parameters(folder=tmp_path, **options))
    output = process.communicate(timeout=WAIT_S)[0]
    assert process.returncode == 2
    assert words in output
    assert "Traceback" not in output


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


def frames(count, seed):
    rng = np.random.default_rng(seed)
    return [
        Frame(
            rng.integers(0, 256, (16, 16, 3), dtype=np.uint8),
            rng.uniform(0.1, 2.0, (16, 16)).astype(np.float32),
            0.0,
        )
        for _ in range(count)
    ]


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
    assert process.returncode == 2
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
    (bag,) = (tmp_path / "bags").iterdir()
    await_episodes(bag, len(read_log(tmp_path / "episodes.csv")))
    assert "0 dropped, 0 lost on the way; complete" in ended(running["recorder"])
    ended(running["curiosity"])

    reader = BagReader(bag)
    episodes = list(read_episodes(reader))
    assert [episode.faults for episode in episodes] == [()] * len(episodes)
    assert sum(len(episode) - 1 for episode in episodes) >= 120
    assert reader.about["task"] == "reach"
    start(CURIOSITY, *command_of(specs["curiosity"], "")[3:])
    check = start(CLI, "replay", str(bag), "--check").communicate(timeout=2 * WAIT_S)[0]
    rewards = sum(len(episode) for episode in episodes)
    assert f"{rewards} of {rewards} intrinsic rewards reproduced bit for bit" in check
    redrive = start(CLI, "replay", str(bag), "--redrive")
    assert redrive.wait(2 * WAIT_S) == 0, redrive.communicate()[0]


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
