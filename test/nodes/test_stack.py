"""Real nodes in real processes: an episode over the graph, and every way to stop the arm."""

import array
import math
import os
import queue
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from bayes_curiosity_interfaces.msg import (
    Action,
    ArmState,
    ArmStatus,
    CuriosityState,
    EpisodeSummary,
    Observation,
    Status,
)
from bayes_curiosity_interfaces.srv import ResetEpisode
from bayes_curiosity_ros.curiosity.curiosity import Curiosity, CuriosityConfig
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import Encoder
from bayes_curiosity_ros.learning.cell import TaskCell, run_episode
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.perception import encoder_config
from bayes_curiosity_ros.nodes.conversions.images import frame_of_images
from bayes_curiosity_ros.nodes.episode_log import read_log
from bayes_curiosity_ros.nodes.learner_config import LearnerConfig, make_trainer
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS
from bayes_curiosity_ros.tasks.registry import make_task

ARM, CAMERA, CURIOSITY, LEARNER = (
    f"bayes_curiosity_ros.nodes.{name}_node" for name in ("arm", "camera", "curiosity", "learner")
)
WAIT_S = 30.0


def parameters(**values) -> list[str]:
    words = ["--ros-args"]
    for name, value in values.items():
        words += ["-p", f"{name.replace('__', '.')}:={value}"]
    return words


def inbox(background, kind, topic, qos=EPISODE_QOS) -> queue.Queue:
    messages: queue.Queue = queue.Queue()
    background.node.create_subscription(kind, topic, messages.put, qos)
    return messages


def eventually(messages: queue.Queue, fits, timeout_s: float = WAIT_S):
    """The first message that fits."""
    deadline, last = time.monotonic() + timeout_s, None
    while time.monotonic() < deadline:
        try:
            last = messages.get(timeout=0.2)
        except queue.Empty:
            continue
        if fits(last):
            return last
    raise AssertionError(f"no such message within {timeout_s} s; the last was {last}")


class Driver:
    """Plays the learner: resets and actions by hand."""

    def __init__(self, background):
        self.background = background
        self.states = inbox(background, ArmState, "arm/state")
        # Every status counts here, also where a busy machine lets several wait.
        patient = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.status = inbox(background, ArmStatus, "arm/status", patient)
        self.actions = background.node.create_publisher(Action, "action", EPISODE_QOS)

    def reset(self, episode=1, seed=0, confirmed=True):
        request = ResetEpisode.Request(episode=episode, seed=seed, operator_confirmed=confirmed)
        answer = self.background.call(ResetEpisode, "arm/reset_episode", request, WAIT_S)
        deadline = time.monotonic() + WAIT_S
        while not self.actions.get_subscription_count() and time.monotonic() < deadline:
            time.sleep(0.01)
        return answer

    def act(self, episode, step, deltas=(0.03,) * 6, gripper=0.0):
        message = Action(episode=episode, step=step, gripper=gripper)
        message.joint_deltas = array.array("d", deltas)
        self.actions.publish(message)

    def reached(self, episode, step) -> ArmState:
        return eventually(self.states, lambda m: (m.episode, m.step) == (episode, step))

    def trigger(self, name):
        return self.background.call(Trigger, f"arm/{name}", Trigger.Request(), WAIT_S)


@pytest.fixture
def driver(start, background):
    start(ARM)
    driver = Driver(background)
    while True:  # until the arm hears us and we hear it
        assert driver.reset().status.code == Status.OK
        try:
            eventually(driver.states, lambda m: m.step == 0, 1.0)
            return driver
        except AssertionError:
            continue


def test_the_arm_moves_as_the_task_does(driver):
    task = make_task("reach")
    states = task.initial_states(1, np.random.default_rng(7))
    answer = driver.reset(episode=3, seed=7)
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(answer.state.positions[:6], task.layout.joints(states)[0])
    for step in range(5):
        action = rng.uniform(-1, 1, (1, 6))
        states = task.advance(states, action)
        driver.act(3, step, task.commands(action)[0][0])
        message = driver.reached(3, step + 1)
        np.testing.assert_array_equal(message.positions[:6], task.layout.joints(states)[0])
        spot = message.object_pose.position
        np.testing.assert_array_equal([spot.x, spot.y, spot.z], states[0, task.layout.marker])


