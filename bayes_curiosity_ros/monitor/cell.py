"""What stands around the arm: table, cylinder, camera, and the box it may move in."""

from __future__ import annotations

from itertools import combinations, product
from math import radians

import numpy as np
import viser

from bayes_curiosity_ros.robot.cameras.camera import Extrinsics
from bayes_curiosity_ros.robot.config import Color, RobotConfig
from bayes_curiosity_ros.robot.frames import quaternion_of

FRUSTUM_M = 0.16
FLOOR = (58, 62, 70)
BOX = (52, 92, 140)
HIT = (255, 90, 60)


class Cell:
    """The surroundings of the arm in a scene of viser.

    Args:
        scene: where it is drawn.
        robot: its measures.
    """

    def __init__(self, scene: viser.SceneApi, robot: RobotConfig) -> None:
        self._scene = scene
        self._place: tuple[float, ...] = ()
        self._turn: tuple[float, ...] = ()
        self._limits = np.empty((0, 3))
        world = robot.world
        self._add_table(robot)
        cylinder = world.object
        self._object = scene.add_cylinder(
            "/object",
            cylinder.radius_m,
            cylinder.height_m,
            color=bytes_of(cylinder.color),
            radial_segments=48,
            visible=False,
        )
        camera = Extrinsics.of(world.camera)
        self._camera = scene.add_camera_frustum(
            "/camera",
            fov=radians(world.camera.fovy_deg),
            aspect=world.camera.width / world.camera.height,
            scale=FRUSTUM_M,
            thickness=0.003,
            color=(225, 225, 235),
            position=camera.position,
            wxyz=quaternion_of(camera.rotation),
        )
        self._add_workspace(robot)

    def show_object(self, position: np.ndarray, wxyz: np.ndarray) -> None:
        """The cylinder is here, (3,) in [m], turned by this quaternion."""
        place, turn = tuple(position), tuple(wxyz)
        if place != self._place:
            self._object.position, self._place = position, place
            self._object.visible = True
        if turn != self._turn:
            self._object.wxyz, self._turn = wxyz, turn

    def show_picture(self, color: np.ndarray) -> None:
        """What the camera sees, (H, W, 3) uint8."""
        self._camera.image = color

    def show_limits(self, points: np.ndarray) -> None:
        """(L, 3) positions of the hand where a limit was hit."""
        if np.array_equal(points, self._limits):
            return
        self._limits = points
        colors = np.tile(np.array(HIT, np.uint8), (len(points), 1))
        self._scene.add_point_cloud(
            "/limits", points, colors, point_size=0.012, point_shape="diamond"
        )

    def show_trail(self, lines: np.ndarray, colors: np.ndarray) -> None:
        """(S, 2, 3) segments in [m] with their colours."""
        if len(lines):
            self._scene.add_line_segments("/trail", lines, colors, thickness=0.003)

    def show_map(self, points: np.ndarray, colors: np.ndarray) -> None:
        """(N, 3) points in [m] with their colours: where the robot is curious."""
        self._scene.add_point_cloud(
            "/curiosity", points.astype(np.float32), colors, point_size=0.005, point_shape="circle"
        )

    def _add_table(self, robot: RobotConfig) -> None:
        table = robot.world.table
        thickness = table.thickness_m
        self._scene.add_box(
            "/table",
            color=bytes_of(table.color),
            dimensions=(*table.size_m, thickness),
            position=(*table.center_m, -thickness / 2),
        )
        self._scene.add_grid(
            "/floor",
            5.0,
            5.0,
            position=(0.0, 0.0, -thickness),
            cell_color=FLOOR,
            section_color=FLOOR,
            cell_size=0.25,
        )

    def _add_workspace(self, robot: RobotConfig) -> None:
        low, high = robot.safety.workspace_lower_m, robot.safety.workspace_upper_m
        corners = np.array(list(product(*zip(low, high, strict=True))))
        edges = [pair for pair in combinations(corners, 2) if np.sum(pair[0] != pair[1]) == 1]
        colors = np.full((len(edges), 2, 3), BOX, dtype=np.uint8)
        self._scene.add_line_segments(
            "/workspace", np.array(edges, np.float32), colors, thickness=0.0015
        )


def bytes_of(color: Color) -> tuple[int, int, int]:
    """A colour in 0 … 255."""
    red, green, blue = (int(255 * part) for part in color)
    return red, green, blue
