"""ros2_kortex, Universal Robots and bare ros2_control, by each of their interfaces."""

import numpy as np
import pytest
from control_msgs.action import FollowJointTrajectory
from sensor_msgs.msg import JointState

from bayes_curiosity_ros.robot.arms.arm import Arm, ArmError
from bayes_curiosity_ros.robot.arms.goals import Goals
from bayes_curiosity_ros.robot.arms.trajectory import TrajectoryArm
from bayes_curiosity_ros.robot.config import RobotConfig
from support.drivers.running import emulated, profile
from support.graph import eventually, inbox
from support.waiting import WAIT_S, wait_for

FOLLOW = "/joint_trajectory_controller/follow_joint_trajectory"
REST = {"overlap_s": 0.0, "settle_s": 5.0}
INTERFACES = {
    "topic, passing on": {},
    "topic, at rest between steps": REST,
    "action": REST | {"interface": "trajectory_action", "command_topic": FOLLOW},
    "forward position": REST
    | {"interface": "forward_position", "command_topic": "/forward_position_controller/commands"},
    "forward velocity": {
        "interface": "forward_velocity",
        "command_topic": "/forward_velocity_controller/commands",
    },
}


@pytest.fixture(scope="module")
def gen3():
    with emulated("ros2_control", "kortex") as process:
        yield process


@pytest.fixture
def make(background):
    made = []

    def connected(name, **changes):
        arm = TrajectoryArm(*profile(name, **changes), background.node)
        made.append(arm)
        arm.connect(WAIT_S)
        return arm

    yield connected
    for arm in made:
        arm.disconnect()


@pytest.mark.parametrize("changes", INTERFACES.values(), ids=INTERFACES)
def test_it_goes_where_it_is_told_and_stands_when_nothing_comes(gen3, make, background, changes):
    arm = make("ros2_kortex", **changes)
    assert isinstance(arm, Arm)
    states = inbox(background, JointState, "/joint_states", 10)
    for sign in (1.0, -1.0):
        steps = [arm.move(np.full(6, 0.01 * sign), 0.0, WAIT_S).deltas for _ in range(3)]
        # Else a busy machine, late with a step, lengthens the one before. A stream that is held up
        # stands, and seems to have ended; the next step has what it lacks.
        if "settle_s" in changes:
            streamed = changes.get("interface") == "forward_position"
            found, wanted = (sum(steps), 0.03) if streamed else (steps, 0.01)
            np.testing.assert_allclose(found, wanted * sign, rtol=0.05)
    # Nobody stops it: what was the last step ends by itself, and a stream ends in rest.
    wait_for(lambda: not any(_newest(states).velocity), "standstill")
    arm.stop("enough")
    arm.release()
    np.testing.assert_allclose(arm.home(WAIT_S).joints, arm.robot.arm.ready_rad, atol=0.03)


def _newest(states):
    while states.qsize() > 1:
        states.get()
    return eventually(states, lambda m: True)


def test_its_gripper_goes_by_action_and_is_measured(gen3, make):
    arm = make("ros2_kortex")
    arm.move(np.zeros(6), 1.0, WAIT_S)
    wait_for(lambda: arm.state(WAIT_S).gripper > 0.95, "closed gripper")
    arm.move(np.zeros(6), 0.0, WAIT_S)
    wait_for(lambda: arm.state(WAIT_S).gripper < 0.05, "open gripper")


def test_a_rejected_trajectory_is_an_error(gen3, make, monkeypatch):
    arm = make("ros2_kortex", **INTERFACES["action"])
    send = Goals.send

    def with_wrong_names(goals, goal, ended):
        if isinstance(goal, FollowJointTrajectory.Goal):
            goal.trajectory.joint_names = ["elbow"]
        send(goals, goal, ended)

    monkeypatch.setattr(Goals, "send", with_wrong_names)
    with pytest.raises(ArmError, match=r"rejected a trajectory; are trajectory\.driver_joints"):
        arm.move(np.full(6, 0.01), 0.0, WAIT_S)


def test_a_trajectory_that_was_given_up_is_an_error(gen3, make, monkeypatch):
    arm = make("ros2_kortex", **INTERFACES["action"] | {"settle_s": 0.0})
    result = FollowJointTrajectory.Result(error_string="joint_3 lags behind")
    result.error_code = result.PATH_TOLERANCE_VIOLATED
    monkeypatch.setattr(Goals, "send", lambda goals, goal, ended: ended(result))
    with pytest.raises(ArmError, match=r"gave up a trajectory \(error -4\): joint_3 lags behind"):
        arm.move(np.full(6, 0.01), 0.0, WAIT_S)


def test_an_absent_gripper_is_named(gen3, background):
    gripper = {"interface": "gripper_command", "name": "/no_such/gripper_cmd"}
    robot, config = profile("ros2_kortex", gripper=gripper)
    arm = TrajectoryArm(robot, config, background.node)
    heard = background.node.count_subscribers
    wait_for(lambda: heard(config.command_topic) > 0, "driver that listens")
    with pytest.raises(ArmError, match="nobody listens to action /no_such/gripper_cmd"):
        arm.connect(1.0)


def test_a_gripper_that_the_model_does_not_know_is_refused(gen3, background):
    """The README's old pairing: a Gen3's states with a robot file that has no such hand."""
    _, config = profile("ros2_kortex", overlap_s=0.0, driver_fingers=[], gripper={})
    arm = TrajectoryArm(RobotConfig.load("gen3.yaml"), config, background.node)
    with pytest.raises(ArmError, match="also tell of robotiq_85_left_knuckle_joint"):
        arm.connect(WAIT_S)


def test_joints_of_something_else_can_be_named(gen3, background):
    others = ["robotiq_85_left_knuckle_joint"]
    _, config = profile(
        "ros2_kortex", overlap_s=0.0, driver_fingers=[], gripper={}, other_joints=others
    )
    with TrajectoryArm(RobotConfig.load("gen3.yaml"), config, background.node) as arm:
        assert arm.state(WAIT_S).gripper == 0.0
