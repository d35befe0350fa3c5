"""Every link's pose in its parent's frame: what TF wants, from the one description there is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import mujoco
import numpy as np

from bayes_curiosity_ros.errors import ConfigError, NotFiniteError
from bayes_curiosity_ros.robot.world import World

WORLD = "world"
OPTICAL_FRAME = "camera_optical_frame"


def check_frame_prefix(prefix: str) -> None:
    """Refuse what TF would."""
    if prefix.startswith("/"):
        raise ConfigError(f"frame_prefix = {prefix!r}; frames do not begin with a slash")


def prefixed(frame: str, prefix: str) -> str:
    """The name of a frame where there are several cells; they stand in one world."""
    return frame if frame == WORLD else prefix + frame


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
    """Transforms of all links, parent to child: those that never change, and those that do.

    Attributes:
        fixed: transforms of links without a joint.
    """

    def __init__(self, world: World) -> None:
        self._model = model = world.scene
        self._data = mujoco.MjData(model)
        links = set(world.description.links)
        bodies = [body for body in range(1, model.nbody) if model.body(body).name in links]
        self._moving = [body for body in bodies if model.body_jntnum[body]]
        self._joints = {
            model.joint(index).name: int(model.joint(index).qposadr[0])
            for index in range(model.njnt)
        }
        mujoco.mj_kinematics(model, self._data)
        self.fixed = [self._relative(body) for body in bodies if not model.body_jntnum[body]]

    def moving(self, joints: dict[str, float]) -> list[Transform]:
        """Transforms of links with a joint, for angles by name in [rad]; others are ignored.

        Raises:
            NotFiniteError: an angle is NaN or infinite; nothing changed.
        """
        ours = {name: angle for name, angle in joints.items() if name in self._joints}
        for name, angle in ours.items():
            if not math.isfinite(angle):
                raise NotFiniteError(f"{name} = {angle} rad; angles must be finite")
        for name, angle in ours.items():
            self._data.qpos[self._joints[name]] = angle
        mujoco.mj_kinematics(self._model, self._data)
        return [self._relative(body) for body in self._moving]

    def in_world(self, link: str) -> Transform:
        """Where a link is in the world, for the angles given last."""
        body = self._data.body(link)
        return Transform(WORLD, link, body.xpos.copy(), body.xquat.copy())

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
