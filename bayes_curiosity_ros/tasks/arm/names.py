"""Names of the arm's tasks on the command line."""

from __future__ import annotations

import argparse

from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.tasks.arm.grasp import Grasp
from bayes_curiosity_ros.tasks.arm.reach import Reach
from bayes_curiosity_ros.tasks.arm.task import ArmTask
from bayes_curiosity_ros.tasks.registry import ARM_TASKS


def add_task_argument(parser: argparse.ArgumentParser) -> None:
    """A positional `task`."""
    parser.add_argument("task", choices=sorted(ARM_TASKS), help="what the arm does")


def make_arm_task(name: str, robot: RobotConfig, threads: int = 0) -> ArmTask:
    """The arm's task of this name, on this robot."""
    kind = {"reach": Reach, "grasp": Grasp}[name.removeprefix("visual_")]
    return kind(robot, visual=name.startswith("visual_"), threads=threads)
