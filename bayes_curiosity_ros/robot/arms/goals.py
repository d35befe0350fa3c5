"""Goals of an action, each replacing the one before: only the newest one's end counts."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rclpy.action.client import ActionClient
from rclpy.callback_groups import ReentrantCallbackGroup

from bayes_curiosity_ros.robot.arms.arm import ArmError

if TYPE_CHECKING:
    from rclpy.node import Node

CONTROL_MSGS = "`sudo apt install ros-jazzy-control-msgs`, or `make setup` without a ROS install"


class Goals:
    """Sends goals to one action server through a node that another thread serves.

    Args:
        action: type of the action.
        name: name of the action.
    """

    def __init__(self, node: Node, action: Any, name: str) -> None:
        self.action = action
        self.name = name
        group = ReentrantCallbackGroup()
        self._client: Any = ActionClient(node, action, name, callback_group=group)  # type: ignore[no-untyped-call]
        self._sent = 0

    def absent(self) -> str:
        """What nobody serves; empty when somebody does."""
        return "" if self._client.server_is_ready() else f"action {self.name}"

    def send(self, goal: Any, ended: Callable[[Any], None]) -> None:
        """Begin a goal; `ended` is called with its result, None if it was rejected, unless
        another goal replaced it."""
        self._sent += 1
        number = self._sent

        def report(result: Any) -> None:
            if number == self._sent:
                ended(result)

        def answered(future: Any) -> None:
            handle = future.result()
            if not handle.accepted:
                report(None)
                return
            result = handle.get_result_async()
            result.add_done_callback(lambda done: report(done.result().result))

        self._client.send_goal_async(goal).add_done_callback(answered)


def interface(module: str, name: str, install: str) -> Any:
    """An interface type that not every installation has.

    Raises:
        ArmError: it is not there; the message says how to get it.
    """
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ArmError(f"{package} is not installed: {install} ({error})") from error
