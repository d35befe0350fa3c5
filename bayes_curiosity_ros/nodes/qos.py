"""How messages travel, named by what depends on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.qos import (
    DurabilityPolicy,
    QoSPolicyKind,
    QoSProfile,
    ReliabilityPolicy,
    qos_profile_sensor_data,
)
from rclpy.qos_overriding_options import QoSOverridingOptions

from bayes_curiosity_ros.errors import ConfigError

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


# What users may set by parameter, as qos_overrides./TOPIC.publisher.reliability.
OVERRIDABLE = (
    QoSPolicyKind.HISTORY,
    QoSPolicyKind.DEPTH,
    QoSPolicyKind.RELIABILITY,
    QoSPolicyKind.DURABILITY,
)
# rclpy makes these itself, before there are parameters.
ITS_OWN = ("/parameter_events", "/clock")


class OverridableTopics:
    """For nodes whose topics' QoS users may set by parameter; before `Node` among the bases."""

    def create_publisher(self, *arguments: Any, **options: Any) -> Any:
        with _overridable(arguments, options) as given:
            return super().create_publisher(*given, **options)  # type: ignore[misc]

    def create_subscription(self, *arguments: Any, **options: Any) -> Any:
        with _overridable(arguments, options) as given:
            return super().create_subscription(*given, **options)  # type: ignore[misc]


@contextmanager
def _overridable(arguments: tuple[Any, ...], options: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Ask rclpy to look for overrides; a wrong one becomes an error that names the topic.

    Args:
        arguments: type, topic, for a subscription the callback, and last the QoS.
        options: those of rclpy; added to.
    """
    topic, qos = arguments[1], arguments[-1]
    if topic in ITS_OWN:
        yield arguments
        return
    options["qos_overriding_options"] = QoSOverridingOptions(OVERRIDABLE)
    try:
        # A copy, as rclpy writes what is set into the profile that it is given.
        yield (*arguments[:-1], copy(qos))
    except RuntimeError as error:
        raise ConfigError(f"qos_overrides of {topic}: {error}") from error


class QuietTopics(OverridableTopics):
    """For nodes in the loop of control steps, before `Node` among the bases.

    rclpy's default event callbacks warn of incompatible peers, and make every wait of the
    executor look at two more entities per topic.
    """

    def create_publisher(self, *arguments: Any, **options: Any) -> Any:
        options.setdefault("event_callbacks", PublisherEventCallbacks(use_default_callbacks=False))
        return super().create_publisher(*arguments, **options)

    def create_subscription(self, *arguments: Any, **options: Any) -> Any:
        quiet = SubscriptionEventCallbacks(use_default_callbacks=False)
        options.setdefault("event_callbacks", quiet)
        return super().create_subscription(*arguments, **options)
