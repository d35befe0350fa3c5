"""A hand-guided arm becomes steps."""

import numpy as np
import pytest

from bayes_curiosity_ros.bags.demonstrate import Demonstrator, MotionConfig
from bayes_curiosity_ros.errors import ConfigError, InputError

JOINTS = ("joint_1", "joint_2")


@pytest.fixture
def demonstrator():
    return Demonstrator(MotionConfig(JOINTS, gripper_joint="finger", gripper_closed_rad=2.0))


def test_actions_are_the_way_between_observations(demonstrator):
    demonstrator.take_object(np.array([0.4, 0.0, 0.1]))
    demonstrator.take_joints(("finger", "joint_2", "joint_1"), (0.0, 0.2, 0.1))
    first = demonstrator.begin()
    np.testing.assert_array_equal(first.vector, [0.1, 0.2, 0.4, 0.0, 0.1])
    assert first.deltas is None
    demonstrator.take_joints((*JOINTS, "finger"), (0.15, 0.2, 1.0))
    second = demonstrator.sample()
    assert second.step == 1
    np.testing.assert_allclose(second.deltas, [0.05, 0.0])
    assert second.gripper == 0.5
    assert demonstrator.sample() is None, "nothing moved"
    assert demonstrator.end() == 1
    demonstrator.take_joints(JOINTS, (0.5, 0.5))
    assert demonstrator.sample() is None, "no episode"


def test_what_is_missing_is_said(demonstrator):
    with pytest.raises(InputError, match="no joint_states yet"):
        demonstrator.begin()
    with pytest.raises(InputError, match="lacks joint_2"):
        demonstrator.take_joints(("joint_1",), (0.0,))
    with pytest.raises(InputError, match="not finite"):
        demonstrator.take_joints(JOINTS, (0.0, np.nan))
    demonstrator.take_joints(JOINTS, (0.0, 0.0))
    with pytest.raises(InputError, match="no object_pose yet"):
        demonstrator.begin()


@pytest.mark.parametrize(
    "values", [{"joints": ()}, {"period_s": 0.0}, {"still_rad": -1.0}, {"gripper_closed_rad": 0.0}]
)
def test_bad_settings_are_refused(values):
    with pytest.raises(ConfigError):
        MotionConfig(**values)
