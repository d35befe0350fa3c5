"""Emulated arms that move on their own, each with an arm node of ours as a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayes_curiosity_interfaces.msg import ArmState, ArmStatus
from bayes_curiosity_ros.bringup.arguments import defaults
from bayes_curiosity_ros.bringup.table import parameter_files
from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS
from bayes_curiosity_ros.robot.config import RobotConfig
from support.driver import ARM, Driver
from support.graph import parameters
from support.joint_driver import JointDriver, StreamedDriver
from support.loopback_arm import PASSWORD, VENDOR, LoopbackArm

COMMANDS, STATES = "driver/command", "driver/state"
TOPICS = {"trajectory__command_topic": COMMANDS, "trajectory__state_topic": STATES}
# An emulated arm, the parameters of its node, and additions to the node's environment.
Hardware = tuple[Any, dict[str, object], dict[str, str]]


@dataclass
class Rig:
    """One arm, its node, and who commands it.

    Attributes:
        hardware: the emulated arm.
        learner: commands the node and hears it.
        process: the node.
        statuses: (steady time, state) of every status.
        moving: set while commands are sent.
    """

    hardware: Any
    learner: Driver
    process: subprocess.Popen[bytes]
    statuses: list[tuple[float, int]] = field(default_factory=list)
    moving: threading.Event = field(default_factory=threading.Event)


@contextmanager
def kortex_hardware() -> Iterator[Hardware]:
    """The arm, parameters of its node, and its environment."""
    ready = RobotConfig.load("gen3.yaml").arm.ready_rad
    with LoopbackArm(np.degrees(ready) % 360.0) as hardware:
        paths = os.pathsep.join([str(VENDOR), os.environ.get("PYTHONPATH", "")])
        yield (
            hardware,
            {"backend": "kortex", "kortex__ip": "127.0.0.1", "kortex__port": hardware.port},
            {"KORTEX_PASSWORD": PASSWORD, "PYTHONPATH": paths},
        )


@contextmanager
def trajectory_hardware() -> Iterator[Hardware]:
    arm = RobotConfig.load("jaco.yaml").arm
    with BackgroundNode("driver") as node:
        driver = JointDriver(node, arm.ready_rad, arm.joints, COMMANDS, STATES)
        yield driver, {"backend": "trajectory"} | TOPICS, {}


@contextmanager
def streamed_hardware(interface: str) -> Iterator[Hardware]:
    """A forward controller that executes the last thing it heard."""
    arm = RobotConfig.load("jaco.yaml").arm
    given = {"backend": "trajectory", "trajectory__interface": interface} | TOPICS
    velocities = interface == "forward_velocity"
    with BackgroundNode("driver") as node:
        driver = StreamedDriver(node, arm.ready_rad, arm.joints, COMMANDS, STATES, velocities)
        yield driver, given, {}


class SimulatedHardware:
    """The simulated arm, seen through its states."""

    def __init__(self, node: Any) -> None:
        self.track: list[tuple[float, np.ndarray]] = []
        node.create_subscription(ArmState, "arm/state", self._take, EPISODE_QOS)

    def _take(self, message: ArmState) -> None:
        self.track.append((time.monotonic(), np.array(message.positions[:6])))


@contextmanager
def simulated_hardware() -> Iterator[Hardware]:
    with BackgroundNode("watcher") as background:
        yield SimulatedHardware(background.node), {"backend": "sim"}, {}


HARDWARE: dict[str, Callable[[], AbstractContextManager[Hardware]]] = {
    "sim": simulated_hardware,
    "kortex": kortex_hardware,
    "trajectory": trajectory_hardware,
    "forward_position": lambda: streamed_hardware("forward_position"),
    "forward_velocity": lambda: streamed_hardware("forward_velocity"),
}


def command(given: Mapping[str, object]) -> list[str]:
    files = parameter_files(defaults() | {"arm": str(given["backend"])})
    words = [word for path in files for word in ("--params-file", str(path))]
    return [sys.executable, "-m", ARM, "--ros-args", *words, *parameters(**given)[1:]]


@contextmanager
def rigged(arm: str, changes: Mapping[str, object]) -> Iterator[Rig]:
    """An arm of a kind, with parameters of its node that differ."""
    with ExitStack() as stack:
        background = stack.enter_context(BackgroundNode("learner"))
        hardware, given, environment = stack.enter_context(HARDWARE[arm]())
        process = subprocess.Popen(
            command(given | changes),
            env=os.environ | environment,
            stdout=stack.enter_context(tempfile.TemporaryFile()),
            stderr=subprocess.STDOUT,
        )
        stack.callback(_end, process)
        rig = Rig(hardware, Driver(background), process)
        background.node.create_subscription(
            ArmStatus, "arm/status", lambda m: rig.statuses.append((time.monotonic(), m.state)), 50
        )
        yield rig


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGCONT)
        process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(15.0)
    process.kill()
    process.wait()
