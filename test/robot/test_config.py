"""Settings are checked when they are made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bayes_curiosity_ros.errors import ConfigError, ModelFileError
from bayes_curiosity_ros.resources import find
from bayes_curiosity_ros.robot.config import (
    ArmConfig,
    CameraConfig,
    RobotConfig,
    SafetyConfig,
    TableConfig,
    WorldConfig,
)
from bayes_curiosity_ros.robot.world import build_world


def test_camera_inside_the_table_is_refused():
    with pytest.raises(ConfigError, match=r"inside the table.*raise it above"):
        WorldConfig(camera=CameraConfig(position_m=(0.3, 0.0, -0.01)))


def test_camera_below_the_table_is_allowed():
    WorldConfig(camera=CameraConfig(position_m=(0.3, 0.0, -0.3)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WorldConfig(physics_step_s=0.003, control_step_s=0.1), "no multiple"),
        (lambda: WorldConfig(physics_step_s=float("nan")), "physics_step_s = nan"),
        (lambda: CameraConfig(fovy_deg=180.0), "below 180"),
        (lambda: CameraConfig(position_m=(0, 0, 1.0), target_m=(0, 0, 0)), "straight above"),
        (lambda: TableConfig(size_m=(0.0, 1.0)), "must be > 0"),
        (lambda: SafetyConfig(workspace_upper_m=(-1.0, 1.0, 1.0)), "not below"),
        (lambda: ArmConfig("a", ("j",), "e", (0.0, 0.0), (1.0,)), "2 values for 1 joints"),
        (lambda: ArmConfig("a", ("j",), "e", (0.0,), (1.0,), speed_fraction=1.0), "exceeds 0.9"),
    ],
)
def test_bad_settings_name_value_and_bound(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arm: {urdff: x}", r"arm:.*'urdff'.*urdf"),
        ("arm: {urdf: x}", "missing joints"),
        ("arm: 3", "expected a mapping"),
        ("[1, 2]", "expected a mapping"),
        ("arm: {", "not YAML"),
    ],
)
def test_bad_yaml_names_the_setting(tmp_path: Path, text: str, message: str):
    path = tmp_path / "robot.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        RobotConfig.load(path)


def test_wrong_type_is_named(tmp_path: Path):
    path = tmp_path / "robot.yaml"
    path.write_text(
        find("config/robots", "jaco.yaml").read_text() + "world: {control_step_s: fast}\n"
    )
    with pytest.raises(ConfigError, match=r"control_step_s = 'fast'; expected float"):
        RobotConfig.load(path)


def test_unknown_link_and_joint_are_named(robot):
    with pytest.raises(ConfigError, match=r"link .*'claw'.*end_effector"):
        build_world(replace(robot, arm=replace(robot.arm, end_effector="claw")))
    joints = ("joint_1", "joint_2", "joint_3", "joint_4", "joint_5", "elbow")
    with pytest.raises(ConfigError, match=r"joint .*'elbow'.*joint_1"):
        build_world(replace(robot, arm=replace(robot.arm, joints=joints)))


def test_urdf_that_mujoco_cannot_compile_is_named(robot, tmp_path: Path):
    text = find("urdf", robot.arm.urdf).read_text()
    path = tmp_path / "massless.urdf"
    path.write_text(text.replace('<mass value="0.99"/>', '<mass value="0"/>', 1))
    with pytest.raises(ModelFileError, match=r"massless.urdf: MuJoCo cannot compile"):
        build_world(replace(robot, arm=replace(robot.arm, urdf=str(path))))
