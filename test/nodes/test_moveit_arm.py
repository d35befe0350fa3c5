"""The MoveIt arm against a fake with moveit_py's own signatures, and an emulated controller."""

import math
import sys
import threading

import numpy as np
import pytest

from bayes_curiosity_ros.bringup.table import nodes
from bayes_curiosity_ros.robot.arms.arm import ArmError, ArmStoppedError
from bayes_curiosity_ros.robot.arms.moveit import MoveitArm
from bayes_curiosity_ros.robot.arms.moveit_config import NODE, MoveitConfig
from bayes_curiosity_ros.robot.arms.trajectory_config import TrajectoryConfig
from support.drivers.running import MAX_SPEED_RAD_S, emulated, profile
from support.fake_moveit import FINGER, FakeMoveIt
from support.waiting import WAIT_S

PACKAGE = {"config_package": "gen3_moveit_config"}


@pytest.fixture(scope="module")
def driver():
    with emulated("ros2_control", "gen3") as process:
        yield process


@pytest.fixture
def robot():
    return profile("ros2_kortex")[0]


@pytest.fixture
def moveit(monkeypatch, robot):
    fake = FakeMoveIt(robot.arm.joints)
    fake.install(monkeypatch)
    return fake


@pytest.fixture
def make(robot, background):
    made = []

    def connected(**settings):
        topics = TrajectoryConfig(
            "/joint_trajectory_controller/joint_trajectory", "/joint_states", state_timeout_s=0.5
        )
        arm = MoveitArm(robot, MoveitConfig(trajectory=topics, **settings), background.node)
        made.append(arm)
        arm.connect(WAIT_S)
        return arm

    yield connected
    for arm in made:
        arm.disconnect()


def test_it_is_started_with_what_moveitcpp_asks_for(driver, moveit, make):
    arm = make(**PACKAGE, urdf_arguments=("robot_ip:=192.0.2.10",))
    started = moveit.started
    assert started["planning_pipelines"] == {"pipeline_names": ["ompl"]}
    assert started["plan_request_params"]["planning_pipeline"] == "ompl"
    assert started["planning_scene_monitor_options"]["robot_description"] == "robot_description"
    assert "192.0.2.10" in started["robot_description"]
    assert started["remappings"] == {"joint_states": "/joint_states"}
    arm.disconnect()
    assert moveit.shut_down


def test_a_packages_own_moveitcpp_file_prevails(driver, moveit, make):
    make(**PACKAGE, moveit_cpp_file="config/moveit_cpp.yaml")
    assert moveit.started["planning_pipelines"] == {"pipeline_names": ["ompl", "chomp"]}


def test_without_a_package_a_parameter_file_speaks_to_its_node(
    driver, moveit, make, monkeypatch, tmp_path
):
    own = tmp_path / "mine.yaml"
    own.write_text(
        f"/**/{NODE}:\n  ros__parameters:\n    planning_pipelines: {{pipeline_names: [ompl]}}\n"
    )
    monkeypatch.setattr(sys, "argv", ["arm", "--ros-args", "--params-file", str(own)])
    make().home(WAIT_S)
    assert moveit.started["planning_pipelines"] == {"pipeline_names": ["ompl"]}
    assert moveit.velocity_scale < 0.2  # though the file says nothing of it


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, f"MoveIt did not start: Failed to load planning pipelines .* node {NODE}"),
        ({"config_package": "no_moveit_config"}, "no_moveit_config cannot be read: package"),
    ],
)
def test_what_is_missing_is_named(driver, moveit, make, settings, words):
    with pytest.raises(ArmError, match=words):
        make(**settings)


def test_it_plans_the_way_home_no_faster_than_allowed(driver, moveit, make, robot):
    arm = make(**PACKAGE)
    assert arm.home(WAIT_S) is not None
    assert moveit.velocity_scale == pytest.approx(MAX_SPEED_RAD_S / 1.3963, rel=1e-3)
    assert moveit.velocity_scale * 1.3963 <= math.radians(10.0)
    moveit.executes = False
    with pytest.raises(ArmError, match="controller ended the way home: ABORTED"):
        arm.home(WAIT_S)
    moveit.plans = False
    with pytest.raises(ArmError, match="no way home"):
        arm.home(WAIT_S)


def test_an_unknown_group_is_named(driver, moveit, make):
    arm = make(**PACKAGE, group="arm")
    with pytest.raises(ArmError, match=r"Group 'arm' not found .*moveit\.group = 'arm'"):
        arm.home(WAIT_S)


def test_a_stop_ends_the_way_home(driver, moveit, make):
    arm = make(**PACKAGE)
    moveit.blocking = threading.Event()
    errors = []

    def go_home():
        try:
            arm.home(WAIT_S)
        except ArmError as error:
            errors.append(error)

    homing = threading.Thread(target=go_home)
    homing.start()
    assert moveit.blocking.wait(WAIT_S)
    arm.stop("a hand in the cell")
    homing.join(WAIT_S)
    assert moveit.stopped.is_set()
    assert isinstance(errors[0], ArmStoppedError)


def test_the_scene_forbids_a_step_and_knows_the_fingers(driver, moveit, make):
    arm = make(**PACKAGE)
    start = arm.state(WAIT_S).joints
    arm.move(np.full(6, 0.005), 0.0, WAIT_S)
    assert moveit.checked[FINGER] == 0.7  # as they are, not as a fresh state has them
    np.testing.assert_allclose(list(moveit.checked.values())[:6], start + 0.005, atol=1e-3)
    moveit.colliding = True
    with pytest.raises(ArmError, match="planning scene forbids"):
        arm.move(np.full(6, 0.01), 0.0, WAIT_S)


def test_arguments_reach_its_topics():
    given = {"arm": "moveit", "command_topic": "/a", "state_topic": "/b"}
    arm = next(spec for spec in nodes(given) if spec.name == "arm")
    assert arm.parameters["moveit.trajectory.command_topic"] == "/a"
    assert arm.parameters["moveit.trajectory.state_topic"] == "/b"


def test_without_moveit_it_says_how_to_install_it(robot, background):
    with pytest.raises(ArmError, match="ros-jazzy-moveit-py"):
        MoveitArm(robot, MoveitConfig(), background.node)
