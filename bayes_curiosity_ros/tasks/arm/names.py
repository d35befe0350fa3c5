"""Names of the arm's tasks on the command line."""

from __future__ import annotations

import argparse

from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.randomization import Randomization
from bayes_curiosity_ros.tasks.arm.grasp import Grasp
from bayes_curiosity_ros.tasks.arm.reach import Reach
from bayes_curiosity_ros.tasks.arm.task import ArmTask
from bayes_curiosity_ros.tasks.registry import ARM_TASKS


def add_task_arguments(parser: argparse.ArgumentParser) -> None:
    """A positional `task`, and options that say which robot in which worlds."""
    parser.add_argument("task", choices=sorted(ARM_TASKS), help="what the arm does")
    parser.add_argument("--robot", default="jaco.yaml", help="file in config/, or a path")
    parser.add_argument(
        "--randomize",
        type=int,
        default=0,
        metavar="WORLDS",
        help="draw each episode's colours, light, camera pose, object size and joint friction "
        "from this many worlds",
    )


def make_arm_task(arguments: argparse.Namespace, threads: int = 0) -> ArmTask:
    """The task that these arguments name."""
    kind = {"reach": Reach, "grasp": Grasp}[arguments.task.removeprefix("visual_")]
    worlds = arguments.randomize
    return kind(
        RobotConfig.load(arguments.robot),
        visual=arguments.task.startswith("visual_"),
        threads=threads,
        randomization=Randomization(count=worlds) if worlds else None,
    )
