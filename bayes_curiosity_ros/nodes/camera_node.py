"""The camera node: colour and depth, simulated or real; a lifecycle node."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import Executor, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import CameraInfo, Image

from bayes_curiosity_interfaces.msg import ArmState as ArmStateMessage
from bayes_curiosity_ros.errors import BayesCuriosityError, ConfigError, unknown_name
from bayes_curiosity_ros.nodes.conversions.arm_states import arm_state_of_message
from bayes_curiosity_ros.nodes.conversions.images import camera_info_of, images_of_frame
from bayes_curiosity_ros.nodes.conversions.values import stamp_of
from bayes_curiosity_ros.nodes.parameters import declare
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, SENSOR_QOS
from bayes_curiosity_ros.nodes.run import Guarded, run_node
from bayes_curiosity_ros.robot.cameras.camera import Camera, Frame
from bayes_curiosity_ros.robot.cameras.simulated import SimulatedCamera
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.tasks.arm.names import named_arm_task

BACKENDS = ("sim", "realsense", "topics")
OPTICAL_FRAME = "camera_optical_frame"
DIAGNOSTICS_S = 1.0


@dataclass(frozen=True)
class CameraNodeConfig:
    """Parameters of the camera node.

    Attributes:
        backend: sim, realsense or topics.
        robot: file in config/robots/, or a path; its world.camera says what the images look like.
        task: in simulation, decides whether the object is a marker.
        rate_hz: of a real camera.
        autostart: configure and activate without being asked.
        connect_timeout_s: longest wait for the camera.
        read_timeout_s: longest wait for a frame of a real camera.
    """

    backend: str = "sim"
    robot: str = "jaco.yaml"
    task: str = "reach"
    rate_hz: float = 30.0
    autostart: bool = True
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 1.0

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise unknown_name("backend", self.backend, BACKENDS)
        if not 0 < self.rate_hz <= 1000:
            raise ConfigError(f"rate_hz = {self.rate_hz}; must be above 0 and at most 1000")


class CameraNode(Guarded, LifecycleNode):
    """A simulated camera sees what `arm/state` says, a real one what there is."""

    def __init__(self) -> None:
        super().__init__("camera")
        self.config = declare(self, CameraNodeConfig())
        self._robot = RobotConfig.load(self.config.robot)
        self.camera = self._make_camera()
        self._active = False
        self._frames = 0
        self._problem = ""
        # Learning counts every simulated frame; of a real camera only the newest matters.
        qos = EPISODE_QOS if self.config.backend == "sim" else SENSOR_QOS
        self._color, self._color_info = self._image_publishers("color", qos)
        self._depth, self._depth_info = self._image_publishers("depth", qos)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._create_inputs()
        self.create_timer(DIAGNOSTICS_S, self._diagnose)
        if self.config.autostart:
            self.trigger_configure()
            if self.trigger_activate() != TransitionCallbackReturn.SUCCESS:
                self.get_logger().error("not active; repair, then activate this node")

    def make_executor(self) -> Executor:
        if self.config.backend == "sim":
            return SingleThreadedExecutor()
        return MultiThreadedExecutor(num_threads=3)

    def close(self, reason: str) -> None:
        self.camera.disconnect()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        try:
            self.camera.connect(self.config.connect_timeout_s)
        except BayesCuriosityError as error:
            self.get_logger().error(f"cannot activate: {error}")
            return TransitionCallbackReturn.FAILURE
        self._active = True
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._active = False
        self.camera.disconnect()
        return super().on_deactivate(state)

    def _make_camera(self) -> Camera:
        if self.config.backend == "sim":
            return SimulatedCamera(named_arm_task(self.config.task, self._robot, threads=1).robot)
        if self.config.backend == "topics":
            from bayes_curiosity_ros.robot.cameras.topics import TopicsCamera, TopicsConfig

            return TopicsCamera(self._robot, declare(self, TopicsConfig(), "topics."), self)
        from bayes_curiosity_ros.robot.cameras.realsense import RealsenseCamera, RealsenseConfig

        return RealsenseCamera(self._robot, declare(self, RealsenseConfig(), "realsense."))

    def _image_publishers(self, kind: str, qos: Any) -> tuple[Any, Any]:
        return (
            self.create_publisher(Image, f"camera/{kind}/image_raw", qos),
            self.create_publisher(CameraInfo, f"camera/{kind}/camera_info", qos),
        )

    def _create_inputs(self) -> None:
        if self.config.backend == "sim":
            self.create_subscription(ArmStateMessage, "arm/state", self._see, EPISODE_QOS)
        else:
            group = ReentrantCallbackGroup()
            self.create_timer(1.0 / self.config.rate_hz, self._read, callback_group=group)

    def _see(self, message: ArmStateMessage) -> None:
        if not self._active or not self._watched():
            return
        try:
            self.camera.pose(arm_state_of_message(message, self._robot.arm.joints))
            frame = self.camera.read(self.config.read_timeout_s)
        except BayesCuriosityError as error:
            self._reject(error)
            return
        self._publish(frame, message.header.stamp)

    def _read(self) -> None:
        if not self._active:
            return
        try:
            frame = self.camera.read(self.config.read_timeout_s)
        except BayesCuriosityError as error:
            self._reject(error)
            return
        self._publish(frame, stamp_of(frame.stamp_s))

    def _watched(self) -> bool:
        """Rays are cast only for someone."""
        return any(
            publisher.get_subscription_count()
            for publisher in (self._color, self._depth, self._color_info, self._depth_info)
        )

    def _publish(self, frame: Frame, stamp: Any) -> None:
        info = camera_info_of(self.camera.intrinsics)
        for message in (*images_of_frame(frame), info):
            message.header.stamp, message.header.frame_id = stamp, OPTICAL_FRAME
            if message is info:
                self._color_info.publish(info)
                self._depth_info.publish(info)
            else:
                (self._color if message.encoding == "rgb8" else self._depth).publish(message)
        self._frames, self._problem = self._frames + 1, ""

    def _reject(self, error: BayesCuriosityError) -> None:
        self._problem = str(error)
        self.get_logger().warning(f"no frame: {error}", throttle_duration_sec=1.0)

    def _diagnose(self) -> None:
        level = DiagnosticStatus.OK if self._active else DiagnosticStatus.STALE
        status = DiagnosticStatus(
            level=DiagnosticStatus.ERROR if self._problem else level,
            name=f"{self.get_fully_qualified_name()}: {self.config.backend}",
            message=self._problem or ("active" if self._active else "inactive"),
            values=[KeyValue(key="frames", value=str(self._frames))],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)


def main() -> None:
    """Entry point of `ros2 run bayes_curiosity_ros camera`."""
    sys.exit(run_node(CameraNode))


if __name__ == "__main__":
    main()
