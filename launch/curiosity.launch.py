"""The curiosity node alone, for graphs whose other nodes are yours."""

from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from bayes_curiosity_ros.bringup.arguments import LOG_LEVELS, PACKAGE
from bayes_curiosity_ros.bringup.parameters import check_params_file
from bayes_curiosity_ros.environment import launched
from bayes_curiosity_ros.resources import shared
from bayes_curiosity_ros.robot.arms.arm import secrets_of_others
from launch import LaunchContext, LaunchDescription

ARGUMENTS = {
    "params_file": "your own parameter file, which counts more than ours",
    "params": "the same, by its old name",
    "model": "model file to start from; empty: the parameter file's, or a random frozen encoder",
    "namespace": "namespace of the node",
}


def generate_launch_description() -> LaunchDescription:
    """Arguments and the node."""
    declared = [
        DeclareLaunchArgument(name, default_value="", description=description)
        for name, description in ARGUMENTS.items()
    ]
    level = DeclareLaunchArgument(
        "log_level",
        default_value="info",
        description="what the node logs, from here on",
        choices=list(LOG_LEVELS),
    )
    sim_time = DeclareLaunchArgument(
        "use_sim_time",
        default_value="false",
        description="take the time from /clock, for the stamps of curiosity/state",
        choices=["true", "false"],
    )
    return LaunchDescription([*declared, level, sim_time, OpaqueFunction(function=_node)])


def _node(context: LaunchContext) -> list:
    given = {
        name: LaunchConfiguration(name).perform(context)
        for name in (*ARGUMENTS, "log_level", "use_sim_time")
    }
    files = [
        str(shared("config/bringup", "curiosity.yaml")),
        given["params"],
        given["params_file"],
    ]
    for path in filter(None, files):
        check_params_file(path, {})
    parameters = {"use_sim_time": given["use_sim_time"] == "true"}
    if given["model"]:
        parameters["model"] = given["model"]
    node = Node(
        package=PACKAGE,
        executable="curiosity",
        name="curiosity",
        namespace=given["namespace"],
        parameters=[*filter(None, files), parameters],
        ros_arguments=["--log-level", given["log_level"]],
        respawn=True,
        additional_env=launched(secrets_of_others()),
        output="screen",
    )
    return [node]
