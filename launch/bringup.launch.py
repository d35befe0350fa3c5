"""The whole stack: `ros2 launch bayes_curiosity_ros bringup.launch.py arm:=sim task:=reach`."""

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

from bayes_curiosity_ros.bringup.arguments import PACKAGE, Argument, arguments
from bayes_curiosity_ros.bringup.table import NodeSpec, nodes
from bayes_curiosity_ros.environment import launched
from launch import LaunchContext, LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Arguments and nodes, both from the table in `bayes_curiosity_ros.bringup`."""
    return LaunchDescription([*map(_declare, arguments()), OpaqueFunction(function=_actions)])


def _declare(argument: Argument) -> DeclareLaunchArgument:
    return DeclareLaunchArgument(
        argument.name,
        default_value=argument.default,
        description=argument.description,
        choices=list(argument.choices) or None,
    )


def _actions(context: LaunchContext) -> list:
    """Every node; the end of one that may not come back ends all."""
    chosen = {
        argument.name: LaunchConfiguration(argument.name).perform(context)
        for argument in arguments()
    }
    actions = []
    for spec in nodes(chosen):
        node = _node(spec, chosen["namespace"], chosen["log_level"])
        actions.append(node)
        if not spec.respawn:
            ending = EmitEvent(event=Shutdown(reason=f"{spec.name} ended"))
            actions.append(
                RegisterEventHandler(OnProcessExit(target_action=node, on_exit=[ending]))
            )
    return actions


def _node(spec: NodeSpec, namespace: str, log_level: str) -> Node:
    return Node(
        package=PACKAGE,
        executable=spec.executable,
        name=spec.name,
        namespace=namespace,
        parameters=[*spec.files, dict(spec.parameters)],
        remappings=list(spec.remappings.items()),
        ros_arguments=["--log-level", log_level, *spec.ros_words],
        respawn=spec.respawn,
        additional_env=launched(spec.withheld),
        output="screen",
    )
