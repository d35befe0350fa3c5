"""Whether poses are clear: of the arm itself, the scene, the table, the workspace's walls."""

from __future__ import annotations

from dataclasses import replace
from enum import IntFlag

import mujoco
import numpy as np
from mujoco.batch import Batch

from bayes_curiosity_ros.robot.composition import ROBOT_BIT, SCENE_BIT, TABLE
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.world import build_world, link_of

SPREAD_POSES = 4096


class Violation(IntFlag):
    """What is wrong with a pose."""

    NONE = 0
    COLLISION = 1
    TABLE = 2
    WORKSPACE = 4


class PoseChecker:
    """Checks joint angles against a model with a margin around every part.

    Args:
        clearance_m: the margin; the configured one when None.
        threads: threads to check on; 0 for one per core.
    """

    def __init__(
        self, robot: RobotConfig, clearance_m: float | None = None, threads: int = 1
    ) -> None:
        safety = robot.safety
        self.clearance_m = safety.clearance_m if clearance_m is None else clearance_m
        marker = replace(robot.world.object, tangible=False)
        scene = replace(robot, world=replace(robot.world, object=marker))
        self.world = build_world(scene, self.clearance_m)
        self._threads = threads
        self._batch: Batch | None = None
        self._lower = np.array(safety.workspace_lower_m) + self.clearance_m
        self._upper = np.array(safety.workspace_upper_m) - self.clearance_m
        self._floor = safety.table_height_m + self.clearance_m
        model = self.world.model
        self._geoms = np.flatnonzero(model.geom_contype == (ROBOT_BIT | SCENE_BIT))
        self._centers = model.geom_aabb[self._geoms, :3]
        self._halves = model.geom_aabb[self._geoms, 3:]

    def check(self, joints: np.ndarray, fingers: np.ndarray | None = None) -> np.ndarray:
        """A `Violation` for every pose: (N,) int.

        Args:
            joints: (N, J) in [rad].
            fingers: (N,) finger angles in [rad]; open when None.
        """
        found = np.zeros(len(joints), dtype=int)
        for start in range(0, len(joints), SPREAD_POSES):
            part = slice(start, start + SPREAD_POSES)
            found[part] = self._check(joints[part], None if fingers is None else fingers[part])
        return found

    def explain(self, joints: np.ndarray, finger: float | None = None) -> list[str]:
        """What is wrong with one pose, (J,), in words; empty when nothing is."""
        model = self.world.model
        data = mujoco.MjData(model)
        data.qpos[:] = self._qpos(joints[None], None if finger is None else np.array([finger]))[0]
        mujoco.mj_fwdPosition(model, data)
        pairs = {
            tuple(sorted(link_of(model, geom) for geom in contact.geom))
            for contact in data.contact
        }
        words = [f"{a} within {self.clearance_m} m of {b}" for a, b in sorted(pairs)]
        low, high = self._extents(data.geom_xpos[None], data.geom_xmat[None])
        for index, geom in enumerate(self._geoms):
            link = link_of(model, geom)
            if low[0, index, 2] < self._floor and (link, TABLE) not in pairs:
                words.append(f"{link} at z = {low[0, index, 2]:.3f} m, below {self._floor:.3f} m")
            outside = (low[0, index] < self._lower) | (high[0, index] > self._upper)
            for axis in np.flatnonzero(outside):
                bounds = f"{self._lower[axis]} … {self._upper[axis]} m"
                reach = f"{low[0, index, axis]:.3f} … {high[0, index, axis]:.3f} m"
                words.append(f"{link} spans {'xyz'[axis]} = {reach}, workspace {bounds}")
        return list(dict.fromkeys(words))

    def _check(self, joints: np.ndarray, fingers: np.ndarray | None) -> np.ndarray:
        count = len(joints)
        batch = self._sized(count)
        batch.qpos[:count] = self._qpos(joints, fingers)
        batch.forward(ids=np.arange(count), stage=mujoco.mjtStage.mjSTAGE_POS)
        low, high = self._extents(batch.geom_xpos[:count], batch.geom_xmat[:count])
        collision = batch.ncon[:count].reshape(-1) > 0
        table = (low[..., 2] < self._floor).any(axis=1)
        walls = ((low < self._lower) | (high > self._upper)).any(axis=(1, 2))
        return (
            collision * int(Violation.COLLISION)
            | table * int(Violation.TABLE)
            | walls * int(Violation.WORKSPACE)
        )

    def _qpos(self, joints: np.ndarray, fingers: np.ndarray | None) -> np.ndarray:
        world = self.world
        qpos = np.tile(world.model.qpos0, (len(joints), 1))
        qpos[:, world.joint_qpos] = joints
        gripper = world.config.arm.gripper
        if gripper is not None:
            angles = np.full(len(joints), gripper.open_rad) if fingers is None else fingers
            qpos[:, world.gripper_qpos[: len(gripper.fingers)]] = angles[:, None]
        return qpos

    def _extents(self, positions: np.ndarray, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest corner, (N, G, 3), of every moving part."""
        rotation = frames[:, self._geoms].reshape(len(frames), -1, 3, 3)
        center = positions[:, self._geoms] + np.einsum("ngij,gj->ngi", rotation, self._centers)
        reach = np.einsum("ngij,gj->ngi", np.abs(rotation), self._halves)
        return center - reach, center + reach

    def _sized(self, count: int) -> Batch:
        if self._batch is None or self._batch.nsim < count:
            self._batch = Batch(self.world.model, max(count, 16), self._threads)
            for field in ("geom_xpos", "geom_xmat", "ncon"):
                self._batch.bind(field)
        return self._batch
