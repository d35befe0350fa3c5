"""The detector node: where the cylinder is, from the camera node's images."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

import numpy as np
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import Image

from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.nodes.conversions.images import frame_of_images
from bayes_curiosity_ros.nodes.conversions.values import seconds_of
from bayes_curiosity_ros.nodes.door import CheckedNode
from bayes_curiosity_ros.nodes.parameters import declare
from bayes_curiosity_ros.nodes.qos import SENSOR_QOS, OverridableTopics
from bayes_curiosity_ros.nodes.run import run_node
from bayes_curiosity_ros.robot.cameras.camera import Extrinsics, Intrinsics
from bayes_curiosity_ros.robot.cameras.detector import CylinderDetector, DetectorConfig
from bayes_curiosity_ros.robot.config import RobotConfig


@dataclass(frozen=True)
class DetectorNodeConfig:
    """Parameters of the detector node.

    Attributes:
        robot: file in config/robots/, or a path: camera pose, and the cylinder's size and colour.
        detector: what counts as the cylinder.
    """

    robot: str = "jaco.yaml"
    detector: DetectorConfig = field(default_factory=DetectorConfig)


class DetectorNode(OverridableTopics, CheckedNode):
    """Publishes `object_pose` in the world for every pair of images that shows the cylinder."""

    def __init__(self) -> None:
        super().__init__("detector")
        config = declare(self, DetectorNodeConfig())
        robot = RobotConfig.load(config.robot)
        camera = robot.world.camera
        self._detect = CylinderDetector(
            robot.world.object, Intrinsics.of(camera), Extrinsics.of(camera), config.detector
        )
        self._color: Image | None = None
        self._poses = self.create_publisher(PoseStamped, "object_pose", 10)
        self.create_subscription(Image, "camera/color/image_raw", self._take_color, SENSOR_QOS)
        self.create_subscription(Image, "camera/depth/image_raw", self._take_depth, SENSOR_QOS)

    def _take_color(self, message: Image) -> None:
        self._color = message

    def _take_depth(self, depth: Image) -> None:
        color = self._color
        if color is None or seconds_of(color.header.stamp) != seconds_of(depth.header.stamp):
            return
        try:
            position = self._detect(frame_of_images(color, depth))
        except BayesCuriosityError as error:
            self.get_logger().warning(f"no object: {error}", throttle_duration_sec=5.0)
            return
        self._publish(position, depth)

    def _publish(self, position: np.ndarray, depth: Image) -> None:
        message = PoseStamped()
        message.header.stamp, message.header.frame_id = depth.header.stamp, "world"
        spot = message.pose.position
        spot.x, spot.y, spot.z = position.tolist()
        message.pose.orientation.w = 1.0
        self._poses.publish(message)


def main() -> None:
    """Entry point of `ros2 run bayes_curiosity_ros detector`."""
    sys.exit(run_node(DetectorNode))


if __name__ == "__main__":
    main()
