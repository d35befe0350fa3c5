"""Every link's pose in its parent's frame: what TF wants, from the one description there is."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from bayes_curiosity_ros.robot.world import World

WORLD = "world"


@dataclass(frozen=True)
class Transform:
    """`child` in `parent`.

    Attributes:
        translation: (3,) in [m].
        quaternion: (4,) w, x, y, z.
    """

    parent: str
    child: str
    translation: np.ndarray
    quaternion: np.ndarray


class LinkFrames:
    """Transforms of all links, for joint angles by name."""

    def __init__(self, world: World) -> None:
        self._model = world.scene
        self._data = mujoco.MjData(world.scene)
        links = set(world.description.links)
        self._bodies = [
            body for body in range(1, self._model.nbody) if self._model.body(body).name in links
        ]
        self._joints = {
            self._model.joint(index).name: int(self._model.joint(index).qposadr[0])
            for index in range(self._model.njnt)
        }

    def transforms(self, joints: dict[str, float]) -> list[Transform]:
        """Parent to child, all links; unknown joint names are ignored."""
        for name, angle in joints.items():
            if name in self._joints:
                self._data.qpos[self._joints[name]] = angle
        mujoco.mj_kinematics(self._model, self._data)
        return [self._relative(body) for body in self._bodies]

    def _relative(self, body: int) -> Transform:
        data, parent = self._data, int(self._model.body_parentid[body])
        inverse, quaternion, shift = np.empty(4), np.empty(4), np.empty(3)
        mujoco.mju_negQuat(inverse, data.xquat[parent])
        mujoco.mju_rotVecQuat(shift, data.xpos[body] - data.xpos[parent], inverse)
        mujoco.mju_mulQuat(quaternion, inverse, data.xquat[body])
        name = WORLD if parent == 0 else self._model.body(parent).name
        return Transform(name, self._model.body(body).name, shift, quaternion)


def quaternion_of(rotation: np.ndarray) -> np.ndarray:
    """(4,) w, x, y, z of a rotation matrix."""
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(rotation).ravel())
    return quaternion