BAD_ACTIONS = {
    "nan": ({"deltas": (math.nan,) * 6}, "finite"),
    "wrong length": ({"deltas": (0.0,) * 5}, "5 joint deltas for 6 joints"),
    "gripper": ({"gripper": 7.0}, "0 is open and 1 closed"),
    "step ahead": ({"step": 4}, "expected episode 1, step 0"),
    "other episode": ({"episode": 9}, "expected episode 1, step 0"),
}


def test_bad_actions_are_rejected_with_a_reason_and_nothing_moves(driver):
    before = driver.reset().state.positions
    for options, words in BAD_ACTIONS.values():
        driver.act(**({"episode": 1, "step": 0} | options))
        eventually(driver.status, lambda m, words=words: words in m.reason)
    joints = inbox(driver.background, JointState, "joint_states")
    assert eventually(joints, lambda m: True).position == before
    driver.act(1, 0)
    driver.reached(1, 1)
    assert eventually(driver.status, lambda m: m.accepted == 1).rejected == len(BAD_ACTIONS)


def test_a_cut_command_stream_ends_in_standstill(driver):
    """The best of three: a busy machine may be late to tell us, but not every time."""
    joints = inbox(driver.background, JointState, "joint_states")
    delays_s = []
    for episode in (1, 2, 3):
        driver.reset(episode)
        driver.act(episode, 0)
        moving = eventually(joints, lambda m: np.abs(m.velocity[:6]).max() > 0.01)
        cut = time.monotonic()
        still = eventually(joints, lambda m: not np.any(m.velocity))
        delays_s.append(time.monotonic() - cut)
        assert still.position == moving.position
        assert "no command" in eventually(driver.status, lambda m: "halted" in m.reason).reason
    assert min(delays_s) < 0.2


def test_a_stop_is_latched_until_released(driver):
    driver.reset()
    driver.act(1, 0)
    driver.reached(1, 1)
    stops = driver.background.node.create_publisher(String, "arm/stop", 10)
    while not stops.get_subscription_count():
        time.sleep(0.01)
    stops.publish(String(data="a hand in the cell"))
    eventually(driver.status, lambda m: m.state == ArmStatus.STOPPED)
    driver.act(1, 1)
    eventually(driver.status, lambda m: m.rejected == 1)
    answer = driver.reset(episode=2)
    assert answer.status.code == Status.STOPPED
    assert "a hand in the cell" in answer.status.message
    assert driver.trigger("release").success
    assert driver.reset(episode=2).status.code == Status.OK
    driver.act(2, 0)
    driver.reached(2, 1)


def test_the_lifecycle_decides_whether_it_obeys(driver):
    def change(transition):
        request = ChangeState.Request(transition=Transition(id=transition))
        return driver.background.call(ChangeState, "arm/change_state", request, WAIT_S).success

    assert change(Transition.TRANSITION_DEACTIVATE)
    assert eventually(driver.status, lambda m: m.state == ArmStatus.INACTIVE).reason
    assert driver.reset(episode=2).status.code == Status.NOT_READY
    assert not driver.trigger("release").success
    assert change(Transition.TRANSITION_ACTIVATE)
    assert driver.reset(episode=2).status.code == Status.OK
    driver.act(2, 0)
    driver.reached(2, 1)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_signals_leave_the_arm_stopped(start, background, sent):
    process = start(ARM)
    driver = Driver(background)
    driver.reset()
    process.send_signal(sent)
    output = process.communicate(timeout=10)[0]
    assert process.returncode == 0, output
    assert f"arm stopped: {sent.name}" in output
    assert "Traceback" not in output
    last = None
    while not driver.status.empty():
        last = driver.status.get()
    assert last.state == ArmStatus.INACTIVE
    assert last.stops == 1


