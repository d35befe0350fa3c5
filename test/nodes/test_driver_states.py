"""Whether a driver's joint states are believed, with a driver that fails in every way."""

import contextlib

import numpy as np
import pytest

from bayes_curiosity_interfaces.msg import ArmStatus, Status
from bayes_curiosity_ros.bringup.arguments import defaults
from bayes_curiosity_ros.bringup.table import parameter_files
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.robot.arms.arm import ArmError
from bayes_curiosity_ros.robot.arms.trajectory import TrajectoryArm, TrajectoryConfig
from bayes_curiosity_ros.robot.config import RobotConfig
from support.driver import ARM, Driver
from support.graph import eventually, parameters
from support.joint_driver import JointDriver, StreamedDriver
from support.waiting import WAIT_S, wait_for

COMMANDS, STATES = "/joint_trajectory_controller/joint_trajectory", "/joint_states"
FILES = parameter_files(defaults() | {"arm": "trajectory"})


@pytest.fixture(scope="module")
def robot():
    return RobotConfig.load("jaco.yaml")


@pytest.fixture
def driver(robot):
    with BackgroundNode("driver") as node:
        yield JointDriver(node, robot.arm.ready_rad, robot.arm.joints, COMMANDS, STATES)


@pytest.fixture
def arm(robot, driver, background):
    config = TrajectoryConfig(COMMANDS, STATES, state_timeout_s=0.5)
    with TrajectoryArm(robot, config, background.node) as arm:
        yield arm


def moves_until_it_fails(arm):
    for step in range(1000):
        arm.move(np.full(6, 0.01 * (-1) ** (step // 10)), 0.0, WAIT_S)


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ({"silent": True}, "no joint states on /joint_states with joint_1"),
        ({"repeating": True}, "their stamps do not advance"),
        ({"stuck": True}, "the joint states are frozen"),
        ({"delay_s": 1.0}, r"no joint states|late, more than"),
    ],
)
def test_states_that_cannot_be_believed_are_an_error(arm, driver, trouble, words):
    arm.move(np.full(6, 0.01), 0.0, WAIT_S)
    vars(driver).update(trouble)
    with pytest.raises(ArmError, match=words):
        moves_until_it_fails(arm)


def test_a_driver_that_has_gone_is_named(robot, background):
    """Its last state would be good for a while."""
    config = TrajectoryConfig(COMMANDS, STATES, state_timeout_s=0.5)
    with BackgroundNode("driver") as node:
        JointDriver(node, robot.arm.ready_rad, robot.arm.joints, COMMANDS, STATES)
        arm = TrajectoryArm(robot, config, background.node)
        arm.connect(WAIT_S)

    def named():
        try:
            arm.state(WAIT_S)
        except ArmError as error:
            return "nobody publishes /joint_states; is the driver running?" in str(error)

    wait_for(named, "error")
    arm.disconnect()


def test_a_stop_without_states_commands_nothing(arm, driver):
    """To hold where the arm was a while ago would move it back there."""
    arm.move(np.full(6, 0.01), 0.0, WAIT_S)
    driver.silent = True
    with pytest.raises(ArmError):
        moves_until_it_fails(arm)
    received = driver.received
    arm.stop("test")
    with pytest.raises(ArmError):
        arm.is_still()
    assert driver.received == received


def test_a_stop_does_not_move_a_controller_that_was_away(robot, background):
    """What it did not hear of a step, it must not be told as the place to hold."""
    config = TrajectoryConfig(COMMANDS, STATES, "forward_position", state_timeout_s=0.5)
    with BackgroundNode("driver") as node:
        driver = StreamedDriver(
            node, robot.arm.ready_rad, robot.arm.joints, COMMANDS, STATES, velocities=False
        )
        with TrajectoryArm(robot, config, background.node) as arm:
            arm.move(np.full(6, 0.01), 0.0, WAIT_S)
            vars(driver).update(silent=True, deaf=True)
            with pytest.raises(ArmError):
                moves_until_it_fails(arm)
            place = driver.position
            vars(driver).update(silent=False, deaf=False)

            def still():
                arm.stop("test")
                with contextlib.suppress(ArmError):
                    return arm.is_still()

            wait_for(still, "standstill")
            np.testing.assert_allclose(driver.position, place, atol=1e-6)


def test_standstill_is_measured_by_what_the_driver_says(arm, driver):
    arm.move(np.full(6, 0.01), 0.0, WAIT_S)
    assert not arm.is_still()
    arm.stop("test")
    wait_for(arm.is_still, "standstill")


def test_a_driver_with_other_names_of_the_joints_needs_another_topic(robot, background):
    names = tuple(f"j2n6s300_{name}" for name in robot.arm.joints)
    with pytest.raises(ConfigError, match="namespace:=cell"):
        TrajectoryArm(
            robot, TrajectoryConfig(COMMANDS, STATES, driver_joints=names), background.node
        )


def test_the_command_of_the_readme_notices_a_dead_driver(driver, start, background):
    """The node must not take its own joint_states for the driver's."""
    start(
        ARM,
        "--ros-args",
        *(word for path in FILES for word in ("--params-file", path)),
        *parameters(
            backend="trajectory",
            trajectory__command_topic=COMMANDS,
            trajectory__state_topic=STATES,
            trajectory__state_timeout_s=0.5,
        )[1:],
    )
    learner = Driver(background)
    eventually(learner.status, lambda m: m.state == ArmStatus.READY)
    assert learner.reset().status.code == Status.OK
    driver.silent = True
    fault = eventually(learner.status, lambda m: m.state == ArmStatus.FAULT)
    assert "no joint states on /joint_states" in fault.reason
    accepted = fault.accepted
    for step in range(10):
        learner.act(1, step, [0.01] * 6)
        eventually(learner.status, lambda m: "rejected" in m.reason)
    assert eventually(learner.status, lambda m: True).accepted == accepted
    driver.silent = False

    def released():
        return learner.trigger("release").success

    wait_for(released, "release once the driver is back")
    publishers = background.node.get_publishers_info_by_topic(STATES)
    assert [info.node_name for info in publishers] == ["driver"]
