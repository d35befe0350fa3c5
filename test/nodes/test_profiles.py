"""Every pairing of a driver with a robot file that the documents name, against such a driver."""

import re
from pathlib import Path

import numpy as np
import pytest

from bayes_curiosity_interfaces.msg import ArmStatus
from bayes_curiosity_ros.bringup.table import nodes
from bayes_curiosity_ros.bringup.up import command_of
from bayes_curiosity_ros.robot.arms.arm import ArmError
from bayes_curiosity_ros.robot.arms.trajectory import TrajectoryArm
from support.driver import ARM, Driver
from support.drivers.running import emulated, profile
from support.graph import eventually
from support.waiting import WAIT_S, wait_for

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"params_file:=([\w.]+)")
# What a user types, and the driver that it is for. The Jaco's own is in test_jaco_gen2.py.
PAIRINGS = {
    "ros2_kortex with a Robotiq": ({"params_file": "ros2_kortex.yaml"}, "kortex"),
    "Universal Robots": ({"params_file": "ur.yaml"}, "ur"),
    "ros2_kortex with a bare flange, by topics": (
        {
            "command_topic": "/joint_trajectory_controller/joint_trajectory",
            "state_topic": "/joint_states",
            "robot": "gen3.yaml",
        },
        "gen3",
    ),
}
# A busy machine may be late with states and commands.
PATIENT = [
    *("-p", "trajectory.state_timeout_s:=0.5"),
    *("-p", "trajectory.overlap_s:=0.0"),
    *("-p", "trajectory.settle_s:=5.0"),
]
OLDER = {
    "interface": "gripper_command",
    "name": "/robotiq_gripper_controller/gripper_cmd",
    "closed": 0.34,
}


@pytest.fixture
def controlled(driver):
    """The driver; it is there until the arm's node has ended, which else tries on to stop it."""
    with emulated("ros2_control", driver):
        yield


def test_every_file_that_the_documents_name_is_run():
    pages = (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
    named = {name for page in pages for name in NAMED.findall(page.read_text())}
    run = {given["params_file"] for given, _ in PAIRINGS.values() if "params_file" in given}
    assert {name for name in named if not name.startswith("my")} == run | {"jaco_gen2.yaml"}


@pytest.mark.parametrize(("given", "driver"), PAIRINGS.values(), ids=PAIRINGS)
def test_a_documented_pairing_moves_the_arm(controlled, start, background, given, driver):
    specs = nodes({"arm": "trajectory", "simulated_operator": "true", **given})
    words = command_of(next(spec for spec in specs if spec.name == "arm"))
    start(ARM, *words[words.index("--ros-args") :], *PATIENT)
    learner = Driver(background)
    eventually(learner.status, lambda m: m.state == ArmStatus.READY)
    assert learner.reset().status.code == 0
    learner.act(1, 0, deltas=(0.01, -0.01) * 3)
    moved = learner.reached(1, 1)
    np.testing.assert_allclose(moved.executed_deltas, moved.requested_deltas, rtol=0.05)


def test_the_older_gripper_action_is_spoken_too(background):
    robot, config = profile("ros2_kortex", gripper=OLDER)
    with (
        emulated("ros2_control", "kortex_older"),
        TrajectoryArm(robot, config, background.node) as arm,
    ):
        arm.move(np.zeros(6), 1.0, WAIT_S)
        wait_for(lambda: arm.state(WAIT_S).gripper > 0.95, "closed gripper")


def test_a_gen3_with_the_jacos_file_is_told_what_is_wrong(background):
    """What the README once paired: it said to move the arm back by hand."""
    robot, _ = profile("jaco_gen2")
    _, config = profile("ros2_kortex", overlap_s=0.0, driver_fingers=[], gripper={})
    arm = TrajectoryArm(robot, config, background.node)
    with (
        emulated("ros2_control", "kortex"),
        pytest.raises(ArmError, match="is this the file of the arm that is there"),
    ):
        arm.connect(WAIT_S)


def test_steps_that_pass_into_each_other_need_frequent_states(background):
    robot, config = profile("jaco_gen2", overlap_s=0.06, settle_s=0.0)
    arm = TrajectoryArm(robot, config, background.node)
    with (
        emulated("jaco"),
        pytest.raises(ArmError, match=r"too rarely for steps of 0\.1 s"),
    ):
        arm.connect(WAIT_S)
