"""Settings of the camera node: which camera, in which cell, how often."""

from __future__ import annotations

from dataclasses import dataclass

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.cameras.camera import CAMERAS


@dataclass(frozen=True)
class CameraNodeConfig:
    """Parameters of the camera node.

    Attributes:
        backend: name of the camera, one of `robot.cameras.camera.CAMERAS`.
        robot: file in config/robots/, or a path; its world.camera says what the images look like.
        task: what is learnt; decides in simulation whether the object is only a marker.
        frame_prefix: what the images' frame begins with, as the description node's.
        rate_hz: frames per second of a real camera, above 0 and at most 1000.
        autostart: configure and activate without being asked.
        connect_timeout_s: longest wait for the camera.
        read_timeout_s: longest wait for a frame of a real camera.
    """

    backend: str = "sim"
    robot: str = "jaco.yaml"
    task: str = "reach"
    frame_prefix: str = ""
    rate_hz: float = 30.0
    autostart: bool = True
    connect_timeout_s: float = 10.0
    read_timeout_s: float = 1.0

    def __post_init__(self) -> None:
        CAMERAS.require(self.backend)
        if not 0 < self.rate_hz <= 1000:
            raise ConfigError(f"rate_hz = {self.rate_hz}; must be above 0 and at most 1000")
