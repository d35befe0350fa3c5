"""TF's transforms, chained, are the forward kinematics."""

from __future__ import annotations

import mujoco
import numpy as np

from bayes_curiosity_ros.robot.frames import WORLD, LinkFrames, quaternion_of
from bayes_curiosity_ros.robot.kinematics import Kinematics


def chained(transforms, link):
    """Position and rotation of a link in the world."""
    by_child = {transform.child: transform for transform in transforms}
    position, rotation = np.zeros(3), np.eye(3)
    while link != WORLD:
        step = by_child[link]
        turn = np.empty(9)
        mujoco.mju_quat2Mat(turn, step.quaternion)
        turn = turn.reshape(3, 3)
        position, rotation = step.translation + turn @ position, turn @ rotation
        link = step.parent
    return position, rotation


def test_links_are_where_kinematics_says(robot, world):
    frames, kinematics = LinkFrames(world), Kinematics(robot)
    rng = np.random.default_rng(0)
    for _ in range(10):
        joints = np.array(robot.arm.ready_rad) + rng.uniform(-0.5, 0.5, 6)
        named = dict(zip(robot.arm.joints, joints, strict=True)) | {"unknown": 1.0}
        transforms = frames.fixed + frames.moving(named)
        position, rotation = chained(transforms, robot.arm.end_effector)
        pose = kinematics.forward(joints)
        np.testing.assert_allclose(position, pose.position, atol=1e-9)
        np.testing.assert_allclose(rotation, pose.rotation, atol=1e-9)
    assert sorted(t.child for t in transforms) == sorted(world.description.links)
    assert {t.child for t in frames.fixed} >= {"root", "link_base", robot.arm.end_effector}


def test_quaternions_of_rotations():
    np.testing.assert_allclose(quaternion_of(np.eye(3)), [1, 0, 0, 0])
