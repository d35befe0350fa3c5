"""The description node: robot_description, TF and the cylinder, so that RViz shows the cell.

Where robot_state_publisher runs, set `links: false`: the frames within the arm are its own then.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker

from bayes_curiosity_interfaces.msg import ArmState
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.nodes.conversions.transforms import tf_message_of
from bayes_curiosity_ros.nodes.door import CheckedNode
from bayes_curiosity_ros.nodes.parameters import declare
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS, OverridableTopics
from bayes_curiosity_ros.nodes.run import run_node
from bayes_curiosity_ros.robot.cameras.camera import Extrinsics
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.frames import (
    OPTICAL_FRAME,
    WORLD,
    LinkFrames,
    Transform,
    check_frame_prefix,
    quaternion_of,
)
from bayes_curiosity_ros.robot.world import build_world

OBJECT_FRAME = "object"


@dataclass(frozen=True)
class DescriptionConfig:
    """Parameters of the description node.

    Attributes:
        robot: file in config/robots/, or a path.
        links: publish the frames within the arm; false where robot_state_publisher does.
        frame_prefix: what all frames but the world's begin with, such as left/, as in
            robot_state_publisher; for several cells in one graph.
        rate_hz: highest rate of TF and marker.
    """

    robot: str = "jaco.yaml"
    links: bool = True
    frame_prefix: str = ""
    rate_hz: float = 20.0

    def __post_init__(self) -> None:
        check_frame_prefix(self.frame_prefix)
        if not 0 < self.rate_hz <= 1000:
            raise ConfigError(f"rate_hz = {self.rate_hz}; must be above 0 and at most 1000")


class DescriptionNode(OverridableTopics, CheckedNode):
    """Follows `joint_states` and `arm/state`, and draws."""

    def __init__(self) -> None:
        super().__init__("description")
        self.config = declare(self, DescriptionConfig())
        self._robot = RobotConfig.load(self.config.robot)
        world = build_world(self._robot)
        self._frames = LinkFrames(world)
        self._description = self.create_publisher(String, "robot_description", LATCHED_QOS)
        self._description.publish(String(data=world.description.urdf.read_text()))
        self._markers = self.create_publisher(Marker, "object_marker", 10)
        # Absolute, as every listener of TF expects it.
        self._tf = self.create_publisher(TFMessage, "/tf", 100)
        self._tf_static = self.create_publisher(TFMessage, "/tf_static", LATCHED_QOS)
        self._tf_static.publish(self._message(self._fixed(), self.get_clock().now().to_msg()))
        self._drawn_s = {"links": 0.0, "object": 0.0}
        self.create_subscription(ArmState, "arm/state", self._draw_object, EPISODE_QOS)
        if self.config.links:
            self.create_subscription(JointState, "joint_states", self._draw_links, EPISODE_QOS)

    def _fixed(self) -> list[Transform]:
        """The camera, the arm's place in the world, and what does not move of the arm."""
        camera = Extrinsics.of(self._robot.world.camera)
        turn = quaternion_of(camera.rotation)
        links = [t for t in self._frames.fixed if self.config.links or t.parent == WORLD]
        return [Transform(WORLD, OPTICAL_FRAME, camera.position, turn), *links]

    def _message(self, transforms: list[Transform], stamp: Time) -> TFMessage:
        return tf_message_of(transforms, stamp, self.config.frame_prefix)

    def _draw_links(self, message: JointState) -> None:
        if not self._due("links"):
            return
        joints = dict(zip(message.name, message.position, strict=False))
        self._tf.publish(self._message(self._frames.moving(joints), message.header.stamp))
        self._drawn_s["links"] = time.monotonic()

    def _draw_object(self, message: ArmState) -> None:
        if not message.object_known or not self._due("object"):
            return
        self._drawn_s["object"] = time.monotonic()
        self._markers.publish(self._cylinder(message))
        spot, turn = message.object_pose.position, message.object_pose.orientation
        place = Transform(
            WORLD,
            OBJECT_FRAME,
            np.array([spot.x, spot.y, spot.z]),
            np.array([turn.w, turn.x, turn.y, turn.z]),
        )
        self._tf.publish(self._message([place], message.header.stamp))

    def _cylinder(self, message: ArmState) -> Marker:
        cylinder = self._robot.world.object
        marker = Marker(header=message.header, ns="object", type=Marker.CYLINDER)
        marker.pose = message.object_pose
        marker.scale.x = marker.scale.y = 2.0 * cylinder.radius_m
        marker.scale.z = cylinder.height_m
        marker.color.r, marker.color.g, marker.color.b = cylinder.color
        marker.color.a = 1.0
        return marker

    def _due(self, what: str) -> bool:
        return time.monotonic() - self._drawn_s[what] >= 1.0 / self.config.rate_hz


def main() -> None:
    """Entry point of `ros2 run bayes_curiosity_ros description`."""
    sys.exit(run_node(DescriptionNode))


if __name__ == "__main__":
    main()
