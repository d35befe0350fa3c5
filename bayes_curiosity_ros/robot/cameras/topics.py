"""Any camera driver's topics: colour, depth registered to it, and camera_info."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.cameras.camera import (
    CAMERAS,
    CameraError,
    CameraInputs,
    Frame,
    Intrinsics,
)
from bayes_curiosity_ros.robot.cameras.encodings import (
    metres_of,
    metres_of_compressed,
    rgb_of,
    rgb_of_compressed,
)
from bayes_curiosity_ros.robot.cameras.images import Resizer
from bayes_curiosity_ros.robot.cameras.real import RealCamera
from bayes_curiosity_ros.robot.config import RobotConfig

if TYPE_CHECKING:
    from rclpy.node import Node

KEPT = 10
Picture: TypeAlias = Image | CompressedImage


@dataclass(frozen=True)
class TopicsConfig:
    """Names of a driver's topics.

    Attributes:
        color_topic: any encoding of `encodings.rgb_of`; CompressedImage if it ends in /compressed.
        depth_topic: 16UC1 in millimetres or 32FC1 in metres, registered to the colour image;
            CompressedImage if it ends in /compressedDepth.
        info_topic: CameraInfo of the colour image.
        slop_s: colour and depth whose stamps differ by more do not belong together.
    """

    color_topic: str = "driver/color/image_raw"
    depth_topic: str = "driver/aligned_depth_to_color/image_raw"
    info_topic: str = "driver/color/camera_info"
    slop_s: float = 0.02

    def __post_init__(self) -> None:
        if not 0.0 <= self.slop_s <= 1.0:
            raise ConfigError(f"topics.slop_s = {self.slop_s}; must be between 0 and 1")


class TopicsCamera(RealCamera):
    """Pairs what a driver publishes; `node`'s callbacks are served by another thread."""

    def __init__(self, robot: RobotConfig, config: TopicsConfig, node: Node) -> None:
        super().__init__(robot)
        self.config = config
        self._node = node
        self._news = threading.Condition()
        self._images: dict[str, OrderedDict[float, Picture]] = {
            "color": OrderedDict(),
            "depth": OrderedDict(),
        }
        self._info: CameraInfo | None = None
        self._subscriptions: list[Any] = []

    def connect(self, timeout_s: float) -> None:
        group = ReentrantCallbackGroup()
        color, depth = self.config.color_topic, self.config.depth_topic
        for kind, topic, callback in (
            (_kind_of(color), color, lambda m: self._take("color", m)),
            (_kind_of(depth), depth, lambda m: self._take("depth", m)),
            (CameraInfo, self.config.info_topic, self._take_info),
        ):
            self._subscriptions.append(
                self._node.create_subscription(
                    kind, topic, callback, qos_profile_sensor_data, callback_group=group
                )
            )

    def disconnect(self) -> None:
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._subscriptions.clear()
        self._resizer = None

    def read(self, timeout_s: float) -> Frame:
        if not self._subscriptions:
            raise CameraError("the camera is not connected; call connect() first")
        deadline = time.monotonic() + timeout_s
        with self._news:
            while (pair := self._pair()) is None:
                if not self._news.wait(max(deadline - time.monotonic(), 0.0)):
                    raise CameraError(f"no frame within {timeout_s} s: {self._missing()}")
            color, depth = pair
            for images in self._images.values():
                images.clear()
        if self._resizer is None:
            assert self._info is not None
            self._resizer = Resizer(intrinsics_of(self._info), self._camera)
        stamp = color.header.stamp
        return self._resizer(_rgb(color), _metres(depth), stamp.sec + stamp.nanosec * 1e-9)

    def _pair(self) -> tuple[Picture, Picture] | None:
        """The newest colour image and the depth image closest to it in time."""
        if self._info is None:
            return None
        for stamp in reversed(self._images["color"]):
            depths = self._images["depth"]
            nearest = min(depths, key=lambda other: abs(other - stamp), default=None)
            if nearest is not None and abs(nearest - stamp) <= self.config.slop_s:
                return self._images["color"][stamp], depths[nearest]
        return None

    def _missing(self) -> str:
        config = self.config
        if self._info is None:
            return f"nothing on {config.info_topic}"
        for kind, topic in (("color", config.color_topic), ("depth", config.depth_topic)):
            if not self._images[kind]:
                return f"nothing on {topic}"
        return f"colour and depth are never within {config.slop_s} s (topics.slop_s)"

    def _take(self, kind: str, message: Picture) -> None:
        stamp = message.header.stamp
        with self._news:
            images = self._images[kind]
            images[stamp.sec + stamp.nanosec * 1e-9] = message
            while len(images) > KEPT:
                images.popitem(last=False)
            self._news.notify_all()

    def _take_info(self, message: CameraInfo) -> None:
        with self._news:
            self._info = message
            self._news.notify_all()


def intrinsics_of(info: CameraInfo) -> Intrinsics:
    """ROS counts pixel centres from 0, we from 0.5."""
    return Intrinsics(
        info.width, info.height, info.k[0], info.k[4], info.k[2] + 0.5, info.k[5] + 0.5
    )


def _kind_of(topic: str) -> type:
    """image_transport's way to name compressed topics."""
    return CompressedImage if topic.rpartition("/")[2].startswith("compressed") else Image


def _rgb(message: Picture) -> np.ndarray:
    return rgb_of(message) if isinstance(message, Image) else rgb_of_compressed(message)


def _metres(message: Picture) -> np.ndarray:
    return metres_of(message) if isinstance(message, Image) else metres_of_compressed(message)


@CAMERAS.register("topics")
def _make(inputs: CameraInputs) -> TopicsCamera:
    return TopicsCamera(inputs.robot, inputs.declare(TopicsConfig(), "topics."), inputs.node)
