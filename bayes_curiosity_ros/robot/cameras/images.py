"""Any camera's images in the size and shape that learning uses."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from bayes_curiosity_ros.errors import ImageError
from bayes_curiosity_ros.robot.cameras.camera import CameraError, Frame, Intrinsics
from bayes_curiosity_ros.robot.config import CameraConfig

INSTALL = "OpenCV is not installed: `pip install 'opencv-python-headless<5'`"


def load_opencv() -> ModuleType:
    """OpenCV, imported when a real camera is chosen.

    Raises:
        CameraError: not installed; the message says how to install it.
    """
    try:
        import cv2
    except ImportError as error:
        raise CameraError(f"{INSTALL} ({error})") from error
    return cv2


class Resizer:
    """Crops around the optical axis and scales, so that a frame looks as the simulated one.

    The simulated camera is a pinhole with a given field of view and its axis in the middle. Of
    a real image the part with that field of view is cut out and scaled to the same size.

    Args:
        source: intrinsics of the real camera.
        target: what learning expects.
    """

    def __init__(self, source: Intrinsics, target: CameraConfig) -> None:
        self.source = source
        self.intrinsics = wanted = Intrinsics.of(target)
        self._max_depth_m = target.max_depth_m
        self._cv2 = load_opencv()
        half_width = source.fx * wanted.cx / wanted.fx
        half_height = source.fy * wanted.cy / wanted.fy
        left, right = source.cx - half_width, source.cx + half_width
        top, bottom = source.cy - half_height, source.cy + half_height
        if left < -1 or top < -1 or right > source.width + 1 or bottom > source.height + 1:
            raise CameraError(
                f"the camera's view ({source.width} × {source.height} pixels, focal length "
                f"{source.fx:.0f}) is narrower than the {target.fovy_deg}° that learning "
                "expects; lower world.camera.fovy_deg in the robot file"
            )
        columns = left + (np.arange(wanted.width) + 0.5) * (right - left) / wanted.width - 0.5
        rows = top + (np.arange(wanted.height) + 0.5) * (bottom - top) / wanted.height - 0.5
        self._map_x, self._map_y = (
            values.astype(np.float32) for values in np.meshgrid(columns, rows)
        )
        self._blur = max(1, round((right - left) / wanted.width))

    def __call__(self, color: np.ndarray, depth: np.ndarray, stamp_s: float) -> Frame:
        """A frame of the target's size; depth in [m], far where there was no measurement.

        Args:
            color: (H, W, 3) uint8 RGB.
            depth: (H, W) in [m], registered to the colour image; 0 or NaN: unknown.
            stamp_s: when they were taken.
        """
        shape = (self.source.height, self.source.width)
        if color.shape != (*shape, 3) or depth.shape != shape:
            raise ImageError(
                f"colour {color.shape} and depth {depth.shape}; camera_info says {shape}"
            )
        cv2 = self._cv2
        smooth = cv2.blur(color, (self._blur, self._blur)) if self._blur > 1 else color
        small = cv2.remap(smooth, self._map_x, self._map_y, cv2.INTER_LINEAR)
        # Depth is never averaged: between two surfaces there is none.
        known = np.where(np.isfinite(depth) & (depth > 0), depth, self._max_depth_m)
        near = cv2.remap(known.astype(np.float32), self._map_x, self._map_y, cv2.INTER_NEAREST)
        return Frame(small, np.minimum(near, self._max_depth_m), stamp_s)
