"""Inverse kinematics: there, within limits, clear of everything; or a clear no."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_curiosity_ros.errors import ConfigError, InputError
from bayes_curiosity_ros.robot.clearance import PoseChecker
from bayes_curiosity_ros.robot.kinematics import (
    DOWN,
    Kinematics,
    KinematicsConfig,
    Pose,
    UnreachableError,
)


@pytest.fixture(scope="module")
def kinematics(robot) -> Kinematics:
    return Kinematics(robot)


def test_inverse_undoes_forward(kinematics, robot, rng):
    ready = np.array(robot.arm.ready_rad)
    for _ in range(20):
        target = kinematics.forward(ready + rng.uniform(-0.4, 0.4, 6))
        joints = kinematics.inverse(target, ready)
        distance, angle = kinematics.error(joints, target)
        assert distance <= 1e-3
        assert angle <= 1e-2


def test_every_placement_can_be_reached_from_above(kinematics, robot):
    checker = PoseChecker(robot)
    lower, upper = kinematics.world.lower_rad, kinematics.world.upper_rad
    for x in (0.25, 0.45, 0.65):
        for y in (-0.2, 0.0, 0.2):
            target = Pose.pointing(np.array([x, y, 0.11]), DOWN)
            joints = kinematics.inverse(target, np.array(robot.arm.ready_rad))
            assert ((joints > lower) & (joints < upper)).all()
            assert checker.explain(joints) == []


def test_steps_respect_the_velocity_limits(kinematics, robot):
    far = Pose.pointing(np.array([0.6, 0.3, 0.3]), DOWN)
    step = kinematics.step(np.array(robot.arm.ready_rad), far, 0.1)
    assert (np.abs(step) <= kinematics.world.max_delta_rad + 1e-9).all()


def test_does_not_push_the_hand_through_the_table(kinematics, robot):
    joints = np.array(robot.arm.ready_rad)
    below = Pose.pointing(np.array([0.4, 0.0, -0.2]), DOWN)
    for _ in range(60):
        joints = joints + kinematics.step(joints, below, 0.1)
    assert PoseChecker(robot, clearance_m=0.0).explain(joints) == []
    assert kinematics.forward(joints).position[2] < 0.12


def test_unreachable_target_says_how_close_it_came(kinematics, robot):
    target = Pose.pointing(np.array([2.0, 0.0, 0.1]), DOWN)
    with pytest.raises(UnreachableError, match=r"\[2.0, 0.0, 0.1\] m is out of reach.*within 1\."):
        kinematics.inverse(target, np.array(robot.arm.ready_rad))


def test_bad_joint_angles_are_refused(kinematics):
    with pytest.raises(InputError, match="expected 6 finite values"):
        kinematics.forward(np.full(6, np.nan))
    with pytest.raises(InputError, match="expected 6 finite values"):
        kinematics.forward(np.zeros(5))


def test_settings_are_checked():
    with pytest.raises(ConfigError, match="must exceed clearance_m"):
        KinematicsConfig(clearance_m=0.2, detection_m=0.1)
