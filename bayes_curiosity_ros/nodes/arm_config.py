"""Parameters of the arm node, and the arm that they choose."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bayes_curiosity_ros.errors import ConfigError, unknown_name
from bayes_curiosity_ros.nodes.parameters import declare
from bayes_curiosity_ros.robot.arms.arm import Arm
from bayes_curiosity_ros.robot.arms.simulated import SimulatedArm
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.supervisor import SupervisorConfig
from bayes_curiosity_ros.tasks.arm.names import named_arm_task

if TYPE_CHECKING:
    from rclpy.node import Node

BACKENDS = ("sim", "kortex", "moveit", "trajectory")


@dataclass(frozen=True)
class ArmNodeConfig:
    """Parameters of the arm node.

    Attributes:
        backend: sim, kortex, moveit or trajectory.
        robot: file in config/robots/, or a path: which arm on which table.
        task: what is learnt; decides in simulation where the object is put.
        collisions: check every pose for collisions before it is commanded. Off in simulated
            learning, where a collision is an outcome; a real arm insists on it.
        autostart: configure and activate without being asked.
        max_speed_deg_s: of any joint of a real arm.
        object_timeout_s: an object_pose older than this counts as unknown; real arms only.
        connect_timeout_s: longest wait for the arm.
        supervisor: stops, watchdog, operator.
    """

    backend: str = "sim"
    robot: str = "jaco.yaml"
    task: str = "reach"
    collisions: bool = False
    autostart: bool = True
    max_speed_deg_s: float = 10.0
    object_timeout_s: float = 5.0
    connect_timeout_s: float = 10.0
    supervisor: SupervisorConfig = field(default_factory=SupervisorConfig)

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise unknown_name("backend", self.backend, BACKENDS)
        if self.backend != "sim" and not self.collisions:
            raise ConfigError(
                f"collisions = false with backend {self.backend!r}: a real arm always checks"
            )
        if self.backend != "sim" and self.supervisor.resume_after_halt:
            raise ConfigError(
                f"supervisor.resume_after_halt = true with backend {self.backend!r}: a real arm "
                "that was halted begins a new episode"
            )

    def load_robot(self) -> RobotConfig:
        """The cell, with its collision checks on or off, a real arm slowed down."""
        robot = RobotConfig.load(self.robot)
        safety = dataclasses.replace(robot.safety, collisions=self.collisions)
        if self.backend != "sim":
            speed = (math.radians(self.max_speed_deg_s),)
            safety = dataclasses.replace(safety, max_velocity_rad_s=speed)
        return dataclasses.replace(robot, safety=safety)


def make_arm(config: ArmNodeConfig, node: Node) -> tuple[Arm, Callable[[int], None] | None]:
    """The chosen arm, and how an episode begins there; None for homing.

    A vendor's packages are imported only here, when they are asked for.
    """
    if config.backend == "sim":
        return _simulated(config)
    robot = config.load_robot()
    if config.backend == "trajectory":
        from bayes_curiosity_ros.robot.arms.trajectory import TrajectoryArm, TrajectoryConfig

        return TrajectoryArm(robot, declare(node, TrajectoryConfig(), "trajectory."), node), None
    if config.backend == "moveit":
        from bayes_curiosity_ros.robot.arms.moveit import MoveitArm, MoveitConfig

        return MoveitArm(robot, declare(node, MoveitConfig(), "moveit."), node), None
    from bayes_curiosity_ros.robot.arms.kortex import KortexArm, KortexConfig

    return KortexArm(robot, declare(node, KortexConfig(), "kortex.")), None


def _simulated(config: ArmNodeConfig) -> tuple[Arm, Callable[[int], None]]:
    """An arm in the task's own cell: it moves exactly as the task does in process."""
    task = named_arm_task(config.task, config.load_robot(), threads=1)
    arm = SimulatedArm(task.robot, task.stepper)

    def begin(seed: int) -> None:
        arm.place(task.initial_states(1, np.random.default_rng(seed))[0])

    return arm, begin
