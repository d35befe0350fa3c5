"""Reach and grasp: spaces, determinism, rewards, ends, and an expert that solves them."""

from __future__ import annotations

from dataclasses import replace

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from bayes_curiosity_ros.errors import ConfigError, InputError
from bayes_curiosity_ros.robot.arms.simulated import SimulatedArm
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.decisions import Commanded
from bayes_curiosity_ros.robot.safety import SafetyFilter
from bayes_curiosity_ros.tasks.arm.grasp import Grasp
from bayes_curiosity_ros.tasks.arm.gymnasium_env import ArmEnv
from bayes_curiosity_ros.tasks.arm.reach import Reach, ReachConfig
from bayes_curiosity_ros.tasks.arm.task import ArmTask, Placement
from bayes_curiosity_ros.tasks.demonstrations import success_rate
from bayes_curiosity_ros.tasks.registry import arm_task_names, make_task
from bayes_curiosity_ros.tasks.simulation import Simulation

KINDS = [Reach, Grasp]
NOT_VISUAL = [name for name in arm_task_names() if not name.startswith("visual_")]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def expert_episode(task: ArmTask, rng: np.random.Generator) -> list[np.ndarray]:
    states = [task.initial_states(1, rng)]
    while not task.terminal(states[-1])[0] and len(states) <= task.horizon:
        states.append(task.advance(states[-1], task.expert_at(states[-1])))
    return states


@pytest.mark.parametrize("name", arm_task_names())
def test_registered_by_name(name):
    task = make_task(name)
    assert task.name == name
    joints = 6
    assert task.observation_size == joints + (0 if name.startswith("visual") else 3)
    assert task.action_size == joints + task.commands_gripper


@pytest.mark.parametrize("name", arm_task_names())
def test_check_env(name):
    env = gymnasium.make(
        f"bayes_curiosity_ros.tasks.gymnasium_env:BayesCuriosity/{name}",
        render_mode="rgb_array",
    )
    check_env(env.unwrapped)
    assert env.spec.max_episode_steps == make_task(name).horizon


@pytest.mark.parametrize("kind", KINDS)
def test_cylinders_fill_the_square(kind, rng):
    task = kind(threads=1)
    spots = task.layout.object_position(task.initial_states(500, rng))
    assert np.abs(spots[:, 0] - 0.45).max() <= 0.2
    assert np.abs(spots[:, 1]).max() <= 0.2
    assert (np.ptp(spots[:, :2], axis=0) > 0.38).all()
    np.testing.assert_allclose(spots[:, 2], 0.07)


@pytest.mark.parametrize("name", NOT_VISUAL)
def test_same_seed_same_episode(name):
    def play() -> np.ndarray:
        simulation = Simulation(make_task(name, threads=2), 6, np.random.default_rng(3))
        rng = np.random.default_rng(4)
        for _ in range(15):
            step = simulation.step(rng.uniform(-1, 1, (6, simulation.task.action_size)))
            simulation.restart(step.terminated | step.truncated)
        return simulation.states

    np.testing.assert_array_equal(play(), play())


@pytest.mark.parametrize("name", NOT_VISUAL)
def test_many_cells_equal_one_by_one(name, rng):
    task = make_task(name, threads=2)
    states = task.initial_states(4, rng)
    actions = rng.uniform(-1, 1, (4, task.action_size))
    alone = [task.advance(states[i : i + 1], actions[i : i + 1])[0] for i in range(4)]
    np.testing.assert_array_equal(task.advance(states, actions), alone)


@pytest.mark.parametrize("name", NOT_VISUAL)
def test_the_arm_over_its_interface_plays_the_same_episode(name, rng):
    task = make_task(name, threads=1)
    robot = replace(task.robot, safety=replace(task.robot.safety, collisions=False))
    states = task.initial_states(1, rng)
    with SimulatedArm(robot, task.stepper) as arm:
        arm.place(states[0])
        for _ in range(12):
            action = rng.uniform(-1, 1, (1, task.action_size))
            deltas, grips = task.commands(action, states)
            executed = arm.move(deltas[0], float(grips[0]), timeout_s=1.0)
            states = task.advance(states, action)
            np.testing.assert_array_equal(executed.state.joints, task.layout.joints(states)[0])


@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_random_steps_without_a_warning(kind, rng):
    """A warning of MuJoCo's would be a PhysicsError."""
    task = kind(threads=0)
    count = 10_000 // task.horizon
    simulation = Simulation(task, count, rng)
    for _ in range(task.horizon):
        step = simulation.step(rng.uniform(-1, 1, (count, task.action_size)))
        assert np.isfinite(step.observations).all()
        assert (np.abs(step.observations) <= task.observation_bound).all()
        simulation.restart(step.terminated | step.truncated)


@pytest.mark.parametrize("kind", KINDS)
def test_expert_solves_it(kind):
    assert success_rate(kind(threads=0), 60, seed=5) == 1.0


def test_reach_reward_is_progress_and_success(rng):
    task = Reach(threads=1)
    states = expert_episode(task, rng)
    rewards = np.array([task.reward(state)[0] for state in states[1:]])
    progress = 10 * (task.distance(states[0])[0] - task.distance(states[-1])[0])
    assert task.successful(states[-1])[0]
    assert task.distance(states[-1])[0] <= 0.05
    assert rewards.sum() == pytest.approx(progress + 5.0)


