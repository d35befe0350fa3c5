"""Names of the arm's tasks on the command line."""

from __future__ import annotations

import argparse

from bayes_curiosity_ros.configuration.ranges import whole
from bayes_curiosity_ros.errors import unknown_name
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.randomization import Randomization
from bayes_curiosity_ros.tasks.arm.task import ArmTask
from bayes_curiosity_ros.tasks.registry import arm_task_names, make_task


def add_task_arguments(parser: argparse.ArgumentParser) -> None:
    """A positional `task`, and options that say which robot in which worlds."""
    parser.add_argument("task", choices=arm_task_names(), help="what the arm does")
    parser.add_argument("--robot", default="jaco.yaml", help="file in config/robots/, or a path")
    parser.add_argument(
        "--randomize",
        type=whole("--randomize"),
        default=0,
        metavar="WORLDS",
        help="draw each episode's colours, light, camera pose, object size and joint friction "
        "from this many worlds",
    )


def make_arm_task(arguments: argparse.Namespace, threads: int = 0) -> ArmTask:
    """The task that these arguments name."""
    worlds = arguments.randomize
    return named_arm_task(
        arguments.task,
        RobotConfig.load(arguments.robot),
        threads,
        Randomization(count=worlds) if worlds else None,
    )


def named_arm_task(
    name: str,
    robot: RobotConfig,
    threads: int = 0,
    randomization: Randomization | None = None,
    dynamics: str = "",
) -> ArmTask:
    """The arm's task of this name, on this robot.

    Args:
        name: name of the task.
        robot: the arm and its table.
        threads: threads to step on; 0 for one per core.
        randomization: worlds to draw an episode's from; None for always the same.
        dynamics: "physics" or "kinematic"; "" for the robot's own.

    Raises:
        ConfigError: no such task, or none for an arm.
    """
    if name not in arm_task_names():
        raise unknown_name("task of an arm", name, arm_task_names())
    options = {"threads": threads, "randomization": randomization, "dynamics": dynamics or None}
    task = make_task(name, robot=robot, **options)
    assert isinstance(task, ArmTask)
    return task
