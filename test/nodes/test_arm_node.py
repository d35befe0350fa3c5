"""The arm node driven by hand, and every way to stop it but a signal."""

import contextlib
import math
import time

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from bayes_curiosity_interfaces.msg import ArmStatus, Status
from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.tasks.registry import make_task
from support.driver import ARM, Driver
from support.graph import eventually, inbox
from support.processes import started_processes
from support.waiting import WAIT_S, wait_for


@pytest.fixture(scope="module")
def arm():
    """Driver of one arm node that the tests of this file share."""
    with started_processes() as start, BackgroundNode("driver") as background:
        start(ARM)
        driver = Driver(background)
        wait_for(lambda: heard(driver), "reset that is heard")
        yield driver


def heard(driver) -> bool:
    """Whether the state after a reset comes by topic too: then arm and driver have met."""
    assert driver.reset().status.code == Status.OK
    with contextlib.suppress(AssertionError):
        return bool(eventually(driver.states, lambda m: m.step == 0, 1.0))
    return False


@pytest.fixture
def driver(arm):
    """The same, free to move, its inboxes empty, whatever a test before has left behind."""
    arm.trigger("release")
    for messages in (arm.states, arm.status):
        while not messages.empty():
            messages.get()
    return arm


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


def test_watchers_get_the_last_joint_state_and_no_flood_of_them(driver):
    joints = inbox(driver.background, JointState, "joint_states")
    eventually(joints, lambda m: True)  # the arm has heard of us
    driver.reset(episode=4)
    while not joints.empty():
        joints.get()
    began, steps, came = time.monotonic(), 40, []
    for step in range(steps):
        driver.act(4, step)
        last = driver.reached(4, step + 1)

    def is_last(message):
        came.append(message)
        return message.position == last.positions

    eventually(joints, is_last)
    # At most fifty a second of steps, and what is told five times a second at rest.
    assert len(came) <= 2 + (time.monotonic() - began) * 55
    stamps = [m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in came]
    assert stamps == sorted(stamps)


BAD_ACTIONS = {
    "nan": ({"deltas": (math.nan,) * 6}, "finite"),
    "wrong length": ({"deltas": (0.0,) * 5}, "5 joint deltas for 6 joints"),
    "gripper": ({"gripper": 7.0}, "0 is open and 1 closed"),
    "step ahead": ({"step": 4}, "expected episode 1, step 0"),
    "other episode": ({"episode": 9}, "expected episode 1, step 0"),
}


def test_bad_actions_are_rejected_with_a_reason_and_nothing_moves(driver):
    before = driver.reset().state.positions
    for _ in range(2):  # the first one may be older than the reset
        counted = eventually(driver.status, lambda m: True)
    for options, words in BAD_ACTIONS.values():
        driver.act(**({"episode": 1, "step": 0} | options))
        eventually(driver.status, lambda m, words=words: words in m.reason)
    joints = inbox(driver.background, JointState, "joint_states")
    assert eventually(joints, lambda m: True).position == before
    driver.act(1, 0)
    driver.reached(1, 1)
    after = eventually(driver.status, lambda m: m.accepted == counted.accepted + 1)
    assert after.rejected == counted.rejected + len(BAD_ACTIONS)


def test_a_cut_command_stream_ends_in_standstill(driver):
    """One of many in time is enough: a busy machine may be late to tell us, not every time."""
    joints = inbox(driver.background, JointState, "joint_states")
    eventually(joints, lambda m: True)  # the arm has heard of us
    delays_s = [math.inf]
    for episode in range(1, 31):
        if min(delays_s) < 0.2:
            break
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

    def was_stopped():
        """Said again until the arm has heard of us."""
        stops.publish(String(data="a hand in the cell"))
        with contextlib.suppress(AssertionError):
            return eventually(driver.status, lambda m: m.state == ArmStatus.STOPPED, 0.5)

    wait_for(was_stopped, "stop")
    driver.act(1, 1)
    eventually(driver.status, lambda m: "action (1, 1) rejected" in m.reason)
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
