"""A Jaco gen 2: its driver executes velocities only and reports ten times a second."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from bayes_curiosity_interfaces.msg import ArmState, ArmStatus
from bayes_curiosity_ros.bringup.table import nodes
from bayes_curiosity_ros.bringup.up import command_of
from bayes_curiosity_ros.robot.arms.trajectory import TrajectoryArm
from support.driver import ARM, Driver
from support.drivers.jaco import JOINTS
from support.drivers.running import emulated, profile
from support.graph import eventually, inbox
from support.waiting import WAIT_S, wait_for

COMMAND = "/j2n6s300_driver/trajectory_controller/command"
STATES = "/j2n6s300_driver/out/joint_state"
PATIENT = {"settle_s": 5.0}  # a busy machine may deliver a command late


@pytest.fixture(scope="module")
def driver():
    with emulated("jaco") as process:
        yield process


@pytest.fixture
def arm(driver, background):
    robot, config = profile("jaco_gen2", **PATIENT)
    arm = TrajectoryArm(robot, config, background.node)
    arm.connect(WAIT_S)
    arm.home(WAIT_S)
    yield arm
    arm.disconnect()


def test_what_is_executed_is_what_was_commanded(arm):
    """Ten states a second, ten steps: before, 0.0025 to 0.031 rad for a steady 0.015."""
    for step in range(10):
        wanted = np.full(6, 0.015 if step < 5 else -0.015)
        executed = arm.move(wanted, 0.0, WAIT_S)
        assert not executed.changes
        np.testing.assert_allclose(executed.deltas, wanted, rtol=0.05)


def test_deltas_add_up_to_where_the_arm_is(arm):
    rng = np.random.default_rng(0)
    start = arm.state(WAIT_S).joints
    moved = [arm.move(rng.uniform(-0.017, 0.017, 6), 0.0, WAIT_S).deltas for _ in range(8)]
    np.testing.assert_allclose(arm.state(WAIT_S).joints - start, np.sum(moved, axis=0), atol=1e-6)


def test_speeds_of_the_driver_are_in_degrees(arm, background):
    speeds = inbox(background, JointState, STATES, 10)
    moving = eventually(speeds, lambda m: _moved(arm) and any(m.velocity[:6]))
    assert np.abs(moving.velocity[:6]).max() == pytest.approx(np.degrees(0.15), rel=0.01)
    wait_for(lambda: np.abs(arm.state(WAIT_S).velocities).max() < 0.2, "speeds in rad/s")


def _moved(arm):
    return arm.move(np.full(6, 0.015), 0.0, WAIT_S)


def test_fingers_go_by_their_action_and_the_arm_waits_for_them(arm):
    start = arm.state(WAIT_S).joints
    executed = arm.move(np.full(6, 0.01), 1.0, WAIT_S)
    assert executed.state.gripper > 0.95
    np.testing.assert_allclose(executed.state.joints - start, 0.01, rtol=0.05)
    assert arm.gripper_way(0.3, 0.6) == (0.3, 0.6)  # its joint states have the fingers
    assert arm.move(np.zeros(6), 0.0, WAIT_S).state.gripper < 0.05


def test_a_stop_ends_a_motion_and_the_next_step_is_heard(arm):
    arm.stop("a hand in the cell")
    arm.release()
    executed = arm.move(np.full(6, 0.015), 0.0, WAIT_S)
    np.testing.assert_allclose(executed.deltas, 0.015, rtol=0.05)


def test_the_emulated_driver_does_not_look_at_positions(driver, background):
    """As the original: this is what made our trajectories of positions move nothing."""
    states = inbox(background, JointState, STATES, 10)
    commands = background.node.create_publisher(JointTrajectory, COMMAND, 1)
    wait_for(lambda: commands.get_subscription_count(), "driver")
    before = eventually(states, lambda m: True)
    point = JointTrajectoryPoint(positions=[1.0] * 6, velocities=[0.0] * 6)
    point.time_from_start.nanosec = 100_000_000
    for _ in range(5):
        commands.publish(JointTrajectory(joint_names=JOINTS, points=[point]))
        after = eventually(states, lambda m: True)
    assert list(after.position[:6]) == pytest.approx(list(before.position[:6]), abs=1e-9)


def test_the_arm_node_drives_it_with_the_shipped_file(driver, start, background):
    given = {"arm": "trajectory", "params_file": "jaco_gen2.yaml", "simulated_operator": "true"}
    spec = next(spec for spec in nodes(given) if spec.name == "arm")
    words = command_of(spec)
    patience = ["-p", "trajectory.state_timeout_s:=0.5", "-p", "trajectory.settle_s:=5.0"]
    start(ARM, *words[words.index("--ros-args") :], *patience)
    learner = Driver(background)
    eventually(learner.status, lambda m: m.state == ArmStatus.READY)
    assert learner.reset().status.code == 0
    learner.act(1, 0, deltas=(0.01, -0.01) * 3, gripper=1.0)
    reached: ArmState = learner.reached(1, 1)
    np.testing.assert_allclose(reached.executed_deltas, reached.requested_deltas, rtol=0.05)
    assert reached.gripper > 0.95
    halted = eventually(learner.status, lambda m: m.reason.startswith("halted"))
    assert halted.state == ArmStatus.READY
    assert learner.reset(episode=2).status.code == 0