def test_the_camera_sees_what_the_task_sees(start, background):
    start(CAMERA, *parameters(task="visual_grasp"))
    start(ARM, *parameters(task="visual_grasp"))
    color = inbox(background, Image, "camera/color/image_raw")
    depth = inbox(background, Image, "camera/depth/image_raw")
    task = make_task("visual_grasp")
    states = task.initial_states(1, np.random.default_rng(5))
    driver = Driver(background)
    pictures = []
    deadline = time.monotonic() + WAIT_S
    while not pictures and time.monotonic() < deadline:
        driver.reset(episode=1, seed=5)
        try:
            pictures = [eventually(color, lambda m: True, 1.0)]
        except AssertionError:
            continue
    frame = frame_of_images(pictures[0], eventually(depth, lambda m: True))
    expected_color, expected_depth = task.camera.frames(states)
    np.testing.assert_array_equal(frame.color, expected_color[0])
    np.testing.assert_array_equal(frame.depth, expected_depth[0])


def learner_options(folder, **options):
    given = {"folder": folder, "operator_confirmed": "true", "timesteps": 60}
    return parameters(**(given | {"iteration_steps": 30} | options))


@pytest.fixture
def stack(start, tmp_path):
    """All nodes but the learner."""
    start(ARM)
    start(CURIOSITY, *parameters(curiosity__weight=0.5))

    def learner(**options):
        return start(LEARNER, *learner_options(tmp_path, **options))

    return learner


def rows_of(observations: Observations) -> list[Observations]:
    return [observations[index : index + 1] for index in range(len(observations))]


class Watched(TaskCell):
    """A cell that tells what a curiosity node would be sent."""

    def raw(self, task) -> Observations:
        images = task.images(self._states) if task.visual else None
        return Observations(task.observe(self._states), images)


def in_process(timesteps: int, iteration_steps: int, name: str = "reach"):
    """The same run without ROS: episodes and curiosity of each."""
    config = LearnerConfig(task=name, timesteps=timesteps, iteration_steps=iteration_steps)
    raw = config.make_task()
    task = config.perceive(raw)
    trainer = make_trainer(config, task)
    curiosity = Curiosity(Encoder(encoder_config(raw)), CuriosityConfig(weight=0.5))
    rows, episode = [], 0
    while trainer.timesteps < timesteps:
        parts = []
        while sum(part.steps for part in parts) < iteration_steps:
            episode += 1
            cell, visited = Watched(task), []
            part = run_episode(
                task,
                cell,
                trainer.algorithm.explore(),
                config.seed,
                episode,
                lambda step, _, cell=cell, visited=visited: visited.append(cell.raw(raw)),
            )
            seen = Observations.concatenate(visited)
            # Row by row, as the node scores them: a batch may differ in the last bit.
            rewards = np.array([curiosity.score(row).reward[0] for row in rows_of(seen)])[1:]
            curiosity.observe(seen)
            trainer.bonus.add(rewards)
            parts.append(part)
            rows.append((int(part.lengths[0]), float(part.returns()[0]), float(rewards.sum())))
        trainer.learn(Episodes.concatenate(parts))
    return rows, curiosity.regression


def test_the_same_seed_gives_the_same_episodes_with_and_without_ros(stack, background, tmp_path):
    """Learning included: what the second iteration does depends on all of the first."""
    states = inbox(background, CuriosityState, "curiosity/state", LATCHED_QOS)
    output = (process := stack()).communicate(timeout=90)[0]
    assert process.returncode == 0, output
    expected, regression = in_process(60, 30)
    rows = read_log(tmp_path / "episodes.csv")
    assert [(r.steps, r.extrinsic_return, r.intrinsic_return) for r in rows] == expected
    # Every episode is in the posterior, once.
    state = eventually(states, lambda m: m.episodes == len(rows))
    assert state.observations == sum(row.steps + 1 for row in rows) == regression.count
    np.testing.assert_allclose(state.log_determinant, regression.log_determinant)


