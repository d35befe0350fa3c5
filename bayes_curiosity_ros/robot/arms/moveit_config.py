"""What MoveIt 2 is started with: a configuration package's parameters, made whole."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.arms.arm import ArmError
from bayes_curiosity_ros.robot.arms.trajectory_config import TrajectoryConfig

# Name of MoveIt's own node, under which a parameter file addresses it.
NODE = "arm_moveit"
INSTALL = (
    "moveit_py is not installed: `sudo apt install ros-jazzy-moveit-py`, source ROS, and start "
    "with your arm's MoveIt configuration"
)
STATE_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class MoveitConfig:
    """Names in the MoveIt configuration.

    Attributes:
        group: planning group of the arm.
        home: named state of the SRDF to go home to; empty for the robot file's ready pose.
        config_package: package that `moveit_configs_utils` reads the configuration from; empty
            where a parameter file holds it, for the node `arm_moveit`.
        robot_name: name that files of the package begin with; if empty, the package's own name
            without `_moveit_config`.
        urdf_arguments: arguments of the package's xacro file, each as name:=value.
        moveit_cpp_file: the package's file of MoveItCpp's parameters; if empty, ours are used.
        planning_time_s: longest search for a way home.
        trajectory: topics of the controller.
    """

    group: str = "manipulator"
    home: str = ""
    config_package: str = ""
    robot_name: str = ""
    urdf_arguments: tuple[str, ...] = ()
    moveit_cpp_file: str = ""
    planning_time_s: float = 5.0
    trajectory: TrajectoryConfig = field(default_factory=TrajectoryConfig)

    def __post_init__(self) -> None:
        for argument in self.urdf_arguments:
            if ":=" not in argument:
                raise ConfigError(f"moveit.urdf_arguments: {argument!r} is not name:=value")


def configuration(config: MoveitConfig, speed_share: float) -> dict[str, Any] | None:
    """Parameters of MoveIt's node, None where a parameter file has them.

    Args:
        speed_share: largest share of the joints' speed limits.

    Raises:
        ArmError: the package cannot be read; the message says why.
    """
    if not config.config_package:
        return None
    builder = _builder(config)
    try:
        parameters: dict[str, Any] = builder.to_moveit_configs().to_dict()
    except (OSError, RuntimeError, ValueError) as error:
        raise ArmError(
            f"{config.config_package} cannot be read: {error} (moveit.config_package, "
            "moveit.robot_name, moveit.urdf_arguments)"
        ) from error
    return _whole(parameters, config, speed_share)


def _builder(config: MoveitConfig) -> Any:
    try:
        utilities = importlib.import_module("moveit_configs_utils")
    except ImportError as error:
        raise ArmError(f"{INSTALL} ({error})") from error
    package = config.config_package
    name = config.robot_name or package.removesuffix("_moveit_config")
    builder = utilities.MoveItConfigsBuilder(name, package_name=package)
    # The default also loads pilz, which wants a file of its own.
    builder = builder.planning_pipelines(pipelines=["ompl"])
    if config.urdf_arguments:
        mappings = dict(argument.split(":=", 1) for argument in config.urdf_arguments)
        builder = builder.robot_description(mappings=mappings)
    if config.moveit_cpp_file:
        builder = builder.moveit_cpp(file_path=config.moveit_cpp_file)
    return builder


def _whole(parameters: dict[str, Any], config: MoveitConfig, speed_share: float) -> dict[str, Any]:
    """With what MoveItCpp asks for and the builder leaves out: names of the pipelines under a key
    of their own, where to hear of the joints, and how fast to plan."""
    pipelines = parameters.get("planning_pipelines", ["ompl"])
    if not isinstance(pipelines, dict):
        parameters = parameters | {"planning_pipelines": {"pipeline_names": list(pipelines)}}
    names = parameters["planning_pipelines"]["pipeline_names"]
    usual = {
        "planning_scene_monitor_options": {
            "name": "planning_scene_monitor",
            "robot_description": "robot_description",
            "wait_for_initial_state_timeout": STATE_TIMEOUT_S,
        },
        "plan_request_params": {
            "planning_attempts": 1,
            "planning_pipeline": names[0],
            "planning_time": config.planning_time_s,
            "max_velocity_scaling_factor": speed_share,
            "max_acceleration_scaling_factor": speed_share,
        },
    }
    return usual | parameters
