"""A plain node that answers an empty service, with rclpy's own executor: the floor of a step."""

from __future__ import annotations

import rclpy
from rclpy.executors import ExternalShutdownException
from std_srvs.srv import Trigger

SERVICE = "plain/empty"


def answer(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
    """Nothing."""
    return response


def main() -> None:
    """Answer until a signal comes."""
    rclpy.init()
    node = rclpy.create_node("empty")
    node.create_service(Trigger, SERVICE, answer)
    try:
        rclpy.spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
