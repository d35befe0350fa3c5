"""Cells without forces: as the physics where it needs none, and as reproducible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes_curiosity_ros.errors import ConfigError, InputError
from bayes_curiosity_ros.robot.arms.simulated import SimulatedArm
from bayes_curiosity_ros.robot.config import WorldConfig
from bayes_curiosity_ros.robot.randomization import Randomization
from bayes_curiosity_ros.tasks.arm.task import ArmTask
from bayes_curiosity_ros.tasks.registry import make_task
from bayes_curiosity_ros.tasks.simulation import Simulation

REACHES = ("reach", "parked_reach", "parked_reach_far")


def kinematic(name: str = "parked_reach", threads: int = 1) -> ArmTask:
    task = make_task(name, threads=threads, dynamics="kinematic")
    assert isinstance(task, ArmTask)
    return task


@pytest.fixture(scope="module")
def task() -> ArmTask:
    return kinematic()


def wandering(task: ArmTask, count: int, seed: int) -> np.ndarray:
    """Actions, (horizon, N, A), that lead somewhere: half of the episodes collide or nearly."""
    rng = np.random.default_rng(seed)
    way = rng.uniform(-1, 1, (count, task.action_size))
    noise = rng.normal(0, 0.3, (task.horizon, count, task.action_size))
    return np.clip(way + noise, -1, 1)


@pytest.mark.parametrize("name", REACHES)
def test_hands_and_failures_are_those_of_the_physics(name):
    physics, geometry = make_task(name, threads=0), kinematic(name)
    seen = physics.initial_states(60, np.random.default_rng(0))
    states = geometry.initial_states(60, np.random.default_rng(0))
    np.testing.assert_array_equal(states, seen)
    for actions in wandering(geometry, 60, seed=1):
        seen, states = physics.advance(seen, actions), geometry.advance(states, actions)
        going = ~physics.terminal(seen) & ~geometry.terminal(states)
        away = physics.stepper.hands(seen[going]) - geometry.stepper.hands(states[going])
        assert np.linalg.norm(away, axis=1).max() < 0.002
    assert 10 < physics.failed(seen).sum() < 50
    assert np.sum(physics.failed(seen) != geometry.failed(states)) <= 1


def test_with_twice_the_physics_step_reach_stays_within_a_hundredth_of_a_radian():
    fine, coarse = make_task("reach", threads=0), make_task("reach", physics_step_s=0.01)
    seen, states = (task.initial_states(40, np.random.default_rng(0)) for task in (fine, coarse))
    for actions in wandering(fine, 40, seed=2):
        seen, states = fine.advance(seen, actions), coarse.advance(states, actions)
        going = ~fine.terminal(seen) & ~coarse.terminal(states)
        away = fine.layout.joints(seen[going]) - coarse.layout.joints(states[going])
        assert np.abs(away).max() < 0.01


@pytest.mark.parametrize("name", REACHES)
def test_same_seed_same_episode_at_any_number_of_threads(name):
    def play(threads: int) -> np.ndarray:
        simulation = Simulation(kinematic(name, threads), 6, np.random.default_rng(3))
        rng = np.random.default_rng(4)
        for _ in range(70):
            step = simulation.step(rng.uniform(-1, 1, (6, 6)))
            simulation.restart(step.terminated | step.truncated)
        return simulation.states

    np.testing.assert_array_equal(play(1), play(2))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), chunks=st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_cells_do_not_depend_on_which_are_advanced_together(task, seed, chunks):
    rng, count = np.random.default_rng(seed), sum(chunks)
    states = task.initial_states(count, rng)
    for _ in range(3):
        actions = rng.uniform(-1, 1, (count, 6))
        edges = np.cumsum(chunks)[:-1]
        parts = zip(np.split(states, edges), np.split(actions, edges), strict=True)
        apart = np.concatenate([task.advance(*part) for part in parts])
        states = task.advance(states, actions)
        np.testing.assert_array_equal(apart, states)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_hands_are_where_the_joints_put_them_whatever_was_asked_before(task, seed):
    rng = np.random.default_rng(seed)
    rows = task.initial_states(5, rng)
    rows = task.advance(rows, rng.uniform(-1, 1, (5, 6)))
    hands = task.stepper.hands(rows)
    task.stepper.hands(rows[::-1])
    np.testing.assert_array_equal(task.stepper.hands(rows), hands)
    np.testing.assert_array_equal(kinematic().stepper.hands(rows), hands)
    np.testing.assert_array_equal(task.stepper.hands(rows[2:4]), hands[2:4])


def test_the_arm_over_its_interface_plays_the_same_episode(task):
    robot = replace(task.robot, safety=replace(task.robot.safety, collisions=False))
    rng = np.random.default_rng(0)
    states = task.initial_states(1, rng)
    with SimulatedArm(robot) as arm:
        arm.place(states[0, : task.layout.extra.start])
        for _ in range(12):
            action = rng.uniform(-1, 1, (1, 6))
            executed = arm.move(task.commands(action)[0][0], 0.0, timeout_s=1.0)
            states = task.advance(states, action)
            np.testing.assert_array_equal(executed.state.joints, task.layout.joints(states)[0])


def test_the_arm_goes_home(task):
    with SimulatedArm(task.robot, task.stepper) as arm:
        arm.move(np.full(6, 0.03), 0.0, timeout_s=1.0)
        home = arm.home(timeout_s=30.0)
    np.testing.assert_allclose(home.joints, task.robot.arm.ready_rad, atol=0.01)


def test_worlds_may_differ():
    differing = make_task("reach", dynamics="kinematic", randomization=Randomization(count=3))
    states = differing.initial_states(12, np.random.default_rng(0))
    following = differing.advance(states, np.full((12, 6), 0.5))
    assert len(np.unique(following[:, differing.layout.variant])) > 1


def test_what_takes_forces_is_refused(task):
    with pytest.raises(ConfigError, match="cannot move an object that can be touched"):
        make_task("grasp", dynamics="kinematic")
    with pytest.raises(ConfigError, match="'magic'; choose one of: kinematic, physics"):
        WorldConfig(dynamics="magic")
    rows = task.initial_states(1, np.random.default_rng(0))
    with pytest.raises(InputError, match="no physics steps"):
        task.stepper.trace(rows, np.zeros((1, 6)), np.zeros(1), "qvel")
