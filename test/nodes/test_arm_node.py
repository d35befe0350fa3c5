"""The arm node driven by hand, and every way to stop it; the camera node beside it."""

import math
import signal
import time

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import String

from bayes_curiosity_interfaces.msg import ArmStatus, Status
from bayes_curiosity_ros.nodes.conversions.images import frame_of_images
from bayes_curiosity_ros.tasks.registry import make_task
from support.driver import ARM, Driver
from support.graph import WAIT_S, eventually, inbox, parameters

CAMERA = "bayes_curiosity_ros.nodes.camera_node"


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
