"""The curiosity node alone, for graphs whose other nodes are yours."""

from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Arguments and the node."""
    package = "bayes_curiosity_ros"
    defaults = PathJoinSubstitution(
        [FindPackageShare(package), "config", "bringup", "curiosity.yaml"]
    )
    return LaunchDescription(
        [
            DeclareLaunchArgument("params", default_value=defaults, description="parameter file"),
            DeclareLaunchArgument(
                "model",
                default_value="",
                description="model file to start from; empty: a random frozen encoder",
            ),
            DeclareLaunchArgument("namespace", default_value="", description="of the node"),
            Node(
                package=package,
                executable="curiosity",
                name="curiosity",
                namespace=LaunchConfiguration("namespace"),
                parameters=[
                    LaunchConfiguration("params"),
                    {"model": LaunchConfiguration("model")},
                ],
                respawn=True,
                output="screen",
            ),
        ]
    )
