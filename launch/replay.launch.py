"""A bag on the graph again: `ros2 launch bayes_curiosity_ros replay.launch.py bag:=bags/run_…`."""

from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from bayes_curiosity_ros.bringup.arguments import LOG_LEVELS, PACKAGE
from bayes_curiosity_ros.environment import launched
from bayes_curiosity_ros.robot.arms.arm import secrets_of_others
from launch import LaunchDescription

ARGUMENTS = {
    "bag": ("", str, "a bag's folder, or one of its files"),
    "episodes": ("", str, "such as 3 or 3,5-8; empty for all"),
    "rate": ("1.0", float, "1 as recorded, 2 twice as fast, 0 at full speed"),
    "paused": ("false", bool, "wait for replay/resume or replay/step"),
    "clock": ("true", bool, "publish recorded time on /clock"),
}


def generate_launch_description() -> LaunchDescription:
    """Arguments and the node."""
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, _, description) in ARGUMENTS.items()
    ]
    declared += [
        DeclareLaunchArgument("namespace", default_value="", description="namespace of the node"),
        DeclareLaunchArgument(
            "log_level",
            default_value="info",
            description="what the node logs, from here on",
            choices=list(LOG_LEVELS),
        ),
    ]
    parameters = {
        name: ParameterValue(LaunchConfiguration(name), value_type=kind)
        for name, (_, kind, _) in ARGUMENTS.items()
    }
    node = Node(
        package=PACKAGE,
        executable="replay",
        name="replay",
        namespace=LaunchConfiguration("namespace"),
        parameters=[parameters],
        ros_arguments=["--log-level", LaunchConfiguration("log_level")],
        additional_env=launched(secrets_of_others()),
        output="screen",
    )
    return LaunchDescription([*declared, node])
