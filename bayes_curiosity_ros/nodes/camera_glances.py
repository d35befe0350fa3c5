"""What the camera node shows those who only glance at it: a picture now and then."""

from __future__ import annotations

import time
from typing import Any

from rclpy.event_handler import PublisherEventCallbacks
from sensor_msgs.msg import Image

from bayes_curiosity_interfaces.msg import ArmState
from bayes_curiosity_ros.nodes.arm_watchers import GLANCE
from bayes_curiosity_ros.nodes.glances import Glance

TOPICS = {"rgb8": "camera/color/glance", "32FC1": "camera/depth/glance"}
# Time between two pictures in [s], and the least of it: timers come early, too.
PICTURE_S, LEAST_S = 2.0, 1.8


class CameraGlances:
    """Pictures at a bounded rate, while somebody watches; `image_raw` has every frame.

    Args:
        node: the camera's node.
        simulated: whether frames are of what the arm says; it is then glanced at, too.
    """

    def __init__(self, node: Any, simulated: bool) -> None:
        self._node, self._simulated = node, simulated
        events = PublisherEventCallbacks(matched=lambda _: self._follow_or_not())
        self._publishers = {
            encoding: node.create_publisher(Image, topic, 1, event_callbacks=events)
            for encoding, topic in TOPICS.items()
        }
        self._watched = False  # kept, as to ask for it with every frame takes its time
        self._arm: Glance | None = None
        self._told_s = -PICTURE_S

    def take(self, images: tuple[Image, Image]) -> None:
        """Show colour and depth, if somebody watches and it is time."""
        if self._watched and time.monotonic() - self._told_s >= LEAST_S:
            self._told_s = time.monotonic()
            for image in images:
                self._publishers[image.encoding].publish(image)

    def states(self) -> list[ArmState]:
        """The arm's newest state, if one came since the last call and somebody watches."""
        return self._arm.look() if self._arm is not None else []

    def _follow_or_not(self) -> None:
        self._watched = any(each.get_subscription_count() for each in self._publishers.values())
        if self._arm is not None and not self._watched:
            self._arm.close()
            self._arm = None
        elif self._arm is None and self._simulated and self._watched:
            self._arm = Glance(self._node, ArmState, GLANCE)
