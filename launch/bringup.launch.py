"""The whole stack: `ros2 launch bayes_curiosity_ros bringup.launch.py arm:=sim task:=reach`."""

from ament_index_python.packages import get_package_share_directory
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from bayes_curiosity_ros.bringup import table as bringup
from launch import LaunchContext, LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Arguments and nodes, both from the table in `bayes_curiosity_ros.bringup`."""
    return LaunchDescription([*map(_declare, bringup.ARGUMENTS), OpaqueFunction(function=_nodes)])


def _declare(argument: bringup.Argument) -> DeclareLaunchArgument:
    return DeclareLaunchArgument(
        argument.name,
        default_value=argument.default,
        description=argument.description,
        choices=list(argument.choices) or None,
    )


def _nodes(context: LaunchContext) -> list:
    chosen = {
        argument.name: LaunchConfiguration(argument.name).perform(context)
        for argument in bringup.ARGUMENTS
    }
    share = get_package_share_directory(bringup.PACKAGE)
    actions = []
    for spec in bringup.nodes(chosen):
        node = Node(
            package=bringup.PACKAGE,
            executable=spec.executable,
            name=spec.name,
            namespace=chosen["namespace"],
            parameters=[
                *(f"{share}/config/bringup/{name}" for name in spec.files),
                dict(spec.parameters),
            ],
            respawn=spec.respawn,
            additional_env={bringup.DIE_WITH_PARENT: "1"},
            output="screen",
        )
        actions.append(node)
        if not spec.respawn:
            ending = EmitEvent(event=Shutdown(reason=f"{spec.name} ended"))
            actions.append(
                RegisterEventHandler(OnProcessExit(target_action=node, on_exit=[ending]))
            )
    return actions
