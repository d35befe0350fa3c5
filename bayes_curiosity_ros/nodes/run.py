"""From `main` to a spinning node, and to a clean end on any signal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from bayes_curiosity_ros.errors import BayesCuriosityError


def run_node(make: Callable[[], Node], arguments: Sequence[str] | None = None) -> int:
    """Spin until SIGINT or SIGTERM; 0 then, 2 where a parameter or file was wrong.

    Traffic stays on this machine unless ROS_AUTOMATIC_DISCOVERY_RANGE says otherwise.
    """
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    rclpy.init(args=arguments)
    try:
        executor = SingleThreadedExecutor()
        executor.add_node(make())
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except BayesCuriosityError as error:
        print(f"{os.path.basename(sys.argv[0])}: {error}", file=sys.stderr)
        return 2
    finally:
        rclpy.try_shutdown()
    return 0
