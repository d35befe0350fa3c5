"""The simulated camera as a real one would be: it takes the pose it is told, and reads frames."""

from __future__ import annotations

import mujoco
import numpy as np

from bayes_curiosity_ros.errors import InputError
from bayes_curiosity_ros.robot.arms.arm import ArmState
from bayes_curiosity_ros.robot.cameras.camera import (
    CAMERAS,
    CameraError,
    CameraInputs,
    Extrinsics,
    Frame,
    Intrinsics,
)
from bayes_curiosity_ros.robot.cameras.raycast import RaycastScene
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.device import Device
from bayes_curiosity_ros.robot.world import build_world


class SimulatedCamera(Device):
    """Casts rays into its own copy of the cell, posed from an arm's state."""

    def __init__(self, robot: RobotConfig) -> None:
        self._scene = RaycastScene(build_world(robot))
        self._gripper = robot.arm.gripper
        self._data: mujoco.MjData | None = None
        self._stamp_s: float | None = None

    @property
    def intrinsics(self) -> Intrinsics:
        return self._scene.intrinsics

    @property
    def extrinsics(self) -> Extrinsics:
        return self._scene.extrinsics

    def connect(self, timeout_s: float) -> None:
        self._data = mujoco.MjData(self._scene.world.scene)
        self._stamp_s = None

    def disconnect(self) -> None:
        self._data = None

    def pose(self, state: ArmState) -> None:
        data, world = self._connected(), self._scene.world
        if state.object_position is None or state.object_orientation is None:
            raise InputError("the simulated camera needs the object's pose in the arm's state")
        data.qpos[world.joint_qpos] = state.joints
        data.qpos[world.gripper_qpos] = self._finger_rad(state)
        if world.object_qpos is None:
            data.mocap_pos[0] = state.object_position
        else:
            start = world.object_qpos
            data.qpos[start : start + 3] = state.object_position
            data.qpos[start + 3 : start + 7] = state.object_orientation
        mujoco.mj_kinematics(world.scene, data)
        self._stamp_s = state.stamp_s

    def read(self, timeout_s: float) -> Frame:
        data = self._connected()
        if self._stamp_s is None:
            raise CameraError("the simulated camera has no pose yet; call pose(state) first")
        return Frame(*self._scene.frame(data), self._stamp_s)

    def _finger_rad(self, state: ArmState) -> np.ndarray:
        """(F,) angles in [rad]; a real arm tells only how closed its gripper is."""
        if len(state.fingers) or self._gripper is None:
            return state.fingers
        angles = np.zeros(len(self._scene.world.gripper_qpos))
        closed_by = self._gripper.travel_rad * state.gripper
        angles[: len(self._gripper.fingers)] = self._gripper.open_rad + closed_by
        return angles

    def _connected(self) -> mujoco.MjData:
        if self._data is None:
            raise CameraError("the simulated camera is not connected; call connect() first")
        return self._data


@CAMERAS.register("sim")
def _make(inputs: CameraInputs) -> SimulatedCamera:
    return SimulatedCamera(inputs.cell())
