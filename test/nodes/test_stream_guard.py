"""What ends a stream of velocities whose sender was killed, held up, or left without its guard."""

import queue
import signal
import subprocess
import sys

import numpy as np
import pytest
from std_msgs.msg import Float64MultiArray

from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.robot.arms.arm import ArmError
from bayes_curiosity_ros.robot.arms.stream_guard import MET, NAME, marked_zeros, stream_guard
from bayes_curiosity_ros.robot.arms.trajectory import TrajectoryArm, TrajectoryConfig
from bayes_curiosity_ros.robot.config import RobotConfig
from support.joint_driver import StreamedDriver
from support.processes import die_with_parent
from support.waiting import WAIT_S, until, wait_for

COMMANDS, STATES = "/driver/commands", "/driver/state"
# Streams the velocities of one endless step, says so, and does nothing more.
MOVER = f"""
import signal, sys, time
import numpy as np
from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.robot.arms.commands import Step
from bayes_curiosity_ros.robot.arms.streaming import ForwardVelocity
from bayes_curiosity_ros.robot.arms.trajectory_config import TrajectoryConfig

config = TrajectoryConfig("{COMMANDS}", "{STATES}", "forward_velocity")
still, names = np.zeros(6), tuple("abcdef")
with BackgroundNode("mover") as background:
    stream = ForwardVelocity(background.node, config, names)
    stream.open()
    while stream.absent():
        time.sleep(0.01)
    stream.step(Step(still, still, still + 0.1, 1e6))
    if sys.argv[1] == "alone":
        stream._guard._process.kill()
        stream._guard._process.wait()
    print("moving", flush=True)
    signal.pause()
"""


@pytest.fixture
def driver():
    arm = RobotConfig.load("jaco.yaml").arm
    with BackgroundNode("driver") as node:
        yield StreamedDriver(node, arm.ready_rad, arm.joints, COMMANDS, STATES, velocities=True)


@pytest.fixture
def start_mover(driver):
    """Function that starts a process which has set the arm in motion."""
    processes = []

    def start(guarded):
        process = subprocess.Popen(
            [sys.executable, "-c", MOVER, guarded],
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=die_with_parent,
        )
        processes.append(process)
        assert process.stdout.readline() == "moving\n"
        wait_for(lambda: not stands(driver), "motion")
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait(WAIT_S)
        process.stdout.close()


@pytest.fixture
def arm(driver, background):
    config = TrajectoryConfig(COMMANDS, STATES, "forward_velocity", state_timeout_s=0.5)
    with TrajectoryArm(RobotConfig.load("jaco.yaml"), config, background.node) as arm:
        yield arm


def stands(driver):
    return not driver.velocity.any()


def require_zeros_of_a_late_driver(topic):
    arm = RobotConfig.load("jaco.yaml").arm
    with BackgroundNode("driver") as node:
        late = StreamedDriver(node, arm.ready_rad, arm.joints, topic, STATES, velocities=True)
        wait_for(lambda: late.received and stands(late), "zeros")


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGSTOP])
def test_the_guard_ends_the_stream_of_a_dead_or_halted_process(driver, start_mover, sent):
    mover = start_mover("guarded")
    mover.send_signal(sent)
    wait_for(lambda: stands(driver), "zeros from the guard")


def test_zeros_are_sent_until_a_driver_hears_them(background):
    """A graph that is slow to meet must not leave a guard content with hearing itself."""
    topic = "/late_driver/commands"  # where no guard of another test lingers, and would hear it
    guard = stream_guard(topic, "ours")
    guard.start()
    try:
        velocities = background.node.create_publisher(Float64MultiArray, topic, 10)
        wait_for(lambda: velocities.get_subscription_count() == 1, "guard")
        moving = Float64MultiArray(data=[0.1] * 6)
        until(lambda: velocities.publish(moving), 0.5)
        require_zeros_of_a_late_driver(topic)
    finally:
        guard.end()


def test_a_driver_that_comes_after_a_listener_still_hears_zeros(background):
    """A recorder, or a person's echo, hears the first ones: that ends no motion."""
    topic = "/heard_driver/commands"
    heard = queue.SimpleQueue()
    background.node.create_subscription(Float64MultiArray, topic, heard.put, 10)
    guard = stream_guard(topic, "ours")
    guard.start()
    try:
        velocities = background.node.create_publisher(Float64MultiArray, topic, 10)
        wait_for(lambda: velocities.get_subscription_count() == 2, "guard and listener")
        until(lambda: velocities.publish(Float64MultiArray(data=[0.1] * 6)), 0.5)
        wait_for(lambda: not any(heard.get(timeout=WAIT_S).data), "zeros that a listener hears")
        require_zeros_of_a_late_driver(topic)
    finally:
        guard.end()


def test_a_guard_has_met_its_node_when_it_heard_that_very_node(background):
    """Others may send on the topic, and other guards hear it, one that outlives its node too."""
    topic = "/shared_driver/commands"
    theirs, ours = stream_guard(topic, "theirs"), stream_guard(topic, "ours")
    velocities = background.node.create_publisher(Float64MultiArray, topic, 10)
    theirs.start()
    ours.start()

    def met(guard, *marks):
        for mark in marks:
            velocities.publish(marked_zeros(6, mark))
        return MET in guard.heard(0.0)

    try:
        wait_for(lambda: velocities.get_subscription_count() == 2, "both guards")
        assert not until(lambda: met(theirs, "theirs", NAME, ""), 1.0)
        background.node.create_subscription(Float64MultiArray, topic, print, 10)
        wait_for(lambda: met(theirs, "theirs", NAME, ""), "theirs, with somebody to hear zeros")
        assert not met(ours)
        wait_for(lambda: met(ours, "ours"), "ours")
    finally:
        theirs.end()
        ours.end()


def test_velocities_persist_without_a_guard(driver, start_mover):
    """Why there is one."""
    start_mover("alone").kill()
    assert not until(lambda: stands(driver), 1.0)


def test_a_dead_guard_moves_nothing_and_is_replaced_by_a_release(arm, driver):
    arm.move(np.full(6, 0.01), 0.0, WAIT_S)
    arm._commands._guard._process.kill()
    wait_for(lambda: not arm._commands._guard.lives, "its end")
    with pytest.raises(ArmError, match="the arm's guard has died"):
        arm.move(np.full(6, 0.01), 0.0, WAIT_S)
    wait_for(lambda: stands(driver), "standstill")
    arm.clear_faults()
    arm.move(np.full(6, 0.01), 0.0, WAIT_S)


def test_a_guard_is_no_driver(background):
    config = TrajectoryConfig("/nobody/commands", STATES, "forward_velocity")
    arm = TrajectoryArm(RobotConfig.load("jaco.yaml"), config, background.node)
    with pytest.raises(ArmError, match="nobody listens to /nobody/commands"):
        arm.connect(1.0)
