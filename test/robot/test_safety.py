"""The filter: what it lets pass, what it changes, what it refuses, and that nothing breaks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.clearance import PoseChecker
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.decisions import Change, Commanded
from bayes_curiosity_ros.robot.kinematics import DOWN, Kinematics, KinematicsConfig, Pose
from bayes_curiosity_ros.robot.safety import SafetyFilter
from benchmarks.safety import Arms, Tally

POSES = {
    "home": (4.8046852, 2.92482, 1.002, 4.2031852, 1.4458, 1.3233),
    "retract": (-1.56695, 2.6189, 0.4688, -1.6088, 0.0904, 1.741),
    "vertical": (3.1415,) * 6,
}


@pytest.fixture(scope="module")
def safety(robot) -> SafetyFilter:
    return SafetyFilter(robot)


@pytest.fixture(scope="module")
def careful(robot) -> SafetyFilter:
    """Slow to brake: stopping takes several control steps."""
    slow = replace(robot.safety, max_acceleration_rad_s2=(1.0,))
    return SafetyFilter(replace(robot, safety=slow))


@pytest.fixture(scope="module")
def ready(robot) -> np.ndarray:
    return np.array(robot.arm.ready_rad)


@pytest.mark.parametrize("name", POSES)
def test_the_makers_poses_are_clear(robot, name):
    assert PoseChecker(robot, clearance_m=0.0).explain(np.array(POSES[name])) == []


def test_a_modest_command_passes_unchanged(safety, ready):
    decision = safety.permit(Commanded.at_rest(ready), ready + 0.02)
    assert decision.changes == Change.NONE
    assert decision.explanation == ""
    assert not decision.refused
    np.testing.assert_allclose(decision.commanded.position, ready + 0.02)


def test_too_fast_is_slowed_and_said(safety, ready, world):
    decision = safety.permit(Commanded.at_rest(ready), ready + np.array([1.0, 0, 0, 0, 0, 0]))
    assert decision.changes == Change.VELOCITY
    assert "joint_1 asked for 4.0000 rad" in decision.explanation
    assert "velocity" in decision.explanation
    assert decision.commanded.position[0] == pytest.approx(ready[0] + world.max_delta_rad[0])


def test_acceleration_is_limited(careful, ready):
    decision = careful.permit(Commanded.at_rest(ready), ready + 0.04)
    assert decision.changes == Change.ACCELERATION
    np.testing.assert_allclose(decision.commanded.velocity, 0.1)


def test_largest_step_is_limited(robot, ready):
    safety = SafetyFilter(replace(robot, safety=replace(robot.safety, max_step_rad=0.01)))
    decision = safety.permit(Commanded.at_rest(ready), ready + 0.03)
    assert decision.changes == Change.STEP
    np.testing.assert_allclose(decision.commanded.position, ready + 0.01)


@pytest.mark.parametrize(
    ("requested", "change", "words"),
    [
        (np.full(6, np.nan), Change.NOT_FINITE, "not all finite"),
        ([np.inf, 0, 0, 0, 0, 0], Change.NOT_FINITE, "not all finite"),
        (np.zeros(5), Change.WRONG_LENGTH, "5 joint targets for 6 joints"),
        (np.zeros(7), Change.WRONG_LENGTH, "7 joint targets for 6 joints"),
    ],
)
def test_what_is_no_command_moves_nothing(safety, ready, requested, change, words):
    decision = safety.permit(Commanded.at_rest(ready), np.asarray(requested))
    assert decision.refused
    assert decision.changes == change
    assert words in decision.explanation
    np.testing.assert_array_equal(decision.commanded.position, ready)


def test_no_start_outside_the_limits(safety):
    decision = safety.permit(Commanded.at_rest(np.zeros(6)), np.zeros(6))
    assert decision.changes == Change.OUTSIDE_LIMITS
    assert "joint_2 is at 0.0000 rad, outside 0.820305 … 5.462881" in decision.explanation


def test_the_table_is_refused_by_name(safety, ready):
    commanded = Commanded.at_rest(ready)
    for _ in range(40):
        decision = safety.permit(commanded, commanded.position + np.array([0, 0.05, 0, 0, 0, 0]))
        commanded = decision.commanded
    assert decision.refused
    assert decision.changes & Change.TABLE
    assert "table" in decision.explanation
    assert safety.checker.explain(commanded.position) == []


def test_fingers_that_would_close_onto_the_table_stay_open(safety, robot):
    """A closing hand gets longer: its tips swing towards where it points."""
    kinematics = Kinematics(robot, KinematicsConfig(collisions=False))
    gripper = robot.arm.gripper
    start = np.array(robot.arm.ready_rad)
    for height in np.arange(0.06, 0.03, -0.002):
        target = Pose.pointing(np.array([0.45, 0.0, height]), DOWN)
        joints = kinematics.inverse(target, start)
        if safety.checker.explain(joints, gripper.open_rad):
            break
        lowest = joints
    last = Commanded.at_rest(lowest, gripper.open_rad)
    assert not safety.permit(last, lowest, gripper.open_rad).changes
    decision = safety.permit(last, lowest, gripper.closed_rad - 0.3)
    assert decision.changes & Change.TABLE
    assert "link_tip" in decision.explanation
    assert decision.commanded.finger_rad == gripper.open_rad


def test_the_workspace_is_a_wall(robot, ready):
    box = replace(robot.safety, workspace_upper_m=(0.55, 0.8, 1.25))
    safety = SafetyFilter(replace(robot, safety=box))
    commanded = Commanded.at_rest(ready)
    for _ in range(40):
        decision = safety.permit(commanded, commanded.position + np.array([0, 0, 0.04, 0, 0, 0]))
        commanded = decision.commanded
    assert decision.changes & Change.WORKSPACE
    assert "spans x" in decision.explanation


def test_braking_never_needs_more_than_was_checked(careful, ready, rng):
    """After any permitted command, stopping at the allowed deceleration stays clear."""
    commanded = Commanded.at_rest(ready)
    push = rng.uniform(-1, 1, 6)
    for index in range(150):
        if index % 12 == 0:
            push = rng.uniform(-1, 1, 6)
        before = commanded
        commanded = careful.permit(before, before.position + 0.05 * push).commanded
        change = np.abs(commanded.velocity - before.velocity)
        assert change.max() <= 1.0 * 0.1 + 1e-9
        assert careful.checker.explain(commanded.position) == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-10, 10), min_size=6, max_size=6), st.integers(0, 2**32 - 1))
def test_one_by_one_equals_many_at_once(requested, seed):
    safety = _shared_filter()
    rng = np.random.default_rng(seed)
    ready = np.array(RobotConfig.load().arm.ready_rad)
    position = ready + rng.uniform(-0.3, 0.3, 6)
    velocity = rng.uniform(-0.3, 0.3, 6)
    alone = safety.permit(Commanded(position, velocity), np.array(requested))
    others = rng.uniform(-0.2, 0.2, (3, 6)) + ready
    targets, flags = safety.permit_batch(
        np.stack([position, *others]),
        np.stack([velocity, *np.zeros((3, 6))]),
        np.stack([np.array(requested), *others]),
    )
    np.testing.assert_array_equal(alone.commanded.position, targets[0])
    assert alone.changes == flags[0]


_FILTERS: list[SafetyFilter] = []


def _shared_filter() -> SafetyFilter:
    if not _FILTERS:
        _FILTERS.append(SafetyFilter(RobotConfig.load()))
    return _FILTERS[0]


def test_nothing_is_violated_on_moving_arms(robot, rng):
    """The short form of `python -m benchmarks.safety --commands 1000000`."""
    arms, tally = Arms(robot, 64, rng), Tally()
    for _ in range(60):
        arms.step(tally)
    assert sum(tally.violations.values()) == 0, tally.violations
    for reason in ("NOT_FINITE", "VELOCITY", "JOINT_LIMIT", "COLLISION", "TABLE", "WORKSPACE"):
        assert tally.changed[reason] > 0, f"no command was changed for {reason}"


def test_speeds_above_the_arms_own_are_refused(robot):
    fast = replace(robot.safety, max_velocity_rad_s=(2.0,))
    with pytest.raises(ConfigError, match="exceeds the arm's own"):
        SafetyFilter(replace(robot, safety=fast))
