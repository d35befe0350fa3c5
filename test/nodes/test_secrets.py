"""A password reaches the node that needs it, and nobody can get it out again."""

import os
from pathlib import Path

import numpy as np
import pytest
from rcl_interfaces.msg import ParameterEvent
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters
from rclpy.node import Node
from rclpy.parameter import Parameter

from bayes_curiosity_interfaces.msg import ArmStatus
from bayes_curiosity_ros.bringup.arguments import defaults
from bayes_curiosity_ros.bringup.table import nodes, parameter_files
from bayes_curiosity_ros.environment import launched, node_environment
from bayes_curiosity_ros.nodes.parameters import declare
from bayes_curiosity_ros.robot.arms.kortex import KortexConfig
from bayes_curiosity_ros.robot.config import RobotConfig
from support.driver import ARM
from support.graph import eventually, inbox, parameters
from support.loopback_arm import PASSWORD, VENDOR, LoopbackArm
from support.processes import output_of, stopped
from support.waiting import WAIT_S, wait_for

NAME = "kortex.password"


@pytest.fixture
def own_file(tmp_path) -> Path:
    file = tmp_path / "mine.yaml"
    file.write_text(f"/**/arm:\n  ros__parameters:\n    {NAME}: {PASSWORD}\n")
    return file


def words(*more: str, **given: object) -> list[str]:
    files = parameter_files(defaults() | {"arm": "kortex"})
    loaded = [word for path in (*files, *more) for word in ("--params-file", path)]
    return ["--ros-args", *loaded, *parameters(backend="kortex", **given)[1:]]


def test_a_password_from_a_file_opens_the_arm_and_cannot_be_read_back(
    own_file, start, background, monkeypatch
):
    monkeypatch.delenv("KORTEX_PASSWORD", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(VENDOR), prepend=os.pathsep)
    status = inbox(background, ArmStatus, "arm/status")
    ready = np.degrees(RobotConfig.load("gen3.yaml").arm.ready_rad) % 360.0
    with LoopbackArm(ready) as hardware:
        where = {"kortex__ip": "127.0.0.1", "kortex__port": hardware.port}
        arm = start(ARM, *words(str(own_file), **where, kortex__guard=False))
        eventually(status, lambda m: m.state == ArmStatus.READY)
        known = call(background, ListParameters, "list").result.names
        got = call(background, GetParameters, "get", names=[NAME]).values
        described = call(background, DescribeParameters, "describe", names=[NAME]).descriptors
        everything = call(background, GetParameters, "get", names=list(known)).values
        command_line = Path(f"/proc/{arm.pid}/cmdline").read_bytes()
        printed = stopped(arm)
    assert "kortex.username" in known
    assert NAME not in known
    assert not any(value.type for value in got)
    assert not any(one.type for one in described)
    assert PASSWORD not in {value.string_value for value in everything}
    assert PASSWORD.encode() not in command_line.split(b"\0")
    assert PASSWORD not in printed.split()


def test_no_event_tells_of_a_password(background):
    given = [Parameter(NAME, value=PASSWORD)]
    node = Node("safe", context=background.node.context, parameter_overrides=given)
    events = inbox(background, ParameterEvent, "/parameter_events")
    publisher = node._parameter_event_publisher
    wait_for(lambda: publisher.get_subscription_count() > 0, "listener to events")
    assert declare(node, KortexConfig(), "kortex.").password == PASSWORD
    told = set()
    while "kortex.reach_timeout_s" not in told:  # the last field
        told |= {one.name for one in events.get(timeout=WAIT_S).new_parameters}
    node.destroy_node()
    assert "kortex.username" in told
    assert NAME not in told


def call(background, kind, verb: str, **request):
    name = f"arm/{verb}_parameters"
    return background.call(kind, name, kind.Request(**request), WAIT_S)


def test_a_password_on_the_command_line_is_refused(start):
    arm = start(ARM, *words(kortex__ip="127.0.0.1", kortex__password="open sesame"))
    printed = output_of(arm)
    assert f"{NAME} is on the command line, which every user of this machine can read" in printed
    assert "sesame" not in printed
    assert arm.returncode == 2


def test_no_representation_of_the_settings_has_the_password(monkeypatch):
    config = KortexConfig(ip="127.0.0.1", password="open sesame")
    assert "sesame" not in f"{config} {config.link()}"
    assert config.link().password == "open sesame"


@pytest.mark.parametrize(("arm", "who"), [("kortex", {"arm"}), ("sim", set())])
def test_the_password_in_the_environment_reaches_the_arm_that_needs_it_alone(
    arm, who, monkeypatch
):
    monkeypatch.setenv("KORTEX_PASSWORD", PASSWORD)
    given = {"arm": arm, "record": "true", "robot_ip": "127.0.0.1"}
    specs = nodes(given)
    assert len(specs) >= 5
    assert who == {s.name for s in specs if PASSWORD in node_environment(s.withheld).values()}
    launch = {s.name: {**os.environ, **launched(s.withheld)} for s in specs}
    assert who == {
        name for name, environment in launch.items() if PASSWORD in environment.values()
    }
