"""The trajectory arm against a controller that is a real ROS node."""

import contextlib
import threading
from dataclasses import replace

import numpy as np
import pytest
from std_msgs.msg import Float64

from bayes_curiosity_interfaces.msg import ArmStatus, Status
from bayes_curiosity_ros.bringup.arguments import defaults
from bayes_curiosity_ros.bringup.table import parameter_files
from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.robot.arms.arm import Arm, ArmError, ArmStoppedError
from bayes_curiosity_ros.robot.arms.trajectory import GripperLink, TrajectoryArm, TrajectoryConfig
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.safety import Change
from support.driver import ARM, Driver
from support.graph import eventually, parameters
from support.joint_driver import JointDriver
from support.waiting import WAIT_S, wait_for

COMMANDS, STATES = "driver/command", "driver/state"
NAMES = tuple(f"j2n6s300_joint_{index}" for index in range(1, 7))
# The longest wait for joint states that is allowed: a busy machine may be late with them.
CONFIG = TrajectoryConfig(
    command_topic=COMMANDS, state_topic=STATES, driver_joints=NAMES, state_timeout_s=0.5
)
TIMEOUT_S = WAIT_S
FILES = parameter_files(defaults() | {"arm": "trajectory"})


@pytest.fixture(scope="module")
def robot():
    return RobotConfig.load("jaco.yaml")


@pytest.fixture
def controller(robot):
    with BackgroundNode("controller") as node:
        node.node.create_subscription(Float64, "driver/gripper", lambda message: None, 10)
        driver = JointDriver(node, robot.arm.ready_rad, NAMES, COMMANDS, STATES)
        driver.fingers = {"a_finger": 0.5}
        yield driver


@pytest.fixture
def arm(robot, controller, background):
    arm = TrajectoryArm(robot, CONFIG, background.node)
    arm.connect(TIMEOUT_S)
    yield arm
    arm.disconnect()


def test_it_is_an_arm_that_goes_where_it_is_told(arm, robot):
    assert isinstance(arm, Arm)
    start = arm.state(TIMEOUT_S).joints
    np.testing.assert_allclose(start, robot.arm.ready_rad, atol=1e-6)
    executed = arm.move(np.full(6, 0.01), 0.0, TIMEOUT_S)
    assert executed.changes == Change.NONE
    wait_for(lambda: np.allclose(arm.state(TIMEOUT_S).joints, start + 0.01, atol=2e-3), "arrival")


def test_the_filter_knows_the_fingers_or_reckons_with_all(arm, robot, controller, background):
    assert arm.gripper_way(0.3, 0.6) == (0.0, 1.0)  # nobody commands them here
    commanded = replace(CONFIG, gripper=GripperLink("float64", "driver/gripper"))
    told = TrajectoryArm(robot, commanded, background.node)
    assert told.gripper_way(0.3, 0.6) == (0.0, 0.6)  # an object may hold them open
    measured = replace(commanded, driver_fingers=("a_finger",))
    with TrajectoryArm(robot, measured, background.node) as seen:
        assert seen.state(TIMEOUT_S).gripper == pytest.approx(0.3)  # 0.5 of 0.2 … 1.2 rad
        assert seen.gripper_way(0.3, 0.6) == (0.3, 0.6)


def test_nonsense_and_too_much_are_cut(arm):
    start = arm.state(TIMEOUT_S).joints
    assert arm.move(np.full(6, np.nan), 0.0, TIMEOUT_S).changes & Change.NOT_FINITE
    np.testing.assert_allclose(arm.state(TIMEOUT_S).joints, start, atol=1e-6)
    assert arm.move(np.full(6, 1.0), 0.0, TIMEOUT_S).changes & Change.VELOCITY


def test_a_cut_command_stream_ends_in_standstill(arm, controller):
    for _ in range(3):
        arm.move(np.full(6, 0.03), 0.0, TIMEOUT_S)
    # Nobody stops it: a trajectory of one step ends by itself.
    wait_for(controller.stands, "standstill")


def test_a_stop_interrupts_a_motion_and_is_latched(arm, controller, monkeypatch):
    finish = arm.finish

    def stopped_from_another_thread():
        operator = threading.Thread(target=arm.stop, args=["a hand in the cell"])
        operator.start()
        operator.join(WAIT_S)
        finish()

    monkeypatch.setattr(arm, "finish", stopped_from_another_thread)
    with pytest.raises(ArmStoppedError, match="a hand in the cell"):
        arm.move(np.full(6, 0.03), 0.0, TIMEOUT_S)
    wait_for(controller.stands, "standstill")
    with pytest.raises(ArmStoppedError):
        arm.move(np.zeros(6), 0.0, TIMEOUT_S)
    monkeypatch.undo()
    arm.release()
    arm.move(np.zeros(6), 0.0, TIMEOUT_S)


