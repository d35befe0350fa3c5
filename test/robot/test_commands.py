"""What a driver is told of a step: points of a trajectory, or setpoints of a stream."""

from types import SimpleNamespace

import numpy as np
import pytest

from bayes_curiosity_ros.robot.arms.commands import Points, Step
from bayes_curiosity_ros.robot.arms.streaming import ForwardPosition, ForwardVelocity
from bayes_curiosity_ros.robot.arms.trajectory_config import TrajectoryConfig

NAMES = ("joint_1", "joint_2")
STEP = Step(np.zeros(2), np.array([0.01, -0.02]), np.array([0.1, -0.2]), duration_s=0.1)
NODE = SimpleNamespace(
    create_publisher=lambda *_: SimpleNamespace(topic_name="/commands", publish=lambda _: None)
)


def points(**settings):
    """(positions, velocities, time) of each point of the step's trajectory."""
    trajectory = Points(TrajectoryConfig(**settings), NAMES).of_step(STEP)
    assert trajectory.joint_names == list(NAMES)
    times = [point.time_from_start for point in trajectory.points]
    seconds = [moment.sec + moment.nanosec * 1e-9 for moment in times]
    values = [(list(point.positions), list(point.velocities)) for point in trajectory.points]
    return [(*pair, moment) for pair, moment in zip(values, seconds, strict=True)]


def test_without_overlap_a_step_ends_at_rest():
    assert points() == [([0.01, -0.02], [0.0, 0.0], 0.1)]


def test_with_overlap_the_arm_passes_the_target_and_rests_after_it():
    """The next step replaces that rest: so there is no stop and go."""
    (first, second) = points(overlap_s=0.06)
    assert first == ([0.01, -0.02], [0.1, -0.2], 0.1)
    assert second[0] == pytest.approx([0.013, -0.026])
    assert second[1:] == ([0.0, 0.0], pytest.approx(0.16))


def test_a_driver_of_velocities_is_told_those_and_half_a_tick_less():
    told = points(executes="velocities", tick_s=0.01)
    assert told == [([0.01, -0.02], [0.1, -0.2], pytest.approx(0.095))]


def test_a_driver_of_velocities_is_told_to_stand_wherever_it_is():
    hold = Points(TrajectoryConfig(executes="velocities"), NAMES).of_hold(None)
    assert list(hold.points[0].velocities) == [0.0, 0.0]
    assert Points(TrajectoryConfig(), NAMES).of_hold(None) is None


@pytest.mark.parametrize(
    ("kind", "overlap_s", "told"),
    [
        (ForwardPosition, 0.0, {0.0: 0.0, 0.05: 0.005, 0.1: 0.01, 0.2: 0.01, 9.0: 0.01}),
        (ForwardPosition, 0.06, {0.1: 0.01, 0.13: 0.01225, 0.16: 0.013, 9.0: 0.013}),
        (ForwardVelocity, 0.0, {0.0: 0.1, 0.1: 0.1, 0.101: 0.0, 9.0: 0.0}),
        (ForwardVelocity, 0.06, {0.1: 0.1, 0.13: 0.05, 0.16: 0.0, 9.0: 0.0}),
    ],
)
def test_a_stream_goes_straight_and_ends_by_itself(kind, overlap_s, told):
    stream = kind(NODE, TrajectoryConfig(overlap_s=overlap_s), NAMES)
    for elapsed_s, value in told.items():
        expected = value * np.array([1.0, -2.0])
        np.testing.assert_allclose(stream.setpoint(STEP, elapsed_s), expected, atol=1e-9)
