"""Where an arm is parked, what pays, how long an episode takes: settings of a task."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from bayes_curiosity_ros.errors import ConfigError, InputError
from bayes_curiosity_ros.robot.arms.simulated import SimulatedArm
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.tasks.arm.grasp import Grasp, GraspConfig
from bayes_curiosity_ros.tasks.arm.reach import ParkedReach, Reach, ReachConfig
from bayes_curiosity_ros.tasks.arm.task import ArmTask, Placement
from bayes_curiosity_ros.tasks.demonstrations import DemonstrationConfig, collect, success_rate
from bayes_curiosity_ros.tasks.registry import arm_task_names, make_task

READY = RobotConfig.load().arm.ready_rad
PARKED = [("parked_reach", 1.0, 60), ("parked_reach_far", 1.5, 80)]


def angles_at_start(task: ArmTask) -> np.ndarray:
    return task.layout.joints(task.initial_states(200, np.random.default_rng(0)))


@pytest.mark.parametrize(("name", "turn_rad", "horizon"), PARKED)
def test_parked_reach_starts_turned_about_the_base(name, turn_rad, horizon):
    task = make_task(name, threads=1)
    assert task.horizon == horizon
    turned = np.array([READY[0] + turn_rad, *READY[1:]])
    away = angles_at_start(task) - turned
    assert np.abs(away).max() <= 0.05
    np.testing.assert_allclose(task.observation_center[:6], turned)


@pytest.mark.parametrize("name", [name for name, *_ in PARKED])
def test_from_where_it_is_parked_the_expert_arrives_and_nothing_else_pays(name):
    task = make_task(name, threads=1, dynamics="kinematic")
    assert success_rate(task, 30, seed=5) == 1.0
    states, rng = task.initial_states(20, np.random.default_rng(0)), np.random.default_rng(1)
    for _ in range(task.horizon):
        noise = rng.normal(0, 0.1, (20, 6))
        states = task.advance(states, task.expert_at(states) + noise)
        np.testing.assert_array_equal(task.reward(states), task.successful(states))
    assert task.successful(states).all()


def test_a_collision_pays_nothing_and_ends_a_parked_reach():
    task = ParkedReach(threads=1)
    states = task.initial_states(1, np.random.default_rng(0))
    for _ in range(40):
        states = task.advance(states, np.array([[0.0, 1.0, 0.0, 0.0, 0.0, 0.0]]))
    assert task.terminal(states)[0]
    assert task.failure_reasons(states) == ["scene collision"]
    assert task.reward(states)[0] == 0.0


def test_demonstrations_of_reach_are_seen_and_done_as_those_of_parked_reach():
    shown = collect(Reach(threads=1), DemonstrationConfig(count=50, parallel=5))
    task = ParkedReach(threads=1)
    assert shown.vectors.shape[1] == task.observation_size
    assert shown.actions.shape[1] == task.action_size
    assert (np.abs(shown.vectors) <= task.observation_bound).all()


@pytest.mark.parametrize("kind", [Reach, Grasp])
def test_where_your_arm_is_parked_is_yours_to_say(kind):
    pose = (2.0, 3.2, 1.4, -0.3, 1.2, 0.5)
    placement = Placement(start_rad=pose, turn_rad=-0.25, joint_noise_rad=0.01)
    task = kind(placement=placement, threads=1, horizon=7)
    assert np.abs(angles_at_start(task) - [1.75, *pose[1:]]).max() <= 0.01
    assert task.horizon == 7
    with SimulatedArm(task.robot, task.stepper) as arm:
        np.testing.assert_allclose(arm.state(1.0).joints, [1.75, *pose[1:]])


@pytest.mark.parametrize(
    ("placement", "fault"),
    [
        (Placement(start_rad=(3.0, 3.5)), r"start_rad has 2 angles; .* has 6 joints"),
        (Placement(start_rad=(3.0, 4.6, 1.5, -0.4, 1.3, 0.0)), "the arm touches the table"),
        (Placement(start_rad=(3.0, 0.5, 1.5, -0.4, 1.3, 0.0)), "joint_2 is within 0.1 rad"),
        (Placement(start_rad=(3.0, 3.55, 0.45, -0.4, 1.3, 0.0)), "the arm touches itself"),
    ],
)
def test_a_pose_that_no_episode_could_start_from_is_refused(placement, fault):
    with pytest.raises(ConfigError, match=fault):
        Reach(placement=placement, threads=1)


def test_settings_out_of_bounds_are_refused():
    with pytest.raises(ConfigError, match="horizon = 0"):
        Reach(threads=1, horizon=0)
    with pytest.raises(ConfigError, match="turn_rad"):
        Placement(turn_rad=float("nan"))
    with pytest.raises(ConfigError, match="between_m"):
        GraspConfig(between_m=0.0)


def test_a_sparse_reach_pays_arrival_alone():
    config = ReachConfig.sparse(success_m=0.08, success_reward=3.0)
    task = Reach(config=config, threads=1)
    states = task.initial_states(4, np.random.default_rng(0))
    for _ in range(task.horizon):
        states = task.advance(states, task.expert_at(states))
    np.testing.assert_array_equal(task.reward(states), [3.0] * 4)


@pytest.mark.parametrize("name", arm_task_names())
def test_the_last_action_is_the_grippers_where_an_action_commands_it(name):
    task = make_task(name, threads=1)
    assert task.action_size == 6 + task.commands_gripper
    states = task.initial_states(2, np.random.default_rng(0))
    deltas, grips = task.commands(np.ones((2, task.action_size)), states)
    np.testing.assert_array_equal(deltas, [task.max_delta_rad] * 2)
    np.testing.assert_array_equal(grips, [float(task.commands_gripper)] * 2)


def test_a_hand_that_closes_by_itself_closes_where_the_cylinder_is_between_its_fingers():
    task = make_task("few_shot_grasp", threads=1)
    states = task.initial_states(1, np.random.default_rng(0))
    seen = []
    while not task.terminal(states)[0] and len(seen) < task.horizon:
        grip = task.commands(np.zeros((1, 6)), states)[1][0]
        away = task.stepper.hands(states)[0] - task.layout.object_position(states)[0]
        assert grip == (np.hypot(*away[:2]) <= 0.025 and abs(away[2]) <= 0.07)
        seen.append(grip)
        states = task.advance(states, task.expert_at(states))
    assert task.successful(states)[0]
    assert seen[0] == 0
    assert seen[-1] == 1
    with pytest.raises(InputError, match="pass the states"):
        task.commands(np.zeros((1, 6)))


def test_the_expert_solves_a_few_shot_grasp():
    assert success_rate(make_task("few_shot_grasp", threads=0), 20, seed=5) == 1.0


def test_settings_of_a_file_change_what_they_name():
    file = "{placement: {turn_rad: -0.7}, config: {success_m: 0.04}, horizon: 70}"
    task = make_task("parked_reach", **yaml.safe_load(file), threads=1)
    assert task.placement == Placement(turn_rad=-0.7)
    assert task.config == ReachConfig.sparse(success_m=0.04)
    assert task.horizon == 70


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"placement": {"turn": 1.0}}, r"Placement.*turn.*turn_rad"),
        ({"placement": {"turn_rad": "far"}}, r"Placement.turn_rad = 'far'; expected float"),
        ({"placement": {"start_rad": [1.0, 2.0]}}, r"start_rad has 2 angles.* 6 joints"),
        ({"config": {"success_m": -1.0}}, r"ReachConfig.success_m = -1.0; must be > 0"),
        ({"parked": 1.0}, r"parked_reach.*'parked'.*ParkedReach; see docs/robot.md"),
    ],
)
def test_a_wrong_setting_is_named_with_what_it_should_be(options, words):
    with pytest.raises(ConfigError, match=words):
        make_task("parked_reach", threads=1, **options)
