"""An arm that MoveIt 2 is configured for.

MoveIt plans the way home around everything in its planning scene, and every step's target is
checked against that scene, on top of our own filter. Steps themselves go to the controller.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_curiosity_ros.robot.arms.arm import ARMS, ArmError, ArmInputs, ArmState
from bayes_curiosity_ros.robot.arms.trajectory import TrajectoryArm, TrajectoryConfig
from bayes_curiosity_ros.robot.config import RobotConfig

if TYPE_CHECKING:
    from rclpy.node import Node

INSTALL = (
    "moveit_py is not installed: `sudo apt install ros-jazzy-moveit-py`, source ROS, and start "
    "with your arm's MoveIt configuration"
)


@dataclass(frozen=True)
class MoveitConfig:
    """Names in the MoveIt configuration.

    Attributes:
        group: planning group of the arm.
        home: named state of the SRDF to go home to; empty for the robot file's ready pose.
        config_package: package that `moveit_configs_utils` reads the configuration from; empty
            where the node's parameters hold it already.
        trajectory: topics of the controller.
    """

    group: str = "arm"
    home: str = ""
    config_package: str = ""
    trajectory: TrajectoryConfig = field(default_factory=TrajectoryConfig)


def load_api() -> SimpleNamespace:
    """The modules of moveit_py.

    Raises:
        ArmError: not installed; the message says how to install them.
    """
    try:
        return SimpleNamespace(
            planning=importlib.import_module("moveit.planning"),
            robot_state=importlib.import_module("moveit.core.robot_state"),
        )
    except ImportError as error:
        raise ArmError(f"{INSTALL} ({error})") from error


class MoveitArm(TrajectoryArm):
    """Steps by topic, the way home by plan."""

    def __init__(self, robot: RobotConfig, config: MoveitConfig, node: Node) -> None:
        self._api = load_api()
        super().__init__(robot, config.trajectory, node)
        self.moveit_config = config
        self._moveit: Any = None

    def open(self, timeout_s: float) -> None:
        self._moveit = self._api.planning.MoveItPy(
            node_name="bayes_curiosity_moveit", config_dict=self._configuration()
        )
        super().open(timeout_s)

    def close(self) -> None:
        super().close()
        if self._moveit is not None:
            self._moveit.shutdown()
            self._moveit = None

    def command(self, target: np.ndarray, measured: np.ndarray, gripper: float) -> None:
        if self._collides(target):
            raise ArmError(
                f"MoveIt's planning scene forbids {np.round(target, 3).tolist()}; is something "
                "there, or is the scene out of date?"
            )
        super().command(target, measured, gripper)

    def home(self, timeout_s: float) -> ArmState:
        self._require_connected()
        self._require_free()
        component = self._moveit.get_planning_component(self.moveit_config.group)
        component.set_start_state_to_current_state()
        if self.moveit_config.home:
            component.set_goal_state(configuration_name=self.moveit_config.home)
        else:
            goal = self._robot_state(np.array(self.robot.arm.ready_rad))
            component.set_goal_state(robot_state=goal)
        plan = component.plan()
        if not plan:
            raise ArmError("MoveIt found no way home; clear the cell or its planning scene")
        if not self._moveit.execute(plan.trajectory, controllers=[]):
            raise ArmError("MoveIt's controller aborted the way home")
        self._require_free()
        self._commanded = None
        return self.state(timeout_s)

    def _collides(self, joints: np.ndarray) -> bool:
        monitor = self._moveit.get_planning_scene_monitor()
        state = self._robot_state(joints)
        with monitor.read_only() as scene:
            return bool(
                scene.is_state_colliding(
                    robot_state=state, joint_model_group_name=self.moveit_config.group
                )
            )

    def _robot_state(self, joints: np.ndarray) -> Any:
        state = self._api.robot_state.RobotState(self._moveit.get_robot_model())
        state.set_joint_group_positions(self.moveit_config.group, joints)
        state.update()
        return state

    def _configuration(self) -> dict[str, Any] | None:
        package = self.moveit_config.config_package
        if not package:
            return None
        try:
            utilities = importlib.import_module("moveit_configs_utils")
        except ImportError as error:
            raise ArmError(f"{INSTALL} ({error})") from error
        builder = utilities.MoveItConfigsBuilder(package.removesuffix("_moveit_config"))
        # The default also loads pilz, which wants a file of its own.
        return builder.planning_pipelines(pipelines=["ompl"]).to_moveit_configs().to_dict()


@ARMS.register("moveit")
def _make(inputs: ArmInputs) -> MoveitArm:
    return MoveitArm(inputs.robot, inputs.declare(MoveitConfig(), "moveit."), inputs.node)
