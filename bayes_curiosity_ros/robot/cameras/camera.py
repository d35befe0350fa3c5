"""What every RGBD camera offers, simulated or real, and the registry of cameras."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, Self, runtime_checkable

import numpy as np

from bayes_curiosity_ros.configuration.registry import Registry
from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.robot.arms.arm import ArmState
from bayes_curiosity_ros.robot.composition import look_at
from bayes_curiosity_ros.robot.config import CameraConfig, RobotConfig
from bayes_curiosity_ros.robot.device import DeviceInputs


class CameraError(BayesCuriosityError):
    """A camera is not connected, or gave no frame in time."""


@dataclass(frozen=True)
class Frame:
    """One RGBD image; colour and depth are registered pixel by pixel.

    Attributes:
        color: (H, W, 3) uint8 RGB.
        depth: (H, W) float32 in [m] along the optical axis.
        stamp_s: when it was taken.
    """

    color: np.ndarray
    depth: np.ndarray
    stamp_s: float


@dataclass(frozen=True)
class Intrinsics:
    """A pinhole without distortion: u = fx x / z + cx, v = fy y / z + cy, pixel centres at .5.

    `x` points right, `y` down and `z` along the view, as in REP 103's optical frames.
    """

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float

    @staticmethod
    def of(camera: CameraConfig) -> Intrinsics:
        focal = camera.focal_px
        return Intrinsics(
            camera.width, camera.height, focal, focal, camera.width / 2, camera.height / 2
        )

    def rays(self) -> np.ndarray:
        """Directions of the pixels in the optical frame, scaled to z = 1: (H W, 3)."""
        columns = (np.arange(self.width) + 0.5 - self.cx) / self.fx
        rows = (np.arange(self.height) + 0.5 - self.cy) / self.fy
        x, y = np.meshgrid(columns, rows)
        return np.stack([x, y, np.ones_like(x)], axis=-1).reshape(-1, 3)


@dataclass(frozen=True)
class Extrinsics:
    """Pose of the optical frame in the world: `rotation` (3, 3), `position` (3,) in [m]."""

    position: np.ndarray
    rotation: np.ndarray

    @staticmethod
    def of(camera: CameraConfig) -> Extrinsics:
        # MuJoCo's cameras look along -z with y up; optical frames along z with y down.
        return Extrinsics(np.array(camera.position_m), look_at(camera) * [1.0, -1.0, -1.0])


@runtime_checkable
class Camera(Protocol):
    """An RGBD camera; usable as a context manager."""

    @property
    def intrinsics(self) -> Intrinsics:
        """How its frames map directions to pixels."""
        ...

    @property
    def extrinsics(self) -> Extrinsics:
        """Where it stands in the world."""
        ...

    def connect(self, timeout_s: float) -> None:
        """Start it.

        Raises:
            CameraError: it did not start in time; the message says what to check.
        """
        ...

    def disconnect(self) -> None:
        """Stop it; harmless when it is not connected."""
        ...

    def read(self, timeout_s: float) -> Frame:
        """The next frame.

        Raises:
            CameraError: not connected, or none came in time.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


@runtime_checkable
class PosedCamera(Camera, Protocol):
    """A camera in simulation: it sees the cell as it was told last."""

    def pose(self, state: ArmState) -> None:
        """Take the pose of the cell; the next frame carries its stamp.

        Raises:
            CameraError: not connected.
            InputError: the state does not say where the object is.
        """
        ...


@dataclass(frozen=True)
class CameraInputs(DeviceInputs):
    """What a camera is made from; the robot's world.camera says what the frames look like.

    Attributes:
        cell: gives the cell as the task has it; asked only by a simulated camera.
    """

    cell: Callable[[], RobotConfig]


@dataclass(frozen=True)
class CameraEntry:
    """A kind of camera.

    Attributes:
        name: what users type.
        make: makes a camera, not connected yet, from its inputs.
        parameters: the camera node's parameter that each argument of the bringup sets.
    """

    name: str
    make: Callable[[CameraInputs], Camera]
    parameters: Mapping[str, str] = field(default_factory=dict)


CAMERAS: Registry[CameraEntry] = Registry(
    "camera", CameraEntry, "bayes_curiosity_ros.robot.cameras"
)