def test_a_step_that_its_driver_hears_late_is_waited_for(
    robot, controller, background, monkeypatch
):
    """Else nothing would count as executed, and the motion as part of the next step."""
    patient = replace(CONFIG, settle_s=WAIT_S)
    with TrajectoryArm(robot, patient, background.node) as arm:
        send = arm._commands.step

        def send_late(step):
            threading.Timer(0.3, send, [step]).start()

        monkeypatch.setattr(arm._commands, "step", send_late)
        executed = arm.move(np.full(6, 0.01), 0.0, TIMEOUT_S)
        np.testing.assert_allclose(executed.deltas, 0.01, rtol=0.05)


def test_turns_of_a_continuous_joint_do_not_matter(arm, controller, robot):
    controller.put(controller.position - [2 * np.pi, 0, 0, 0, 0, 0])
    ready = robot.arm.ready_rad[0]
    wait_for(lambda: arm.measure(TIMEOUT_S).joints[0] < ready - np.pi, "turned joint state")
    assert arm.state(TIMEOUT_S).joints[0] == pytest.approx(ready, abs=1e-6)
    arm.move(np.full(6, 0.01), 0.0, TIMEOUT_S)
    assert abs(controller.target[0] - controller.position[0]) < 0.05


def test_silent_joint_states_are_an_error(arm, controller):
    def ask_on():
        for _ in range(100):  # the newest one is good for half a second
            arm.move(np.zeros(6), 0.0, TIMEOUT_S)

    controller.silent = True
    with pytest.raises(ArmError, match="no joint states on /driver/state"):
        ask_on()
    controller.silent = False


def test_a_gripper_that_is_told_of_late_is_refused_too(controller, background):
    """It may have a driver of its own, which starts when it pleases."""
    bare = RobotConfig.load("gen3.yaml")
    controller.fingers = {}
    controller.put(bare.arm.ready_rad)
    with TrajectoryArm(bare, CONFIG, background.node) as arm:
        arm.state(TIMEOUT_S)
        controller.fingers = {"knuckle": 0.1}

        def refused():
            try:
                arm.state(TIMEOUT_S)
            except ArmError as error:
                return "also tell of knuckle, but the robot file has no gripper" in str(error)

        wait_for(refused, "error")


def test_it_goes_home(arm, robot):
    for _ in range(2):
        arm.move(np.full(6, 0.03), 0.0, TIMEOUT_S)
    state = arm.home(TIMEOUT_S)
    np.testing.assert_allclose(state.joints, robot.arm.ready_rad, atol=0.03)


def test_an_absent_driver_and_unknown_names_are_named(robot, background):
    other = TrajectoryArm(robot, replace(CONFIG, command_topic="nobody/command"), background.node)
    with pytest.raises(ArmError, match="nobody listens to /nobody/command"):
        other.connect(0.2)


def test_unknown_joints_are_named(robot, background, controller):
    other = TrajectoryArm(robot, replace(CONFIG, driver_joints=()), background.node)
    heard = background.node.count_subscribers
    wait_for(lambda: heard(CONFIG.command_topic) > 0, "driver that listens")
    with pytest.raises(ArmError, match=r"no joint states .* joint_1"):
        other.connect(1.0)


def test_the_arm_node_drives_it_after_the_operators_word(controller, start, background):
    """The whole way: reset confirmed by the operator, a step, silence, a stop in mid-motion."""
    start(
        ARM,
        "--ros-args",
        *(word for path in FILES for word in ("--params-file", path)),
        *parameters(
            backend="trajectory",
            trajectory__command_topic=COMMANDS,
            trajectory__state_topic=STATES,
            trajectory__driver_joints=f"[{','.join(NAMES)}]",
            trajectory__state_timeout_s=CONFIG.state_timeout_s,
        )[1:],
    )
    learner = Driver(background)

    def moved():
        """Whether the first step was done; said again until the arm has heard of us."""
        learner.act(1, 0, [0.01] * 6)
        with contextlib.suppress(AssertionError):
            return eventually(learner.states, lambda m: (m.episode, m.step) == (1, 1), 0.5)

    eventually(learner.status, lambda m: m.state == ArmStatus.READY)
    status = learner.reset(1, confirmed=False).status
    assert status.code == Status.NOT_READY
    assert "call arm/confirm" in status.message
    assert learner.trigger("confirm").success
    assert learner.reset(1, confirmed=False).status.code == Status.OK
    wait_for(moved, "first step")
    halted = eventually(learner.status, lambda m: "halted: no command for" in m.reason)
    assert "the episode is over" in halted.reason
    wait_for(controller.stands, "standstill")
    learner.act(1, 1, [0.01] * 6)
    eventually(learner.status, lambda m: "action (1, 1) rejected" in m.reason)
    assert learner.trigger("stop").success
    assert learner.trigger("confirm").success
    assert learner.reset(2, confirmed=False).status.code == Status.STOPPED
    assert learner.trigger("release").success
