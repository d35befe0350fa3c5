"""The simulated arm behaves like a real one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bayes_curiosity_ros.errors import InputError
from bayes_curiosity_ros.robot.arms.arm import Arm, ArmError, ArmStoppedError
from bayes_curiosity_ros.robot.arms.simulated import SimulatedArm
from bayes_curiosity_ros.robot.decisions import Change

TIMEOUT_S = 1.0


@pytest.fixture
def arm(robot):
    with SimulatedArm(robot) as arm:
        yield arm


def test_it_is_an_arm(arm):
    assert isinstance(arm, Arm)
    assert arm.joint_names[0] == "joint_1"


def test_what_was_executed_is_returned(arm):
    before = arm.state(TIMEOUT_S).joints
    executed = arm.move(np.full(6, 0.02), 0.0, TIMEOUT_S)
    np.testing.assert_allclose(executed.state.joints - before, executed.deltas)
    np.testing.assert_allclose(executed.deltas, 0.02, atol=5e-3)
    assert executed.changes == Change.NONE


def test_too_much_is_cut_and_said(arm, world):
    executed = arm.move(np.full(6, 1.0), 0.0, TIMEOUT_S)
    assert executed.changes & Change.VELOCITY
    assert "joint_1 asked for" in executed.explanation
    assert (executed.deltas <= world.max_delta_rad + 1e-6).all()


@pytest.mark.parametrize("deltas", [np.full(6, np.nan), np.zeros(5)])
def test_nonsense_moves_nothing(arm, deltas):
    executed = arm.move(deltas, 0.0, TIMEOUT_S)
    assert executed.changes & (Change.NOT_FINITE | Change.WRONG_LENGTH)
    np.testing.assert_allclose(executed.deltas, 0.0, atol=1e-9)


def test_nonsense_without_the_filter_is_an_error(robot):
    bare = replace(robot, safety=replace(robot.safety, collisions=False))
    with SimulatedArm(bare) as arm:
        with pytest.raises(InputError, match="5 joint deltas for 6 joints"):
            arm.move(np.zeros(5), 0.0, TIMEOUT_S)
        with pytest.raises(InputError, match="must be finite"):
            arm.move(np.full(6, np.nan), 0.0, TIMEOUT_S)
        with pytest.raises(InputError, match="gripper command nan"):
            arm.move(np.zeros(6), np.nan, TIMEOUT_S)


def test_a_stop_is_latched_until_released(arm):
    arm.stop("a hand in the cell")
    with pytest.raises(ArmStoppedError, match="a hand in the cell"):
        arm.move(np.zeros(6), 0.0, TIMEOUT_S)
    arm.release()
    arm.move(np.zeros(6), 0.0, TIMEOUT_S)


def test_nothing_before_connect():
    from bayes_curiosity_ros.robot.config import RobotConfig

    with pytest.raises(ArmError, match=r"connect\(\) first"):
        SimulatedArm(RobotConfig.load()).state(TIMEOUT_S)


def test_it_goes_home(arm, robot):
    for _ in range(5):
        arm.move(np.array([0.04, -0.04, 0.04, 0.05, 0.05, 0.05]), 1.0, TIMEOUT_S)
    state = arm.home(timeout_s=10.0)
    np.testing.assert_allclose(state.joints, robot.arm.ready_rad, atol=0.01)
    for _ in range(10):
        arm.move(np.full(6, 0.04), 0.0, TIMEOUT_S)
    with pytest.raises(ArmError, match="not home after"):
        arm.home(timeout_s=0.3)


def test_the_gripper_closes(arm):
    for _ in range(14):
        executed = arm.move(np.zeros(6), 1.0, TIMEOUT_S)
    assert executed.state.gripper > 0.95
    assert len(executed.state.fingers) == 3


def test_a_rehearsal_moves_nothing(arm):
    before = arm.row
    rehearsed = arm.rehearse(np.full(6, 1.0), 0.0, TIMEOUT_S)
    assert rehearsed.changes & Change.VELOCITY
    assert not rehearsed.deltas.any()
    np.testing.assert_array_equal(arm.row, before)
    executed = arm.move(np.full(6, 1.0), 0.0, TIMEOUT_S)
    assert (executed.changes, executed.explanation) == (rehearsed.changes, rehearsed.explanation)
