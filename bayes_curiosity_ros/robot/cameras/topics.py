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

from bayes_curiosity_ros.errors import ConfigError, unknown_name
from bayes_curiosity_ros.robot.cameras.camera import (
    CAMERAS,
    CameraError,
    CameraInputs,
    Frame,
    Intrinsics,
)
from bayes_curiosity_ros.robot.cameras.decoders import BUILTIN, DECODERS, make_decoder
from bayes_curiosity_ros.robot.cameras.encodings import metres_of_compressed, rgb_of_compressed
from bayes_curiosity_ros.robot.cameras.images import Resizer
from bayes_curiosity_ros.robot.cameras.real import RealCamera
from bayes_curiosity_ros.robot.config import RobotConfig

if TYPE_CHECKING:
    from rclpy.node import Node

KEPT = 10
STAMPS = ("driver", "arrival")
# A stamp further than this from our clock, in [s], is of another clock.
SAME_CLOCK_S = 10.0
Picture: TypeAlias = Image | CompressedImage


@dataclass(frozen=True)
class TopicsConfig:
    """Names of a driver's topics; by default those of realsense2_camera.

    Attributes:
        color_topic: any encoding of `encodings.rgb_of`; CompressedImage if it ends in /compressed.
        depth_topic: 16UC1 in millimetres or 32FC1 in metres, registered to the colour image;
            CompressedImage if it ends in /compressedDepth. realsense2_camera publishes it if
            started with align_depth.enable:=true.
        info_topic: CameraInfo of the colour image.
        slop_s: colour and depth whose stamps differ by more do not belong together.
        decoder: what decodes raw images: cv_bridge, builtin (this package), or auto, which is
            cv_bridge where it works.
        stamps: what a frame's time is: driver, the stamp of the colour image; or arrival, for a
            driver whose stamps are not of our clock.
    """

    color_topic: str = "/camera/camera/color/image_raw"
    depth_topic: str = "/camera/camera/aligned_depth_to_color/image_raw"
    info_topic: str = "/camera/camera/color/camera_info"
    slop_s: float = 0.02
    decoder: str = "auto"
    stamps: str = "driver"

    def __post_init__(self) -> None:
        for name, choices in (("decoder", DECODERS), ("stamps", STAMPS)):
            if getattr(self, name) not in choices:
                raise unknown_name(f"topics.{name}", getattr(self, name), choices)
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
        self._arrived_s: dict[float, float] = {}
        self._decoder = BUILTIN
        self._subscriptions: list[Any] = []

    def connect(self, timeout_s: float) -> None:
        self._require_others_topics()
        self._decoder = make_decoder(self.config.decoder)
        self._node.get_logger().info(f"raw images are read by {self._decoder.name}")
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
            stamp_s = self._stamp_s(seconds_of(color), self._arrived_s[seconds_of(color)])
            for images in self._images.values():
                images.clear()
        if self._resizer is None:
            assert self._info is not None
            self._resizer = Resizer(intrinsics_of(self._info), self._camera)
        return self._resizer(self._rgb(color), self._metres(depth), stamp_s)

    def _require_others_topics(self) -> None:
        """Refuse to listen to ourselves, as in a namespace called camera."""
        node, config = self._node, self.config
        ours = node.get_publisher_names_and_types_by_node(node.get_name(), node.get_namespace())
        for topic in (config.color_topic, config.depth_topic, config.info_topic):
            name = node.resolve_topic_name(topic)
            if name in dict(ours):
                raise CameraError(
                    f"{name} is published by this node; give the driver's topic, or this node "
                    "another namespace"
                )

    def _stamp_s(self, stamp_s: float, arrived_s: float) -> float:
        """When an image was taken, as far as we can know.

        Raises:
            CameraError: its stamp is not of our clock.
        """
        if self.config.stamps == "arrival":
            return arrived_s
        if abs(arrived_s - stamp_s) > SAME_CLOCK_S:
            raise CameraError(
                f"{self.config.color_topic} had stamp {stamp_s:.3f} s at {arrived_s:.3f} s: it is "
                "of another clock, such as the camera's own; set topics.stamps to arrival, or "
                "have the driver stamp with system time"
            )
        return stamp_s

    def _rgb(self, message: Picture) -> np.ndarray:
        raw = isinstance(message, Image)
        return self._decoder.rgb(message) if raw else rgb_of_compressed(message)

    def _metres(self, message: Picture) -> np.ndarray:
        raw = isinstance(message, Image)
        return self._decoder.metres(message) if raw else metres_of_compressed(message)

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
        with self._news:
            images = self._images[kind]
            images[seconds_of(message)] = message
            while len(images) > KEPT:
                images.popitem(last=False)
            if kind == "color":
                now_s = self._node.get_clock().now().nanoseconds * 1e-9
                self._arrived_s = {s: self._arrived_s.get(s, now_s) for s in images}
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


def seconds_of(message: Picture) -> float:
    """The stamp of an image in [s]."""
    return float(message.header.stamp.sec + message.header.stamp.nanosec * 1e-9)


@CAMERAS.register(
    "topics",
    parameters={name: f"topics.{name}" for name in ("color_topic", "depth_topic", "info_topic")},
)
def _make(inputs: CameraInputs) -> TopicsCamera:
    return TopicsCamera(inputs.robot, inputs.declare(TopicsConfig(), "topics."), inputs.node)
