"""Emulated drivers in processes of their own, and what shipped profiles say of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bayes_curiosity_ros.configuration.settings import build, read_yaml
from bayes_curiosity_ros.resources import shared
from bayes_curiosity_ros.robot.arms.trajectory_config import TrajectoryConfig
from bayes_curiosity_ros.robot.config import RobotConfig
from support.processes import die_with_parent
from support.waiting import WAIT_S

TESTS = Path(__file__).parents[2]
# The longest waits that are allowed: a busy machine may be late.
PATIENCE = {"state_timeout_s": 0.5}
MAX_SPEED_RAD_S = 0.1745


@contextmanager
def emulated(driver: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A driver that runs: "jaco", or "ros2_control" with the arm that it has."""
    paths = [str(TESTS), str(TESTS.parent), os.environ.get("PYTHONPATH", "")]
    process = subprocess.Popen(
        [sys.executable, "-m", f"support.drivers.{driver}", *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=die_with_parent,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=WAIT_S)


def profile(name: str, **changes) -> tuple[RobotConfig, TrajectoryConfig]:
    """The cell and the driver's settings of config/bringup/NAME.yaml."""
    content = read_yaml(shared("config/bringup", f"{name}.yaml"))
    said = content["/**/arm"]["ros__parameters"]
    settings = said["trajectory"] | PATIENCE | changes
    robot = RobotConfig.load(said["robot"])
    slow = replace(robot.safety, max_velocity_rad_s=(MAX_SPEED_RAD_S,))
    return replace(robot, safety=slow), build(TrajectoryConfig, settings, name)
