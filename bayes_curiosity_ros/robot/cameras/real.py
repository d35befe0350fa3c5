"""What all real cameras share: where they stand, and frames that look as learning expects."""

from __future__ import annotations

from bayes_curiosity_ros.robot.cameras.camera import Extrinsics, Intrinsics
from bayes_curiosity_ros.robot.cameras.images import Resizer
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.device import Device


class RealCamera(Device):
    """A camera whose frames are cut and scaled to look as those of the robot file's camera.

    A driver makes the `_resizer` when it knows the lens.
    """

    def __init__(self, robot: RobotConfig) -> None:
        self._camera = robot.world.camera
        self._resizer: Resizer | None = None

    @property
    def intrinsics(self) -> Intrinsics:
        return Intrinsics.of(self._camera)

    @property
    def extrinsics(self) -> Extrinsics:
        return Extrinsics.of(self._camera)
