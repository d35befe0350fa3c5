"""What joints did between two times, from states that come when the driver pleases."""

import numpy as np
import pytest

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.arms.between_states import moved, period_s
from bayes_curiosity_ros.robot.arms.driver_states import DriverState
from bayes_curiosity_ros.robot.arms.trajectory_config import GripperLink, TrajectoryConfig


def states(times, positions):
    return [
        DriverState(time, time, np.array([position]), np.zeros(1))
        for time, position in zip(times, positions, strict=True)
    ]


def test_dense_states_are_interpolated():
    track = states(np.arange(0.0, 1.0, 0.01), 0.15 * np.arange(0.0, 1.0, 0.01))
    assert moved(track, 0.203, 0.303, 0.05)[0] == pytest.approx(0.015)


def test_between_rare_states_those_at_rest_count():
    """A step from 0.11 to 0.21 s; a line through the states would show another way."""
    track = states([0.0, 0.1, 0.2, 0.3], [0.0, 0.0, 0.0135, 0.015])
    assert moved(track, 0.11, 0.21, 0.05)[0] == pytest.approx(0.015)


def test_a_joint_goes_the_short_way_round():
    track = states([0.0, 0.02, 0.04], [3.14, -3.14, -3.12])
    assert moved(track, 0.0, 0.04, 0.05)[0] == pytest.approx(2 * np.pi - 6.26)


def test_how_often_states_come():
    assert period_s(states([0.0, 0.1, 0.2, 0.9], [0.0] * 4)) == pytest.approx(0.1)
    assert period_s([]) == np.inf


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"interface": "telepathy"}, "unknown trajectory.interface 'telepathy'"),
        ({"executes": "wishes"}, "choose one of: positions, velocities"),
        ({"state_timeout_s": 1.0}, r"state_timeout_s = 1\.0; must be in \(0\.0, 0\.5\]"),
        ({"overlap_s": 0.2}, r"overlap_s = 0\.2 exceeds 0\.1"),
        ({"overlap_s": 0.05, "settle_s": 0.1}, "set one of them to 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, words):
    with pytest.raises(ConfigError, match=words):
        TrajectoryConfig(**settings)


def test_a_grippers_unit_is_the_drivers():
    assert GripperLink("float64", "topic", open=974.0, closed=5844.0).unit(0.5) == 3409.0
    with pytest.raises(ConfigError, match=r"needs gripper\.name"):
        GripperLink("gripper_command")
    with pytest.raises(ConfigError, match="they must differ"):
        GripperLink(open=1.0, closed=1.0)
