"""The gizmo on the hand, as whoever looks at the operator's page has it before them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayes_curiosity_ros.monitor.page import FOV_RAD, LOOK_AT, LOOK_FROM
from bayes_curiosity_ros.monitor.viewer import GIZMO_M
from bayes_curiosity_ros.robot.kinematics import Pose

GRIP_M = 0.7 * GIZMO_M  # from the gizmo's middle to where an arrow is gripped
YELLOW = 50  # by how much red and green are above blue, at least
FARTHEST_M = 0.3  # of one drag, so that the mouse stays over the scene


class Drag(NamedTuple):
    """A drag of one of the gizmo's arrows.

    Attributes:
        start: pixel of the page that is on the arrow.
        by: how far it is dragged, in pixels.
        way: (3,) the way in [m] that this leads.
    """

    start: tuple[int, int]
    by: tuple[int, int]
    way: np.ndarray


def is_gripped(patch: np.ndarray) -> bool:
    """Whether an arrow is among the pixels, (H, W, 3), around the mouse: it is yellow there."""
    return bool((patch[..., :2].min(axis=2) - patch[..., 2] > YELLOW).any())


class View:
    """The scene by the page's first camera.

    Args:
        driver: the browser.
    """

    def __init__(self, driver: Any) -> None:
        scene = driver.find_element("css selector", "canvas").rect
        ahead = np.subtract(LOOK_AT, LOOK_FROM)
        right = np.cross(ahead, [0.0, 0.0, 1.0])
        axes = np.stack([right, np.cross(ahead, right), ahead])  # right, down, ahead
        self._axes = axes / np.linalg.norm(axes, axis=1, keepdims=True)
        self._focal = scene["height"] / 2 / np.tan(FOV_RAD / 2)
        self._middle = np.array(
            [scene["x"] + scene["width"] / 2, scene["y"] + scene["height"] / 2]
        )

    def drag_along(self, gizmo: Pose, way: np.ndarray) -> Drag:
        """The drag of one arrow that leads along a way, (3,) in [m], as far as can be seen."""
        lengths = np.clip(gizmo.rotation.T @ way, -FARTHEST_M, FARTHEST_M)
        return max((self._drag(gizmo, i, lengths[i]) for i in range(3)), key=_length)

    def drag_best_seen(self, gizmo: Pose, length_m: float) -> Drag:
        """The drag of this length of the arrow that is seen best."""
        return max((self._drag(gizmo, i, length_m) for i in range(3)), key=_length)

    def _drag(self, gizmo: Pose, axis: int, length_m: float) -> Drag:
        arrow = gizmo.rotation[:, axis]
        x, y = self._pixel(gizmo.position + GRIP_M * arrow)
        to_x, to_y = self._pixel(gizmo.position + (GRIP_M + length_m) * arrow)
        return Drag((x, y), (to_x - x, to_y - y), length_m * arrow)

    def _pixel(self, point: np.ndarray) -> tuple[int, int]:
        right, down, ahead = self._axes @ (point - LOOK_FROM)
        x, y = self._middle + self._focal * np.array([right, down]) / ahead
        return int(x), int(y)


def _length(drag: Drag) -> float:
    return float(np.hypot(*drag.by))
