"""Where the cylinder is, from colour and depth: for a table that nobody simulates."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass

import numpy as np

from bayes_curiosity_ros.errors import BayesCuriosityError, ConfigError, ImageError
from bayes_curiosity_ros.robot.cameras.camera import Extrinsics, Frame, Intrinsics
from bayes_curiosity_ros.robot.config import ObjectConfig


class NotSeenError(BayesCuriosityError):
    """Too little of the cylinder is visible."""


@dataclass(frozen=True)
class DetectorConfig:
    """What counts as the cylinder.

    Attributes:
        hue_tolerance: largest difference in hue, a full circle being 1.
        min_saturation: least saturation of its pixels, 0 … 1.
        min_pixels: fewer do not make a cylinder.
    """

    hue_tolerance: float = 0.06
    min_saturation: float = 0.45
    min_pixels: int = 12

    def __post_init__(self) -> None:
        if not 0 < self.hue_tolerance < 0.5 or not 0 <= self.min_saturation < 1:
            raise ConfigError(
                f"detector: hue_tolerance = {self.hue_tolerance} belongs in (0, 0.5), "
                f"min_saturation = {self.min_saturation} in [0, 1)"
            )
        if self.min_pixels < 3:
            raise ConfigError(f"detector: min_pixels = {self.min_pixels}; must be ≥ 3")


class CylinderDetector:
    """Points of the cylinder's colour; a circle of its radius fitted to them from above.

    It finds a cylinder that stands upright, on the table or in the hand.
    """

    def __init__(
        self,
        cylinder: ObjectConfig,
        intrinsics: Intrinsics,
        extrinsics: Extrinsics,
        config: DetectorConfig | None = None,
    ) -> None:
        self.config = config or DetectorConfig()
        self._radius = cylinder.radius_m
        self._height = cylinder.height_m
        self._hue = colorsys.rgb_to_hsv(*cylinder.color)[0]
        self._rays = intrinsics.rays()
        self._shape = (intrinsics.height, intrinsics.width)
        self._camera = extrinsics

    def __call__(self, frame: Frame) -> np.ndarray:
        """Centre of the cylinder in the world, (3,) in [m].

        Raises:
            ImageError: the frame is of another size than the camera's.
            NotSeenError: too few pixels of its colour.
        """
        if frame.depth.shape != self._shape or frame.color.shape != (*self._shape, 3):
            raise ImageError(
                f"colour {frame.color.shape} and depth {frame.depth.shape}; the robot file's "
                f"camera has {self._shape} pixels"
            )
        points = self._points(frame)
        if len(points) < self.config.min_pixels:
            raise NotSeenError(
                f"{len(points)} pixels of the cylinder's colour, "
                f"{self.config.min_pixels} needed; is it in view and lit?"
            )
        center = self._axis(points)
        top = float(np.quantile(points[:, 2], 0.98))
        return np.array([*center, top - self._height / 2])

    def _points(self, frame: Frame) -> np.ndarray:
        mask = self._mask(frame.color).ravel()
        depth = frame.depth.ravel()
        chosen = mask & np.isfinite(depth) & (depth > 0)
        optical = self._rays[chosen] * depth[chosen, None]
        points = optical @ self._camera.rotation.T + self._camera.position
        if len(points) == 0:
            return points
        # Pixels on the edge see what is behind; the cylinder is within its size of the middle.
        middle = np.median(points, axis=0)
        near = np.abs(points - middle) < [2 * self._radius, 2 * self._radius, self._height]
        return points[near.all(axis=1)]

    def _mask(self, color: np.ndarray) -> np.ndarray:
        """Pixels of the cylinder's hue: (H, W) bool."""
        rgb = color.astype(np.float32) / 255.0
        high, low = rgb.max(axis=2), rgb.min(axis=2)
        spread = np.maximum(high - low, 1e-6)
        red, green, blue = np.moveaxis(rgb, 2, 0)
        hue = np.where(
            high == red,
            (green - blue) / spread,
            np.where(high == green, 2.0 + (blue - red) / spread, 4.0 + (red - green) / spread),
        )
        away = np.abs((hue / 6.0 - self._hue + 0.5) % 1.0 - 0.5)
        saturated = (high - low) / np.maximum(high, 1e-6) >= self.config.min_saturation
        return (away <= self.config.hue_tolerance) & saturated

    def _axis(self, points: np.ndarray) -> np.ndarray:
        """Where the axis meets the table: (2,) in [m].

        The side's points lie on a circle of known radius, those of the top inside it. Gauss–
        Newton on the side alone; the first guess is behind the points, seen from the camera.
        """
        flat = points[points[:, 2] < points[:, 2].max() - 0.01, :2]
        if len(flat) < self.config.min_pixels // 2:
            flat = points[:, :2]
        away = flat.mean(axis=0) - self._camera.position[:2]
        center = flat.mean(axis=0) + away / np.linalg.norm(away) * self._radius * 0.6
        for _ in range(20):
            offset = flat - center
            distance = np.maximum(np.linalg.norm(offset, axis=1), 1e-9)
            residual = distance - self._radius
            weight = 1.0 / (1.0 + (residual / 0.005) ** 2)
            jacobian = -offset / distance[:, None]
            normal = (jacobian * weight[:, None]).T @ jacobian + 1e-6 * np.eye(2)
            center = center - np.linalg.solve(normal, (jacobian * weight[:, None]).T @ residual)
        return center
