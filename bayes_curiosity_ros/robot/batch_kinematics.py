"""Inverse kinematics of many places at once: Newton's steps over a batch of poses.

`robot.kinematics` moves one arm, step by step, around what it could touch. Here thousands of
places are asked for, and the way between them does not matter.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import mujoco
import numpy as np
from mujoco.batch import Batch

from bayes_curiosity_ros.robot.world import World

ITERATIONS = 25
TOLERANCE_M = 1e-3
STEP_M = 0.15  # longest way of a hand in one iteration
DAMPING_M = 0.02  # of a step: keeps joints still where the arm is nearly straight


@dataclass(frozen=True)
class Posed:
    """Arms whose hands were to go to N places.

    Attributes:
        joints: (N, J) angles in [rad], within the limits.
        hands: (N, 3) where the hands are with these, in [m].
        arrived: (N,) bool, whether that is where they were to go.
    """

    joints: np.ndarray
    hands: np.ndarray
    arrived: np.ndarray


class BatchKinematics:
    """Places of the hand, forwards and backwards, of many arms of one kind.

    Args:
        world: world of the arm.
        threads: threads to work on; 0 for one per core.
    """

    def __init__(self, world: World, threads: int = 0) -> None:
        self._world, self._threads = world, threads
        self._model = copy.copy(world.model)
        self._model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        margin = world.config.safety.joint_margin_rad
        self._lower, self._upper = world.lower_rad + margin, world.upper_rad - margin
        self._joint_ids = [self._model.joint(joint.name).id for joint in world.joints]
        self._bound: _Bound | None = None

    def forward(self, joints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places of the hand, (N, 3) in [m], at joint angles (N, J), and how these move it.

        Returns:
            The places, and their derivatives by the joint angles, (N, 3, J) in [m/rad].
        """
        count, bound = len(joints), self._sized(len(joints))
        bound.qpos[:count, self._world.joint_qpos] = joints
        bound.batch.forward(ids=np.arange(count), stage=mujoco.mjtStage.mjSTAGE_POS)
        hands = bound.positions[:count, self._world.end_effector_body].copy()
        anchors, axes = (each[:count, self._joint_ids] for each in (bound.anchors, bound.axes))
        moved = np.cross(axes, hands[:, None] - anchors)
        return hands, moved.transpose(0, 2, 1)

    @property
    def shoulder(self) -> np.ndarray:
        """(3,) where the second joint is, in [m]; the first one does not move it."""
        self.forward(np.array([self._world.config.arm.ready_rad]))
        return self._sized(1).anchors[0, self._joint_ids[1]].copy()

    def inverse(self, places: np.ndarray, start: np.ndarray) -> Posed:
        """Joint angles that bring hands to places, (N, 3) in [m], the shortest way from `start`.

        Any rotation of the hand will do. What the arm touches is not looked at.

        Args:
            places: where the hands are to go.
            start: (J,) joint angles in [rad] that all start from.
        """
        joints = np.tile(np.clip(start, self._lower, self._upper), (len(places), 1))
        going = np.arange(len(places))
        for _ in range(ITERATIONS):
            hands, moved = self.forward(joints[going])
            away = places[going] - hands
            far = np.linalg.norm(away, axis=1) > TOLERANCE_M
            going = going[far]
            if not len(going):
                break
            turned = joints[going] + _newton_step(moved[far], away[far])
            joints[going] = np.clip(turned, self._lower, self._upper)
        hands, _ = self.forward(joints)
        return Posed(joints, hands, np.linalg.norm(places - hands, axis=1) <= 2 * TOLERANCE_M)

    def _sized(self, count: int) -> _Bound:
        if self._bound is None or self._bound.batch.nsim < count:
            self._bound = _Bound.of(Batch(self._model, count, self._threads))
        return self._bound


@dataclass(frozen=True)
class _Bound:
    """A batch, and those of its arrays that poses are written to and read from."""

    batch: Batch
    qpos: np.ndarray
    positions: np.ndarray
    anchors: np.ndarray
    axes: np.ndarray

    @staticmethod
    def of(batch: Batch) -> _Bound:
        names = "qpos", "xpos", "xanchor", "xaxis"
        return _Bound(batch, *(batch.bind(name) for name in names))


def _newton_step(moved: np.ndarray, away: np.ndarray) -> np.ndarray:
    """The smallest changes of joints, (N, J), that move hands by `away`, (N, 3), or towards it."""
    length = np.linalg.norm(away, axis=1, keepdims=True)
    wanted = away * np.minimum(1.0, STEP_M / length)
    normal = moved @ moved.transpose(0, 2, 1) + DAMPING_M**2 * np.eye(3)
    return (moved.transpose(0, 2, 1) @ np.linalg.solve(normal, wanted[..., None]))[..., 0]
