"""The classic tasks: agreement with Gymnasium, spaces, rewards, experts."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.classic_control import (
    AcrobotEnv,
    CartPoleEnv,
    Continuous_MountainCarEnv,
    PendulumEnv,
)
from gymnasium.utils.env_checker import check_env

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.tasks import gymnasium_env
from bayes_curiosity_ros.tasks.demonstrations import DemonstrationConfig, collect
from bayes_curiosity_ros.tasks.registry import TASKS, make_task
from bayes_curiosity_ros.tasks.simulation import Simulation
from bayes_curiosity_ros.tasks.task import wrap_angle

EPISODES = 20
NAMES = [entry.name for entry in TASKS if not entry.arm]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def walk(name: str, rng: np.random.Generator, steps: int = 60):
    """Yield (state, action, next state) of random walks, one copy at a time."""
    task = make_task(name)
    for _ in range(EPISODES):
        states = task.initial_states(1, rng)
        for _ in range(steps):
            action = rng.uniform(-1, 1, (1, task.action_size))
            following = task.advance(states, action)
            yield states[0], action[0], following[0]
            states = following


def test_mountaincar_agrees_with_gymnasium(rng):
    theirs = Continuous_MountainCarEnv()
    theirs.reset(seed=0)
    for state, action, following in walk("mountaincar", rng):
        theirs.state = state.copy()
        observation, _, terminated, _, _ = theirs.step(action)
        np.testing.assert_allclose(observation, following, atol=1e-6)
        assert terminated == make_task("mountaincar").terminal(following[None])[0]


def test_pendulum_agrees_with_gymnasium(rng):
    theirs = PendulumEnv()
    theirs.reset(seed=0)
    task = make_task("pendulum")
    for state, action, following in walk("pendulum", rng):
        theirs.state = state.copy()
        observation = theirs.step(2 * action)[0]
        np.testing.assert_allclose(observation, task.observe(following[None])[0], atol=1e-5)


def test_acrobot_agrees_with_gymnasium(rng):
    theirs = AcrobotEnv()
    theirs.reset(seed=0)
    for state, action, following in walk("acrobot", rng):
        theirs.state = state.copy()
        theirs.AVAIL_TORQUE = [float(action[0])]
        _, _, terminated, _, _ = theirs.step(0)
        np.testing.assert_allclose(theirs.state, following, atol=1e-10)
        assert terminated == make_task("acrobot").terminal(following[None])[0]


def test_swingup_agrees_with_gymnasium_cartpole(rng):
    theirs = CartPoleEnv()
    theirs.reset(seed=0)
    theirs.kinematics_integrator, theirs.tau = "semi-implicit euler", 0.05
    for state, _, _ in walk("swingup", rng):
        state = state * [0.5, 1, 1, 1]  # away from the walls, which theirs has not
        theirs.state = state.copy()
        theirs.steps_beyond_terminated = None
        theirs.step(1)  # full force to the right
        following = make_task("swingup").advance(state[None], np.ones((1, 1)))[0]
        if abs(following[0]) < 3.0:
            np.testing.assert_allclose(theirs.state, following, atol=1e-10)


def test_swingup_wall_stops_the_cart():
    task = make_task("swingup")
    following = task.advance(np.array([[2.99, 4.0, np.pi, 0.0]]), np.ones((1, 1)))
    assert following[0, 0] == 3.0
    assert following[0, 1] == 0.0
    assert not task.terminal(following)[0]


@pytest.mark.parametrize(
    ("name", "state", "reward", "terminal"),
    [
        ("mountaincar", [0.45, 0.01], 99, True),
        ("mountaincar", [0.40, 0.01], -1, False),
        ("swingup", [0, 0, 0.1, 0], 1, False),
        ("swingup", [0, 0, 2.0, 0], -1, False),
        ("pendulum", [2 * np.pi + 0.39, 0], 0, False),
        ("pendulum", [0.41, 0], -1, False),
        ("acrobot", [np.pi, 0, 0, 0], -1, True),
        ("acrobot", [0, 0, 0, 0], -1, False),
    ],
)
def test_rewards_and_ends(name, state, reward, terminal):
    task = make_task(name)
    states = np.array([state], dtype=float)
    assert task.reward(states)[0] == reward
    assert task.terminal(states)[0] == terminal


@pytest.mark.parametrize("name", NAMES)
def test_check_env(name):
    env = gymnasium.make(f"{gymnasium_env.NAMESPACE}/{name}")
    check_env(env.unwrapped, skip_render_check=True)
    assert env.spec.max_episode_steps == make_task(name).horizon


@pytest.mark.parametrize("name", NAMES)
def test_observations_stay_in_their_bounds(name, rng):
    task = make_task(name)
    simulation = Simulation(task, 50, rng)
    for _ in range(task.horizon):
        step = simulation.step(3 * rng.standard_normal((50, task.action_size)))
        assert step.observations.shape == (50, task.observation_size)
        assert np.all(np.abs(step.observations) <= task.observation_bound + 1e-12)
    assert np.all(step.truncated | step.terminated | (simulation.elapsed < task.horizon))


@pytest.mark.parametrize("name", NAMES)
def test_simulation_equals_single_steps(name, rng):
    task = make_task(name)
    simulation = Simulation(task, 5, rng)
    actions = rng.uniform(-1, 1, (5, task.action_size))
    alone = [task.advance(simulation.states[i : i + 1], actions[i : i + 1])[0] for i in range(5)]
    simulation.step(actions)
    np.testing.assert_array_equal(simulation.states, alone)


@pytest.mark.parametrize("name", NAMES)
def test_expert_succeeds_despite_noise(name, rng):
    task = make_task(name)
    simulation = Simulation(task, 50, rng)
    observations, succeeded, alive = simulation.observe(), np.zeros(50, bool), np.ones(50, bool)
    for _ in range(task.horizon):
        noise = 0.1 * rng.standard_normal((50, task.action_size))
        step = simulation.step(task.expert(observations) + noise)
        succeeded |= alive & (step.terminated | step.truncated) & step.succeeded
        alive &= ~(step.terminated | step.truncated)
        observations = step.observations
    assert succeeded.mean() >= 0.9


def test_demonstrations_are_deterministic_and_bounded():
    config = DemonstrationConfig(count=333, seed=1)
    first, second = (collect(make_task("acrobot"), config) for _ in range(2))
    assert first.vectors.shape == (333, 6)
    assert first.actions.shape == (333, 1)
    assert np.abs(first.actions).max() <= 1
    np.testing.assert_array_equal(first.vectors, second.vectors)
    np.testing.assert_array_equal(first.actions, second.actions)


def test_unknown_task_lists_the_names():
    with pytest.raises(ConfigError, match=r"acrobot, .*grasp, mountaincar"):
        make_task("cartpole")


def test_bad_demonstration_count():
    with pytest.raises(ConfigError, match="count = 0"):
        DemonstrationConfig(count=0)


def test_wrap_angle():
    np.testing.assert_allclose(
        wrap_angle(np.array([3 * np.pi / 2, -7.0])), [-np.pi / 2, -7 + 2 * np.pi]
    )
