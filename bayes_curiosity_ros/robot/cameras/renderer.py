"""Pictures and videos with MuJoCo's GL renderer; learning uses `raycast`, which needs no GL."""

from __future__ import annotations

import mujoco
import numpy as np

from bayes_curiosity_ros.robot.cameras.camera import CameraError
from bayes_curiosity_ros.robot.composition import CAMERA, SEEN
from bayes_curiosity_ros.robot.rows import RowLayout
from bayes_curiosity_ros.robot.world import World

NO_GL = (
    "no OpenGL here for pictures ({reason}); without a screen install libegl1 or libosmesa6 "
    "(Debian, Ubuntu: apt install libegl1) and set MUJOCO_GL=egl (or osmesa) before Python starts"
)


class GLCamera:
    """Draws one cell.

    Args:
        shadows: off for speed.

    Raises:
        CameraError: there is no OpenGL; the message says what to install.
    """

    def __init__(self, world: World, width: int, height: int, shadows: bool = True) -> None:
        self.world = world
        try:
            self._renderer = mujoco.Renderer(world.scene, height, width)
        except Exception as error:  # each GL back end fails in its own way
            raise CameraError(NO_GL.format(reason=f"{type(error).__name__}: {error}")) from error
        self._renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = shadows
        self._data = mujoco.MjData(world.scene)
        self._options = mujoco.MjvOption()
        self._options.geomgroup[:] = SEEN

    def pose(self, row: np.ndarray, layout: RowLayout) -> None:
        """Take the pose of a row of `robot.rows`."""
        self._data.qpos[:] = row[layout.qpos]
        if self.world.object_qpos is None:
            self._data.mocap_pos[0] = row[layout.marker]
        mujoco.mj_forward(self.world.scene, self._data)

    def color(self, camera: str | mujoco.MjvCamera = CAMERA) -> np.ndarray:
        """(H, W, 3) uint8 of the pose taken last, from a camera of the model or a free one."""
        self._renderer.update_scene(self._data, camera, self._options)
        return self._renderer.render()

    def depth(self, camera: str | mujoco.MjvCamera = CAMERA) -> np.ndarray:
        """(H, W) float32 in [m] along the optical axis, of the pose taken last."""
        self._renderer.update_scene(self._data, camera, self._options)
        self._renderer.enable_depth_rendering()
        try:
            return self._renderer.render()
        finally:
            self._renderer.disable_depth_rendering()

    def close(self) -> None:
        """Free the GL context."""
        self._renderer.close()

    def __enter__(self) -> GLCamera:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
