"""An arm that MoveIt 2 is configured for.

MoveIt plans the way home around everything in its planning scene, and every step's target is
checked against that scene, on top of our own filter. Steps themselves go to the controller.
"""

from __future__ import annotations

import copy
import importlib
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from bayes_curiosity_ros.robot.arms.arm import ARMS, ArmError, ArmInputs, ArmState
from bayes_curiosity_ros.robot.arms.moveit_config import (
    INSTALL,
    NODE,
    MoveitConfig,
    configuration,
)
from bayes_curiosity_ros.robot.arms.trajectory import TrajectoryArm
from bayes_curiosity_ros.robot.config import RobotConfig

if TYPE_CHECKING:
    from rclpy.node import Node

# What MoveIt's C++ raises when something is missing or has another name.
MOVEIT_ERRORS = (RuntimeError, ValueError, TypeError, IndexError)


def load_api() -> Any:
    """The planning module of moveit_py.

    Raises:
        ArmError: not installed; the message says how to install it.
    """
    try:
        return importlib.import_module("moveit.planning")
    except ImportError as error:
        raise ArmError(f"{INSTALL} ({error})") from error


class MoveitArm(TrajectoryArm):
    """Steps by the driver's own interface, the way home by plan."""

    def __init__(self, robot: RobotConfig, config: MoveitConfig, node: Node) -> None:
        self._api = load_api()
        super().__init__(robot, config.trajectory, node)
        self.moveit_config = config
        self._moveit: Any = None
        self._executing = threading.Event()

    @property
    def speed_share(self) -> float:
        """Share of the joints' own speed limits that keeps to `max_speed_deg_s`."""
        hardware = self.filter.checker.world.max_velocity_rad_s
        return float(min((self.filter.speed_rad_s / hardware).min(), 1.0))

    def open(self, timeout_s: float) -> None:
        self._moveit = self._start()
        super().open(timeout_s)

    def close(self) -> None:
        super().close()
        if self._moveit is not None:
            self._moveit.shutdown()
            self._moveit = None

    def halt(self) -> None:
        """A way home under way is MoveIt's to end; then the controller is told to hold."""
        if self._moveit is not None and self._executing.is_set():
            self._moveit.get_trajectory_execution_manager().stop_execution()
        super().halt()

    def command(self, target: np.ndarray, measured: np.ndarray, gripper: float) -> None:
        if self._collides(self._raw + (target - measured)):
            raise ArmError(
                f"MoveIt's planning scene forbids {np.round(target, 3).tolist()}; is something "
                "there, or is the scene out of date?"
            )
        super().command(target, measured, gripper)

    def home(self, timeout_s: float) -> ArmState:
        self._require_connected()
        self._require_free()
        self._execute_plan(self._plan_home())
        self._require_free()
        self._commanded = None
        return self.state(timeout_s)

    def _start(self) -> Any:
        """MoveIt, hearing of the joints where the driver tells of them."""
        try:
            return self._api.MoveItPy(
                node_name=NODE,
                name_space=self._node.get_namespace(),
                config_dict=configuration(self.moveit_config, self.speed_share),
                remappings={"joint_states": self.state_topic},
            )
        except MOVEIT_ERRORS as error:
            raise ArmError(
                f"MoveIt did not start: {error}. Set moveit.config_package, or write MoveIt's "
                f"parameters, planning_pipelines.pipeline_names among them, for the node {NODE} "
                "into your params_file"
            ) from error

    def _plan_home(self) -> Any:
        config = self.moveit_config
        try:
            component = self._moveit.get_planning_component(config.group)
            component.set_start_state_to_current_state()
            if config.home:
                component.set_goal_state(configuration_name=config.home)
            else:
                goal = self._robot_state(self._home_rad())
                component.set_goal_state(robot_state=goal)
            plan = component.plan(single_plan_parameters=self._plan_parameters())
        except MOVEIT_ERRORS as error:
            raise ArmError(
                f"MoveIt cannot plan: {error} (moveit.group = {config.group!r}, moveit.home)"
            ) from error
        if not plan:
            raise ArmError("MoveIt found no way home; clear the cell or its planning scene")
        return plan.trajectory

    def _plan_parameters(self) -> Any:
        """Never faster than the user allows, whatever the configuration says."""
        parameters = self._api.PlanRequestParameters(self._moveit, "")
        for name in ("max_velocity_scaling_factor", "max_acceleration_scaling_factor"):
            setattr(parameters, name, min(getattr(parameters, name), self.speed_share))
        return parameters

    def _execute_plan(self, trajectory: Any) -> None:
        self._executing.set()
        try:
            done = self._moveit.execute(trajectory, controllers=[])
        finally:
            self._executing.clear()
        self._require_free()
        if not done:
            raise ArmError(f"MoveIt's controller ended the way home: {done.status}")

    def _home_rad(self) -> np.ndarray:
        """(J,) ready pose as the driver counts turns."""
        state = self.state(self.config.state_timeout_s)
        return self._raw + (np.array(self.robot.arm.ready_rad) - state.joints)

    def _collides(self, joints: np.ndarray) -> bool:
        state = self._robot_state(joints)
        with self._moveit.get_planning_scene_monitor().read_only() as scene:
            return bool(
                scene.is_state_colliding(
                    robot_state=state, joint_model_group_name=self.moveit_config.group
                )
            )

    def _robot_state(self, joints: np.ndarray) -> Any:
        """The arm at (J,) driver's angles, everything else, fingers too, as it is now."""
        with self._moveit.get_planning_scene_monitor().read_only() as scene:
            state = copy.deepcopy(scene.current_state)
        angles = zip(self._names, joints.tolist(), strict=True)
        state.joint_positions = state.joint_positions | dict(angles)
        state.update()
        return state


@ARMS.register(
    "moveit",
    parameters={
        "command_topic": "moveit.trajectory.command_topic",
        "state_topic": "moveit.trajectory.state_topic",
    },
)
def _make(inputs: ArmInputs) -> MoveitArm:
    return MoveitArm(inputs.robot, inputs.declare(MoveitConfig(), "moveit."), inputs.node)
