"""RGBD by casting a ray per pixel: no GL, many cells at once, and faster than a GL renderer.

What stands still is cast once. For a frame, only the pixels that a moving part can cover are
cast again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from os import cpu_count

import mujoco
import numpy as np

from bayes_curiosity_ros.robot.cameras.camera import Extrinsics, Intrinsics
from bayes_curiosity_ros.robot.composition import MOVING_GROUP, SKY, STILL_GROUP
from bayes_curiosity_ros.robot.rows import RowLayout
from bayes_curiosity_ros.robot.world import World

CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))
MAX_RANGE_M = 100.0


@dataclass(frozen=True)
class _Hits:
    """Where rays ended: geom ids (-1 for none), distances in [m], unit normals."""

    geoms: np.ndarray
    distances: np.ndarray
    normals: np.ndarray


class RaycastScene:
    """One world as its camera sees it."""

    def __init__(self, world: World) -> None:
        self.world = world
        camera = world.config.world.camera
        self.intrinsics, self.extrinsics = Intrinsics.of(camera), Extrinsics.of(camera)
        rays = self.intrinsics.rays()
        lengths = np.linalg.norm(rays, axis=1)
        self._directions = (rays / lengths[:, None]) @ self.extrinsics.rotation.T
        self._planar = 1.0 / lengths  # distance along the ray to depth along the axis
        light = world.config.world.light
        self._lamp = -np.array(light.direction) / np.linalg.norm(light.direction)
        self._light = light
        self._max_depth = camera.max_depth_m
        model = world.scene
        self._moving = np.flatnonzero(model.geom_group == MOVING_GROUP)
        boxes = model.geom_aabb[self._moving]
        self._corners = boxes[:, None, :3] + CORNERS * boxes[:, None, 3:]
        self._background = self._cast_background()
        _, colors, depths = self._background
        self._background_image = np.vstack([colors.T, depth_levels(depths, self._max_depth)])

    def frame(self, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
        """Colour (H, W, 3) uint8 and depth (H, W) float32 of a posed scene."""
        _, colors, depths = self._background
        colors, depths = colors.copy(), depths.copy()
        where, shades, distances = self._in_front(data)
        colors[where], depths[where] = shades, distances
        size = self.intrinsics.height, self.intrinsics.width
        return colors.reshape(*size, 3), depths.reshape(size)

    def image(self, data: mujoco.MjData) -> np.ndarray:
        """The same channels first, (4, H, W) uint8, depth by `depth_levels`, for less work."""
        image = self._background_image.copy()
        where, shades, distances = self._in_front(data)
        image[:3, where] = shades.T
        image[3, where] = depth_levels(distances, self._max_depth)
        return image.reshape(4, self.intrinsics.height, self.intrinsics.width)

    def _in_front(self, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pixels where a moving part hides what stands still; their colours and depths."""
        pixels = self._covered(data)
        hits = self._cast(data, pixels, MOVING_GROUP)
        front = np.flatnonzero((hits.geoms >= 0) & (hits.distances < self._background[0][pixels]))
        where, distances = pixels[front], hits.distances[front]
        shades = self._shade(_Hits(hits.geoms[front], distances, hits.normals[front]))
        depths = np.minimum(distances * self._planar[where], self._max_depth)
        return where, shades, depths.astype(np.float32)

    def _cast_background(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        data = mujoco.MjData(self.world.scene)
        mujoco.mj_kinematics(self.world.scene, data)
        hits = self._cast(data, np.arange(len(self._directions)), STILL_GROUP)
        missed = hits.geoms < 0
        distances = np.where(missed, np.inf, hits.distances)
        colors = self._shade(hits)
        colors[missed] = np.round(255 * np.array(SKY))
        depths = np.minimum(distances * self._planar, self._max_depth).astype(np.float32)
        return distances, colors, depths

    def _cast(self, data: mujoco.MjData, pixels: np.ndarray, group: int) -> _Hits:
        count = len(pixels)
        hits = _Hits(np.empty(count, np.int32), np.empty(count), np.empty((count, 3)))
        groups = np.zeros(6, np.uint8)
        groups[group] = 1
        mujoco.mj_multiRay(
            self.world.scene,
            data,
            self.extrinsics.position,
            self._directions[pixels].ravel(),
            groups,
            True,
            -1,
            hits.geoms,
            hits.distances,
            hits.normals.reshape(-1),
            count,
            MAX_RANGE_M,
        )
        return hits

    def _shade(self, hits: _Hits) -> np.ndarray:
        light = self._light
        facing = np.maximum(hits.normals @ self._lamp, 0.0)
        brightness = light.ambient + light.diffuse * facing
        shaded = self.world.scene.geom_rgba[hits.geoms, :3] * brightness[:, None]
        return np.round(255 * np.minimum(shaded, 1.0)).astype(np.uint8)

    def _covered(self, data: mujoco.MjData) -> np.ndarray:
        """Pixels inside the image of a moving part's bounding box, in order."""
        size, camera = self.intrinsics, self.extrinsics
        frames = data.geom_xmat[self._moving].reshape(-1, 3, 3)
        corners = np.matmul(self._corners, frames.transpose(0, 2, 1))
        corners += data.geom_xpos[self._moving, None] - camera.position
        corners = corners @ camera.rotation
        depth = corners[..., 2]
        if depth.min() < 1e-3:  # a part beside or behind the camera has no image rectangle
            return np.arange(size.height * size.width)
        columns = corners[..., 0] / depth * size.fx + size.cx
        rows = corners[..., 1] / depth * size.fy + size.cy
        left, right = _pixel_range(columns, size.width)
        top, bottom = _pixel_range(rows, size.height)
        mask = np.zeros((size.height, size.width), dtype=bool)
        for t, b, l, r in zip(top, bottom, left, right, strict=True):  # noqa: E741
            mask[t:b, l:r] = True
        return np.flatnonzero(mask)


def _pixel_range(values: np.ndarray, size: int) -> tuple[list[int], list[int]]:
    first = np.clip(np.floor(values.min(axis=1)), 0, size).astype(int)
    last = np.clip(np.ceil(values.max(axis=1)), 0, size).astype(int)
    return first.tolist(), last.tolist()


class RaycastCamera:
    """The cameras of many cells, whose states are rows of `robot.rows`.

    Args:
        worlds: the worlds rows refer to by index.
        threads: frames cast at the same time; 0 for one per core.
    """

    def __init__(self, worlds: Sequence[World], layout: RowLayout, threads: int = 0) -> None:
        self.scenes = [RaycastScene(world) for world in worlds]
        self.layout = layout
        count = threads or cpu_count() or 1
        self._data = [mujoco.MjData(worlds[0].scene) for _ in range(count)]
        self._pool = ThreadPoolExecutor(count) if count > 1 else None

    def frames(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Colours (N, H, W, 3) uint8 and depths (N, H, W) float32 in [m]."""
        size = self.scenes[0].intrinsics
        colors = np.empty((len(rows), size.height, size.width, 3), np.uint8)
        depths = np.empty((len(rows), size.height, size.width), np.float32)

        def take(index: int, scene: RaycastScene, data: mujoco.MjData) -> None:
            colors[index], depths[index] = scene.frame(data)

        self._for_each(rows, take)
        return colors, depths

    def images(self, rows: np.ndarray) -> np.ndarray:
        """(N, 4, H, W) uint8: red, green, blue, and depth with 255 at `max_depth_m`."""
        size = self.scenes[0].intrinsics
        images = np.empty((len(rows), 4, size.height, size.width), np.uint8)

        def take(index: int, scene: RaycastScene, data: mujoco.MjData) -> None:
            images[index] = scene.image(data)

        self._for_each(rows, take)
        return images

    def _for_each(
        self, rows: np.ndarray, take: Callable[[int, RaycastScene, mujoco.MjData], None]
    ) -> None:
        """Pose the scene of every row and let `take` look at it, on all threads."""
        workers = min(len(self._data), len(rows))

        def run(worker: int) -> None:
            data = self._data[worker]
            for index in range(worker, len(rows), workers):
                take(index, self._posed(rows[index], data), data)

        if self._pool is None or workers < 2:
            for worker in range(workers):
                run(worker)
        else:
            list(self._pool.map(run, range(workers)))

    def _posed(self, row: np.ndarray, data: mujoco.MjData) -> RaycastScene:
        scene, layout = self.scenes[int(row[self.layout.variant])], self.layout
        data.qpos[:] = row[layout.qpos]
        if scene.world.object_qpos is None:
            data.mocap_pos[0] = row[layout.marker]
        mujoco.mj_kinematics(scene.world.scene, data)
        return scene


def depth_levels(depths: np.ndarray, max_depth_m: float) -> np.ndarray:
    """Depths in [m] as uint8, 255 at `max_depth_m` and beyond."""
    return np.round(np.clip(depths / max_depth_m, 0.0, 1.0) * 255).astype(np.uint8)
