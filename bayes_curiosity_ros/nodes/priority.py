"""Nodes that must not wait for other work of the machine: an arm, and what chooses its actions."""

from __future__ import annotations

from collections.abc import Iterable

from rclpy.node import Node

from bayes_curiosity_ros.environment import come_first


def run_first(node: Node, priority: int, behind: Iterable[int] = ()) -> None:
    """Let a node's process come before whatever is scheduled as usual; say so where it cannot.

    Args:
        node: the only one of its process.
        priority: 1 to 99; 0 leaves everything as it is.
        behind: native ids of threads that come after the others.
    """
    if not priority:
        return
    try:
        come_first(priority, behind)
    except PermissionError:
        node.get_logger().warning(
            f"real_time_priority = {priority} is not permitted, so that other work may delay the "
            "arm: let this user have it (rtprio in /etc/security/limits.conf), or set it to 0"
        )
