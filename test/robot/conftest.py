"""What most tests of the robot start from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.stepper import Stepper
from bayes_curiosity_ros.robot.supervision import SupervisorConfig
from bayes_curiosity_ros.robot.supervisor import ArmSupervisor
from bayes_curiosity_ros.robot.world import World, build_world
from support.supervised import Clock, RecordingArm


@pytest.fixture(scope="session")
def robot() -> RobotConfig:
    return RobotConfig.load("jaco.yaml")


@pytest.fixture(scope="session")
def world(robot: RobotConfig) -> World:
    return build_world(robot)


@pytest.fixture(scope="session")
def marker_robot(robot: RobotConfig) -> RobotConfig:
    """The same cell with an object that nothing can touch."""
    marker = replace(robot.world.object, tangible=False)
    return replace(robot, world=replace(robot.world, object=marker))


@pytest.fixture
def stepper(world: World) -> Stepper:
    return Stepper(world, threads=1)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture
def arm() -> RecordingArm:
    return RecordingArm()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make(arm: RecordingArm, clock: Clock) -> Callable[..., ArmSupervisor]:
    """Function that makes an active supervisor, which waits for nothing."""

    def build(**options: Any) -> ArmSupervisor:
        supervisor = ArmSupervisor(arm, SupervisorConfig(**options), clock, clock.pause)
        supervisor.activate(1.0)
        return supervisor

    return build
