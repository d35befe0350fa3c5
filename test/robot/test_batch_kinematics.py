"""Many places of the hand at once, against the kinematics of one arm."""

import numpy as np
import pytest

from bayes_curiosity_ros.robot.batch_kinematics import TOLERANCE_M, BatchKinematics
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.kinematics import Kinematics

FAR_M = 5.0


@pytest.fixture(scope="module")
def robot():
    return RobotConfig.load()


@pytest.fixture(scope="module")
def one_arm(robot):
    return Kinematics(robot)


@pytest.fixture(scope="module")
def many(one_arm):
    return BatchKinematics(one_arm.world, threads=1)


@pytest.fixture
def poses(robot):
    rng = np.random.default_rng(0)
    return robot.arm.ready_rad + rng.uniform(-0.5, 0.5, (20, len(robot.arm.joints)))


def test_hands_are_where_those_of_one_arm_are(many, one_arm, poses):
    hands, _ = many.forward(poses)
    for pose, hand in zip(poses, hands, strict=True):
        assert hand == pytest.approx(one_arm.forward(pose).position, abs=1e-9)


def test_derivatives_are_those_of_the_places(many, poses):
    hands, moved = many.forward(poses)
    for joint, small in enumerate(1e-6 * np.eye(poses.shape[1])):
        after, _ = many.forward(poses + small)
        np.testing.assert_allclose(moved[:, :, joint], (after - hands) / 1e-6, atol=1e-5)


def test_inverse_leads_back_to_where_hands_can_be(many, one_arm, robot, poses):
    places, _ = many.forward(poses)
    posed = many.inverse(places, np.array(robot.arm.ready_rad))
    assert posed.arrived.all()
    for joints, place in zip(posed.joints, places, strict=True):
        assert np.linalg.norm(one_arm.forward(joints).position - place) <= 2 * TOLERANCE_M


def test_what_is_out_of_reach_is_said_to_be_and_limits_hold(many, one_arm, robot, poses):
    near, _ = many.forward(poses[:1])
    places = np.array([near[0], [FAR_M, 0.0, 0.3]])
    posed = many.inverse(places, np.array(robot.arm.ready_rad))
    assert posed.arrived.tolist() == [True, False]
    world, margin = one_arm.world, robot.safety.joint_margin_rad
    assert (posed.joints >= world.lower_rad + margin).all()
    assert (posed.joints <= world.upper_rad - margin).all()


def test_the_second_joint_is_above_the_base_and_stays_there(many):
    x, y, z = many.shoulder
    assert (x, y) == pytest.approx((0.0, 0.0), abs=0.01)
    assert 0.1 < z < 0.5