def press_down(task: ArmTask, states: np.ndarray) -> np.ndarray:
    """Lean into the table."""
    push = np.zeros((1, task.action_size))
    push[0, 1] = 1.0
    for _ in range(30):
        states = task.advance(states, push)
    return states


@pytest.mark.parametrize("kind", KINDS)
def test_a_collision_is_a_failure_and_the_end(kind, rng):
    task = kind(threads=1, placement=Placement(square_center_m=(0.3, 0.4), square_side_m=0.01))
    states = press_down(task, task.initial_states(1, rng))
    assert task.terminal(states)[0]
    assert not task.successful(states)[0]
    assert task.failure_reasons(states) == ["scene collision"]
    assert task.reward(states)[0] < 0 or kind is Grasp
    np.testing.assert_array_equal(task.advance(states, np.ones((1, task.action_size))), states)


def test_in_reach_the_cylinder_cannot_be_touched(rng):
    task = Reach(threads=1, config=ReachConfig(success_m=1e-3))
    states = expert_episode(task, rng)
    before, after = (task.layout.object_position(s) for s in (states[0], states[-1]))
    np.testing.assert_array_equal(before, after)
    assert not task.layout.touching(states[-1], "object")[0]
    assert task.distance(states[-1])[0] < 0.02  # the hand is inside the cylinder


def test_grasp_is_lifted_held_and_sparse(rng):
    task = Grasp(threads=1)
    states = expert_episode(task, rng)
    rewards = [task.reward(state)[0] for state in states]
    assert rewards[-1] == 1.0
    assert sum(rewards) == 1.0
    for state in states[-task.config.hold_steps :]:
        assert task.lift(state)[0] >= 0.05
        assert task.layout.touching(state, "object")[0]
    assert task.layout.object_tilt(states[-1])[0] < 0.3


def test_a_grasp_needs_friction():
    """The grasp is physics, not glue: on ice the same hand lifts nothing."""
    robot = RobotConfig.load()
    ice = replace(robot.world.object, friction=0.01)
    task = Grasp(replace(robot, world=replace(robot.world, object=ice)))
    assert success_rate(task, 10, seed=1) == 0.0


def test_springy_fingertips_grasp_too():
    robot = RobotConfig.load()
    springs = replace(robot.arm.gripper, tips=("tip_1", "tip_2", "tip_3"))
    task = Grasp(replace(robot, arm=replace(robot.arm, gripper=springs)))
    assert len(task.stepper.world.gripper_qpos) == 6
    assert success_rate(task, 10, seed=1) == 1.0


def test_knocking_the_cylinder_over_fails(rng):
    task = Grasp(threads=1)
    states = task.initial_states(1, rng)
    tilted = states.copy()
    tilted[0, task.layout.object_axis_columns] = [np.cos(0.5), np.sin(0.5), 0, 0]
    assert task.layout.object_tilt(tilted)[0] == pytest.approx(1.0)
    assert task.failed(tilted)[0]
    assert task.failure_reasons(tilted) == ["knocked over"]
    assert not task.successful(tilted)[0]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_actions_that_are_no_numbers_are_refused(value, rng):
    task = Reach(threads=1)
    states = task.initial_states(1, rng)
    actions = np.zeros((1, 6))
    actions[0, 4] = value
    with pytest.raises(InputError, match=r"action \[0, 4\]"):
        task.advance(states, actions)
    with pytest.raises(InputError, match=r"reach takes \(N, 6\)"):
        task.advance(states, np.zeros((1, 7)))


def test_visual_observations_hide_the_cylinder(rng):
    task = Grasp(visual=True, threads=1)
    states = task.initial_states(2, rng)
    assert task.observe(states).shape == (2, 6)
    assert task.images(states).shape == (2, 4, 64, 64)
    with pytest.raises(InputError, match="expert_at"):
        task.expert(task.observe(states))


def test_another_arm_takes_its_place_by_config():
    gen3 = RobotConfig.load("gen3.yaml")
    task = Reach(gen3, threads=1)
    assert success_rate(task, 30, seed=5) == 1.0
    assert task.stepper.world.fingers == ()
    assert SafetyFilter(gen3).permit(Commanded.at_rest(gen3.arm.ready_rad), np.zeros(6)).changes
    with pytest.raises(ConfigError, match=r"'grasp' needs a gripper; gen3_6dof.urdf has none"):
        Grasp(gen3)


def test_unknown_names_are_listed():
    with pytest.raises(ConfigError, match=r"'wave'.*grasp, mountaincar, .*pendulum, reach"):
        ArmEnv("wave")
    with pytest.raises(ConfigError, match="rgb_array"):
        ArmEnv("reach", render_mode="human")


def test_mujoco_gives_no_warning(rng):
    task = Grasp(threads=1)
    states = task.initial_states(1, rng)
    model = task.stepper.world.model
    data = mujoco.MjData(model)
    data.qpos[:] = states[0, task.layout.qpos]
    for _ in range(500):
        data.ctrl[:6] = task.robot.arm.ready_rad + rng.uniform(-0.05, 0.05, 6)
        data.ctrl[6:] = rng.uniform(0, 1.2)
        mujoco.mj_step(model, data)
    assert not any(warning.number for warning in data.warning)
