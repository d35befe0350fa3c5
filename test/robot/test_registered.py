"""What holds for every arm and every camera that is registered."""

from __future__ import annotations

import dataclasses
import inspect
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.arms.arm import ARMS, Arm, ArmInputs, PlacedArm
from bayes_curiosity_ros.robot.arms.settings import ArmNodeConfig
from bayes_curiosity_ros.robot.cameras.camera import CAMERAS, Camera, PosedCamera
from bayes_curiosity_ros.robot.cameras.settings import CameraNodeConfig
from bayes_curiosity_ros.robot.config import RobotConfig

DOCUMENT = (Path(__file__).parents[2] / "docs" / "robot.md").read_text()
arms = pytest.mark.parametrize("entry", list(ARMS), ids=lambda entry: entry.name)
cameras = pytest.mark.parametrize("entry", list(CAMERAS), ids=lambda entry: entry.name)


def made_by(entry) -> type:
    """The class that an entry's factory says it makes."""
    return typing.get_type_hints(entry.make)["return"]


def require_obeys(kind: type, protocol: type) -> None:
    """Every property and method of the protocol is there, with the same parameters."""
    for name, wanted in inspect.getmembers(protocol):
        there = getattr(kind, name, None)
        if name.startswith("_"):
            continue
        if isinstance(wanted, property):
            assert isinstance(there, property), f"{kind.__name__} has no property {name}"
        else:
            assert callable(there), f"{kind.__name__} has no method {name}"
            assert names_of(there) == names_of(wanted), f"{kind.__name__}.{name}"


def names_of(method) -> list[str]:
    return list(inspect.signature(method).parameters)


def section(of: str) -> str:
    """What docs/robot.md says under a heading of the second level."""
    return re.split(r"^## ", DOCUMENT.partition(f"\n## {of}\n")[2], flags=re.MULTILINE)[0]


@arms
def test_an_arm_obeys_its_protocol(entry):
    require_obeys(made_by(entry), Arm)
    if not entry.real:
        require_obeys(made_by(entry), PlacedArm)


@cameras
def test_a_camera_obeys_its_protocol(entry):
    require_obeys(made_by(entry), Camera)
    if hasattr(made_by(entry), "pose"):
        require_obeys(made_by(entry), PosedCamera)


class DeclaredError(Exception):
    """An arm asked for its settings: they are known, and no driver is wanted."""


def settings_of(entry) -> set[str]:
    """Names of the parameters that an arm declares."""

    def names(default, prefix):
        for field in dataclasses.fields(default):
            value = getattr(default, field.name)
            nested = dataclasses.is_dataclass(value)
            yield from names(value, f"{prefix}{field.name}.") if nested else [prefix + field.name]

    def declare(default, prefix):
        raise DeclaredError(set(names(default, prefix)))

    inputs = ArmInputs(RobotConfig.load(entry.robot), declare, None, 10.0, lambda: None)
    with pytest.raises(DeclaredError) as raised:
        entry.make(inputs)
    return raised.value.args[0]


@arms
def test_an_arms_arguments_set_parameters_that_it_declares(entry):
    assert set(entry.needs) <= entry.parameters.keys()
    if entry.parameters:
        assert set(entry.parameters.values()) <= settings_of(entry)


@arms
def test_an_arms_own_robot_file_can_be_read(entry):
    assert RobotConfig.load(entry.robot).arm.joints


@arms
def test_an_arm_has_a_section_of_documentation(entry):
    assert f"\n### `{entry.name}`\n" in section("Arms")


@cameras
def test_a_camera_has_a_section_of_documentation(entry):
    assert f"\n### `{entry.name}`\n" in section("Cameras")


def test_an_unknown_one_is_refused_with_the_names_there_are():
    with pytest.raises(ConfigError, match=r"unknown arm 'ur5'.*kortex,.*moveit,.*sim,.*traject"):
        ArmNodeConfig(backend="ur5")
    with pytest.raises(ConfigError, match=r"unknown camera 'eye'.*realsense,.*sim,.*topics"):
        CameraNodeConfig(backend="eye")


@arms
def test_a_real_arm_always_checks_and_never_resumes(entry):
    if not entry.real:
        assert ArmNodeConfig(backend=entry.name).load_robot().safety.collisions is False
        return
    with pytest.raises(ConfigError, match="a real arm always checks"):
        ArmNodeConfig(backend=entry.name)
    with pytest.raises(ConfigError, match="begins a new episode"):
        ArmNodeConfig(backend=entry.name, collisions=True)


def test_without_ros_its_drivers_are_left_out_and_errors_say_so():
    code = (
        "import sys; sys.modules['rclpy'] = None\n"
        "from bayes_curiosity_ros.robot.arms.arm import ARMS\n"
        "from bayes_curiosity_ros.robot.cameras.camera import CAMERAS\n"
        "print(*ARMS.names(), *CAMERAS.names())\n"
        "try:\n"
        "    ARMS['trajectory']\n"
        "except Exception as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names, error = done.stdout.splitlines()
    assert names == "kortex sim realsense sim"
    assert "robot.arms.trajectory needs rclpy, which is not installed" in error
