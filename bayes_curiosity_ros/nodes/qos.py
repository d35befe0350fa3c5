"""How messages travel, named by what depends on them."""

from __future__ import annotations

from typing import Any

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data

# A whole episode may be under way before its messages are read.
EPISODE_QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
# Late joiners need the newest.
LATCHED_QOS = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
# A real camera's newest frame counts, not every frame.
SENSOR_QOS = qos_profile_sensor_data
# What reads a camera takes every frame of a simulated one, and the newest of a real one: as
# reliable as the camera is. It must be there when the subscription is made.
CAMERA_QOS = QoSProfile(depth=8, reliability=ReliabilityPolicy.BEST_AVAILABLE)


class QuietTopics:
    """For nodes in the loop of control steps, before `Node` among the bases.

    rclpy's default event callbacks warn of incompatible peers, and make every wait of the
    executor look at two more entities per topic.
    """

    def create_publisher(self, *arguments: Any, **options: Any) -> Any:
        options.setdefault("event_callbacks", PublisherEventCallbacks(use_default_callbacks=False))
        return super().create_publisher(*arguments, **options)  # type: ignore[misc]

    def create_subscription(self, *arguments: Any, **options: Any) -> Any:
        quiet = SubscriptionEventCallbacks(use_default_callbacks=False)
        options.setdefault("event_callbacks", quiet)
        return super().create_subscription(*arguments, **options)  # type: ignore[misc]
