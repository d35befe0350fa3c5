"""What is promised while an arm presses on something: commands in their limits, or a stop."""

from dataclasses import replace

import numpy as np
import pytest

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.arms.arm import ArmError, ArmState
from bayes_curiosity_ros.robot.arms.real import RealArm
from bayes_curiosity_ros.robot.arms.simulated import SimulatedArm
from bayes_curiosity_ros.robot.safety import SafetyFilter
from bayes_curiosity_ros.robot.supervision import State, SupervisorConfig
from bayes_curiosity_ros.robot.supervisor import ArmSupervisor
from bayes_curiosity_ros.tasks.arm.names import named_arm_task

TIMEOUT_S = 1.0
STEPS = 60


@pytest.fixture(scope="module")
def guarded(robot):
    """Grasp's cell with the filter on, as a real arm has it."""
    task = named_arm_task("grasp", robot, threads=1)
    safe = replace(task.robot, safety=replace(task.robot.safety, collisions=True))

    def start(seed: int) -> np.ndarray:
        return task.initial_states(1, np.random.default_rng(seed))[0]

    return SimulatedArm(safe, task.stepper, start)


def towards_object(arm: SimulatedArm, rng: np.random.Generator) -> np.ndarray:
    """Deltas at full speed that bring the hand into the cylinder, with some noise."""
    layout, top = arm.stepper.layout, arm.stepper.max_delta_rad
    rows = np.repeat(arm.row[None], len(top) + 1, axis=0)
    for row, column in zip(rows[1:], np.arange(layout.size)[layout.joint_columns], strict=True):
        row[column] += 1e-4
    away = np.linalg.norm(arm.stepper.hands(rows) - layout.object_position(rows), axis=1)
    return -np.sign(away[1:] - away[0]) * top + rng.normal(size=len(top)) * 0.3 * top


def press(supervisor: ArmSupervisor, arm: SimulatedArm, episode: int) -> int:
    """Press for an episode, and check every step; in how many the cylinder was touched."""
    limits, bound = arm.filter.speed_rad_s, arm.filter.config.max_overspeed
    touched, rng = 0, np.random.default_rng(episode)
    supervisor.reset_episode(episode, episode, confirmed=True)
    for step in range(STEPS):
        deltas = towards_object(arm, rng)
        executed = supervisor.act(episode, step, deltas, float(step // 10 % 2))
        assert (np.abs(arm._velocity) <= limits * (1 + 1e-9)).all()
        moved = np.abs(executed.deltas) / arm.robot.world.control_step_s
        assert (moved <= bound * limits).all()
        touched += "object" in executed.state.contacts
    return touched


@pytest.fixture
def supervisor(guarded):
    supervisor = ArmSupervisor(guarded, SupervisorConfig(), lambda: 0.0)
    supervisor.activate(TIMEOUT_S)
    return supervisor


def test_pressing_on_the_cylinder_is_commanded_within_limits(guarded, supervisor):
    assert press(supervisor, guarded, episode=8) > 10


def test_a_joint_that_is_pushed_faster_than_its_bound_stops_the_arm(guarded, supervisor):
    supervisor.reset_episode(1, 0, confirmed=True)
    supervisor.act(1, 0, np.zeros(6), 0.0)
    wrist = guarded.stepper.world.joint_dof[4]
    guarded.row[guarded.stepper.layout.qvel][wrist] = 20.0 * guarded.filter.speed_rad_s[4]
    with pytest.raises(
        ArmError, match=r"joint_5 moved at .* times its limit of 0\.\d+: something"
    ):
        supervisor.act(1, 1, np.zeros(6), 0.0)
    assert supervisor.state == State.FAULT
    assert "something pushes the arm" in supervisor.reason
    with pytest.raises(ArmError):
        supervisor.act(1, 1, np.zeros(6), 0.0)
    supervisor.release()
    assert supervisor.state == State.READY


def test_overspeed_counts_from_the_bound_on_and_over_the_time_that_passed(robot):
    safety = SafetyFilter(robot)
    dt, limits = robot.world.control_step_s, safety.speed_rad_s
    assert not safety.overspeed(limits * dt * 2.49, dt)
    assert not safety.overspeed(-limits * dt * 2.6, 1.1 * dt)
    assert safety.overspeed(-limits * dt * 2.6, dt).count("2.6 times its limit") == 6
    only = np.zeros(6)
    only[4] = limits[4] * dt * 3.0
    assert safety.overspeed(only, 0.0).startswith("joint_5 moved at ")


class Runaway(RealArm):
    """A real arm that is pushed on whatever it is told."""

    joints = np.zeros(6)

    def open(self, timeout_s):
        self.joints = np.array(self.robot.arm.ready_rad)

    def close(self):
        pass

    def measure(self, timeout_s):
        return ArmState(0.0, self.joints, np.zeros(6), np.zeros(0), 0.0, frozenset())

    def command(self, target, measured, gripper):
        self.joints = measured + 3.0 * self.filter.speed_rad_s * self._dt

    def finish(self):
        pass

    def halt(self):
        pass


def test_a_real_arm_that_moves_faster_than_it_was_told_is_a_fault(robot):
    arm = Runaway(robot)
    arm.connect(TIMEOUT_S)
    with pytest.raises(ArmError, match=r"joint_1 moved at .* something pushes the arm"):
        arm.move(np.zeros(6), 0.0, TIMEOUT_S)


def test_a_bound_that_catching_up_would_reach_is_refused(robot):
    with pytest.raises(ConfigError, match=r"safety\.max_overspeed = 1\.5 is below 2"):
        replace(robot.safety, max_overspeed=1.5)
