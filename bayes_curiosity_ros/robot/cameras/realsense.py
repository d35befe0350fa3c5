"""An Intel RealSense, through pyrealsense2, depth aligned to colour."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.cameras.camera import (
    CAMERAS,
    CameraError,
    CameraInputs,
    Frame,
    Intrinsics,
)
from bayes_curiosity_ros.robot.cameras.images import Resizer
from bayes_curiosity_ros.robot.cameras.real import RealCamera
from bayes_curiosity_ros.robot.config import RobotConfig

INSTALL = "pyrealsense2 is not installed: `pip install pyrealsense2`"


@dataclass(frozen=True)
class RealsenseConfig:
    """Which camera, and its streams.

    Attributes:
        serial: serial number of the camera; empty for the only one there is.
        width: width of both streams in pixels.
        height: height of both streams in pixels.
        rate_hz: frames per second of both streams.
    """

    serial: str = ""
    width: int = 640
    height: int = 480
    rate_hz: int = 30

    def __post_init__(self) -> None:
        for name in ("width", "height", "rate_hz"):
            if getattr(self, name) < 1:
                raise ConfigError(f"realsense.{name} = {getattr(self, name)}; must be ≥ 1")


class RealsenseCamera(RealCamera):
    """Frames of a RealSense in the size that learning uses."""

    def __init__(self, robot: RobotConfig, config: RealsenseConfig) -> None:
        super().__init__(robot)
        try:
            import pyrealsense2
        except ImportError as error:
            raise CameraError(f"{INSTALL} ({error})") from error
        self._rs = pyrealsense2
        self.config = config
        self._pipeline: Any = None
        self._align: Any = None
        self._metres_per_unit = 0.001

    def connect(self, timeout_s: float) -> None:
        rs, config = self._rs, self.config
        streams = rs.config()
        if config.serial:
            streams.enable_device(config.serial)
        size = (config.width, config.height)
        streams.enable_stream(rs.stream.color, *size, rs.format.rgb8, config.rate_hz)
        streams.enable_stream(rs.stream.depth, *size, rs.format.z16, config.rate_hz)
        self._pipeline = rs.pipeline()
        try:
            profile = self._pipeline.start(streams)
        except RuntimeError as error:
            self._pipeline = None
            raise CameraError(
                f"the RealSense did not start ({error}); is it plugged into a USB 3 port, and "
                f"does it have {config.width} × {config.height} at {config.rate_hz} Hz?"
            ) from error
        self._align = rs.align(rs.stream.color)
        self._metres_per_unit = profile.get_device().first_depth_sensor().get_depth_scale()
        video = profile.get_stream(rs.stream.color).as_video_stream_profile()
        lens = video.get_intrinsics()
        self._resizer = Resizer(
            Intrinsics(lens.width, lens.height, lens.fx, lens.fy, lens.ppx + 0.5, lens.ppy + 0.5),
            self._camera,
        )

    def disconnect(self) -> None:
        if self._pipeline is not None:
            self._pipeline.stop()
            self._pipeline = None

    def read(self, timeout_s: float) -> Frame:
        if self._pipeline is None or self._resizer is None:
            raise CameraError("the RealSense is not connected; call connect() first")
        try:
            frames = self._pipeline.wait_for_frames(round(1000 * timeout_s))
        except RuntimeError as error:
            raise CameraError(f"no frame within {timeout_s} s: {error}") from error
        aligned = self._align.process(frames)
        color, depth = aligned.get_color_frame(), aligned.get_depth_frame()
        if not color or not depth:
            raise CameraError("a frame without colour or depth")
        return self._resizer(
            np.asanyarray(color.get_data()),
            np.asanyarray(depth.get_data()).astype(np.float32) * self._metres_per_unit,
            self._stamp_s(color),
        )

    def _stamp_s(self, frame: Any) -> float:
        """When a frame was taken; when it came, where its stamp is of the camera's own clock."""
        own = self._rs.timestamp_domain.hardware_clock
        if frame.get_frame_timestamp_domain() == own:
            return time.time()
        return float(frame.get_timestamp() / 1000.0)


@CAMERAS.register("realsense")
def _make(inputs: CameraInputs) -> RealsenseCamera:
    return RealsenseCamera(inputs.robot, inputs.declare(RealsenseConfig(), "realsense."))
