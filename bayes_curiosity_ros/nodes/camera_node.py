"""The camera node: colour and depth, simulated or real; a lifecycle node."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription
from sensor_msgs.msg import CameraInfo, Image

from bayes_curiosity_interfaces.msg import ArmState as ArmStateMessage
from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.nodes.camera_glances import PICTURE_S, CameraGlances
from bayes_curiosity_ros.nodes.conversions.arm_states import arm_state_of_message
from bayes_curiosity_ros.nodes.conversions.images import camera_info_of, images_of_frame
from bayes_curiosity_ros.nodes.conversions.values import stamp_of
from bayes_curiosity_ros.nodes.device_node import DIAGNOSTICS_S, DeviceNode
from bayes_curiosity_ros.nodes.memory import give_back_now_and_then
from bayes_curiosity_ros.nodes.parameters import declare
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, SENSOR_QOS, OverridableTopics
from bayes_curiosity_ros.nodes.run import run_node
from bayes_curiosity_ros.robot.cameras.camera import (
    CAMERAS,
    Camera,
    CameraInputs,
    Frame,
    PosedCamera,
)
from bayes_curiosity_ros.robot.cameras.settings import CameraNodeConfig
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.frames import OPTICAL_FRAME, prefixed
from bayes_curiosity_ros.tasks.arm.names import named_arm_task


class CameraNode(OverridableTopics, DeviceNode):
    """A simulated camera sees what `arm/state` says, a real one what there is."""

    def __init__(self) -> None:
        super().__init__("camera")
        self.config = declare(self, CameraNodeConfig())
        self._robot = RobotConfig.load(self.config.robot)
        self.camera = self._make_camera()
        self._optical_frame = prefixed(OPTICAL_FRAME, self.config.frame_prefix)
        self._active = False
        self._frames = 0
        self._problem = ""
        self._arm_states: Subscription | None = None
        # Learning counts every simulated frame; of a real camera only the newest matters.
        simulated = isinstance(self.camera, PosedCamera)
        qos = EPISODE_QOS if simulated else SENSOR_QOS
        self.threads = 1 if simulated else 3
        self._color, self._color_info = self._image_publishers("color", qos)
        self._depth, self._depth_info = self._image_publishers("depth", qos)
        self._glances = CameraGlances(self, simulated)
        self._create_inputs()
        give_back_now_and_then(self)
        self.create_guard(DIAGNOSTICS_S, self._diagnose)
        if self.config.autostart:
            self.start()

    def connect(self) -> None:
        self.camera.connect(self.config.connect_timeout_s)
        self._active = True

    def let_go(self, reason: str) -> None:
        self._active = False
        self.camera.disconnect()

    def _make_camera(self) -> Camera:
        inputs = CameraInputs(
            robot=self._robot,
            declare=partial(declare, self),
            node=self,
            cell=lambda: named_arm_task(self.config.task, self._robot, threads=1).robot,
        )
        return CAMERAS[self.config.backend].make(inputs)

    def _image_publishers(self, kind: str, qos: QoSProfile) -> tuple[Any, Any]:
        events = PublisherEventCallbacks(matched=lambda _: self._listen_or_not())
        return (
            self.create_publisher(Image, f"camera/{kind}/image_raw", qos, event_callbacks=events),
            self.create_publisher(
                CameraInfo, f"camera/{kind}/camera_info", qos, event_callbacks=events
            ),
        )

    def _create_inputs(self) -> None:
        if isinstance(self.camera, PosedCamera):
            self._listen_or_not()
            self.create_guard(PICTURE_S, partial(self._glance, self.camera))
        else:
            group = ReentrantCallbackGroup()
            self.create_timer(1.0 / self.config.rate_hz, self._read, callback_group=group)

    def _listen_or_not(self) -> None:
        """Follow the arm only while somebody watches: whoever listens costs the arm time."""
        if not isinstance(self.camera, PosedCamera) or self._watched() == bool(self._arm_states):
            return
        if self._arm_states is not None:
            self.destroy_subscription(self._arm_states)
            self._arm_states = None
            return
        see = partial(self._see, self.camera)
        self._arm_states = self.create_subscription(ArmStateMessage, "arm/state", see, EPISODE_QOS)

    def _see(self, camera: PosedCamera, message: ArmStateMessage) -> None:
        if self._active and (frame := self._posed_frame(camera, message)) is not None:
            self._publish(frame, message.header.stamp)

    def _glance(self, camera: PosedCamera) -> None:
        """A picture for who only glances; where every frame is published, it is one of these."""
        for message in self._glances.states():
            if not self._active or self._arm_states is not None:
                return
            if (frame := self._posed_frame(camera, message)) is not None:
                self._glances.take(self._images(frame, message.header.stamp))

    def _read(self) -> None:
        if self._active and (frame := self._next_frame()) is not None:
            self._publish(frame, stamp_of(frame.stamp_s))

    def _posed_frame(self, camera: PosedCamera, message: ArmStateMessage) -> Frame | None:
        """What there is to see where the arm says it is; None where that is no arm of ours."""
        try:
            camera.pose(arm_state_of_message(message, self._robot.arm))
        except BayesCuriosityError as error:
            self._reject(error)
            return None
        return self._next_frame()

    def _next_frame(self) -> Frame | None:
        """The next frame; None where there is none."""
        try:
            frame = self.camera.read(self.config.read_timeout_s)
        except BayesCuriosityError as error:
            self._reject(error)
            return None
        self._problem = ""
        return frame

    def _watched(self) -> bool:
        """Rays are cast only for someone."""
        return any(
            publisher.get_subscription_count()
            for publisher in (self._color, self._depth, self._color_info, self._depth_info)
        )

    def _publish(self, frame: Frame, stamp: Time) -> None:
        color, depth = self._images(frame, stamp)
        info = camera_info_of(self.camera.intrinsics)
        info.header = color.header
        self._color.publish(color)
        self._depth.publish(depth)
        self._color_info.publish(info)
        self._depth_info.publish(info)
        self._glances.take((color, depth))
        self._frames += 1

    def _images(self, frame: Frame, stamp: Time) -> tuple[Image, Image]:
        """Colour and depth as messages."""
        images = images_of_frame(frame)
        for image in images:
            image.header.stamp, image.header.frame_id = stamp, self._optical_frame
        return images

    def _reject(self, error: BayesCuriosityError) -> None:
        self._problem = str(error)
        self.get_logger().warning(f"no frame: {error}", throttle_duration_sec=1.0)

    def _diagnose(self) -> None:
        level = DiagnosticStatus.OK if self._active else DiagnosticStatus.STALE
        self.publish_diagnostics(
            DiagnosticStatus.ERROR if self._problem else level,
            self.config.backend,
            self._problem or ("active" if self._active else "inactive"),
            {"frames": self._frames},
        )


def main() -> None:
    """Entry point of `ros2 run bayes_curiosity_ros camera`."""
    sys.exit(run_node(CameraNode))


if __name__ == "__main__":
    main()