def test_the_same_images_give_the_same_episodes_with_and_without_ros(start, tmp_path):
    """Frames of the camera node, joint angles of the arm node: bit for bit what rays give here."""
    start(CAMERA, *parameters(task="visual_reach"))
    start(ARM, *parameters(task="visual_reach"))
    shape = {"encoder__vector_size": 6, "encoder__image_shape": "[4, 64, 64]"}
    shape["encoder__image_trunk"] = "keypoints"
    start(CURIOSITY, *parameters(curiosity__weight=0.5, **shape))
    learner = start(LEARNER, *learner_options(tmp_path, task="visual_reach"))
    output = learner.communicate(timeout=180)[0]  # four processes start on a busy machine
    assert learner.returncode == 0, output
    expected, _ = in_process(60, 30, "visual_reach")
    rows = read_log(tmp_path / "episodes.csv")
    assert [(r.steps, r.extrinsic_return, r.intrinsic_return) for r in rows] == expected


def test_a_resumed_run_goes_on_exactly(stack, tmp_path):
    assert stack(timesteps=60).wait(90) == 0
    assert stack(timesteps=120, resume="true").wait(90) == 0
    expected, _ = in_process(120, 30)
    rows = read_log(tmp_path / "episodes.csv")
    assert [(row.steps, row.extrinsic_return) for row in rows] == [row[:2] for row in expected]


def test_an_episode_that_is_stopped_is_not_learnt_from(stack, background):
    summaries = inbox(background, EpisodeSummary, "episode")
    states = inbox(background, CuriosityState, "curiosity/state", LATCHED_QOS)
    observations = inbox(background, Observation, "observation")
    learner = stack(timesteps=100_000, iteration_steps=100_000)
    eventually(observations, lambda m: m.episode >= 2)
    driver = Driver(background)
    assert driver.trigger("stop").success
    aborted = eventually(summaries, lambda m: m.outcome == EpisodeSummary.ABORTED)
    time.sleep(0.3)
    assert driver.trigger("release").success
    eventually(summaries, lambda m: m.episode > aborted.episode + 1)
    learner.send_signal(signal.SIGINT)
    assert learner.wait(10) == 0
    eventually(driver.status, lambda m: m.state == ArmStatus.STOPPED and "SIGINT" in m.reason)
    finished = 0
    while not summaries.empty():
        finished = max(finished, summaries.get().episode)
    learnt = eventually(states, lambda m: m.episodes >= finished - 1)
    assert learnt.episodes <= finished  # the aborted one is not among them


def up(folder, *options) -> subprocess.Popen:
    words = ["-m", "bayes_curiosity_ros.cli", "up", "--scratch", "--output", str(folder)]
    return subprocess.Popen(
        [sys.executable, *words, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def children(pid: int) -> list[int]:
    path = f"/proc/{pid}/task/{pid}/children"
    with open(path) as file:
        return [int(word) for word in file.read().split()]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_up_stops_the_arm_and_ends_every_process(background, tmp_path, sent):
    observations = inbox(background, Observation, "observation")
    process = up(tmp_path)
    try:
        eventually(observations, lambda m: m.episode >= 1)
        running = children(process.pid)
        assert len(running) == 4
        process.send_signal(sent)
        output = process.communicate(timeout=30)[0]
    finally:
        process.kill()
    assert process.returncode == 128 + sent, output
    assert not any(os.path.exists(f"/proc/{pid}") for pid in running)
    assert "arm stopped" in (tmp_path / "log/arm.log").read_text()


def test_a_learner_that_fails_takes_all_with_it(background, tmp_path):
    """A policy file that is none: the learner fails, and nobody is left behind."""
    (tmp_path / "policy").write_text("nothing")
    process = up(tmp_path / "run", "--policy", str(tmp_path / "policy"))
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 1
    assert "is damaged or not a checkpoint" in output
    assert "arm stopped" in (tmp_path / "run/log/arm.log").read_text()


def test_a_learner_that_dies_in_mid_episode_takes_all_with_it(background, tmp_path):
    observations = inbox(background, Observation, "observation")
    process = up(tmp_path)
    try:
        eventually(observations, lambda m: m.episode >= 1)
        running = children(process.pid)
        os.kill(running[-1], signal.SIGKILL)  # the learner, started last
        output = process.communicate(timeout=30)[0]
    finally:
        process.kill()
    assert process.returncode == 1
    assert "learner ended with code -9; all were ended" in output
    assert not any(os.path.exists(f"/proc/{pid}") for pid in running)
    assert "arm stopped" in (tmp_path / "log/arm.log").read_text()
