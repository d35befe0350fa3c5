"""What all real arms share, with a driver that moves at once."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_curiosity_ros.robot.arms.arm import ArmError, ArmState
from bayes_curiosity_ros.robot.arms.real import RealArm
from bayes_curiosity_ros.robot.decisions import Change

TIMEOUT_S = 1.0


class Driver(RealArm):
    """Is where it was last told to be."""

    def __init__(self, robot, joints, gripper):
        super().__init__(robot)
        self.joints, self.gripper = np.array(joints), gripper

    def open(self, timeout_s):
        pass

    def close(self):
        pass

    def measure(self, timeout_s):
        rest = np.zeros(6)
        return ArmState(0.0, self.joints, rest, np.zeros(0), self.gripper, frozenset())

    def command(self, target, measured, gripper):
        self.joints, self.gripper = target, gripper

    def finish(self):
        pass

    def halt(self):
        pass


@pytest.fixture(scope="module")
def only_open(robot):
    """A pose that is clear with open fingers, and not with closed ones."""
    checker = Driver(robot, robot.arm.ready_rad, 0.0).filter.checker
    poses = np.array(robot.arm.ready_rad) + np.random.default_rng(0).uniform(-1, 1, (4000, 6))
    gripper = robot.arm.gripper
    clear, touching = (
        checker.check(poses, np.full(len(poses), angle)) == 0
        for angle in (gripper.open_rad, gripper.closed_rad)
    )
    limits = checker.world
    inside = ((poses > limits.lower_rad + 0.1) & (poses < limits.upper_rad - 0.1)).all(axis=1)
    return poses[np.flatnonzero(clear & ~touching & inside)[0]]


def test_fingers_that_touch_something_forbid_to_start(robot, only_open):
    Driver(robot, only_open, gripper=0.0).connect(TIMEOUT_S)
    with pytest.raises(ArmError, match=r"no start from here: .*link_(finger|tip)"):
        Driver(robot, only_open, gripper=1.0).connect(TIMEOUT_S)


def test_fingers_are_not_closed_onto_something(robot, only_open):
    with Driver(robot, only_open, gripper=0.0) as arm:
        executed = arm.move(np.zeros(6), 1.0, TIMEOUT_S)
        assert executed.changes & (Change.COLLISION | Change.TABLE | Change.WORKSPACE)
        assert "link_tip" in executed.explanation or "link_finger" in executed.explanation
        assert arm.gripper == 0.0
        assert executed.state.contacts
        assert not arm.move(np.zeros(6), 0.0, TIMEOUT_S).changes


def test_fingers_close_where_there_is_room(robot):
    with Driver(robot, robot.arm.ready_rad, gripper=0.0) as arm:
        assert not arm.move(np.zeros(6), 1.0, TIMEOUT_S).changes
        assert arm.gripper == 1.0


def test_a_rehearsal_decides_as_a_motion_does_and_moves_nothing(robot, only_open):
    with Driver(robot, only_open, gripper=0.0) as arm:
        asked = np.full(6, 10.0), 1.0
        rehearsed = arm.rehearse(*asked, TIMEOUT_S)
        np.testing.assert_array_equal(arm.joints, only_open)
        assert arm.gripper == 0.0
        moved = arm.move(*asked, TIMEOUT_S)
        assert (rehearsed.changes, rehearsed.explanation) == (moved.changes, moved.explanation)
        assert rehearsed.state.contacts == moved.state.contacts
