"""Curiosity in space: where the points are, what is observed there, where the map goes dark."""

import numpy as np
import pytest

from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.errors import ConfigError, InputError
from bayes_curiosity_ros.learning.map.points import MOST, CuriosityMap
from bayes_curiosity_ros.robot.config import RobotConfig

COUNT = 300
NEAR_M = 0.3  # of so many points, one is so near to any place that the hand gets to


@pytest.fixture(scope="module")
def robot():
    return RobotConfig.load()


@pytest.fixture(scope="module")
def reach(robot):
    return CuriosityMap.over("reach", robot, COUNT)


@pytest.fixture
def curiosity():
    return Curiosity(Encoder(EncoderConfig(vector_size=9)))


def rows_of(map_):
    return map_.task.stepper.initial(map_.joints, np.tile(map_.usual_object, (len(map_), 1)))


def test_the_hand_is_at_each_point_and_touches_nothing(reach):
    assert len(reach) == COUNT
    rows = rows_of(reach)
    away = np.linalg.norm(reach.task.stepper.hands(rows) - reach.points, axis=1)
    assert away.max() < 0.005
    assert not reach.task.stepper.contacts(rows)[:, :2].any()


def test_points_are_in_the_workspace_and_all_over_it(reach, robot):
    safety = robot.safety
    assert (reach.points >= safety.workspace_lower_m).all()
    assert (reach.points <= safety.workspace_upper_m).all()
    rng = np.random.default_rng(1)
    poses = robot.arm.ready_rad + rng.uniform(-0.8, 0.8, (50, len(robot.arm.joints)))
    rows = reach.task.stepper.initial(poses, np.tile(reach.usual_object, (50, 1)))
    hands = reach.task.stepper.hands(rows)[~reach.task.stepper.contacts(rows)[:, :2].any(axis=1)]
    hands = hands[(hands[:, 2] > 0.05) & (np.abs(hands[:, 1]) < 0.8) & (hands[:, 0] > -0.6)]
    assert len(hands) > 10
    distances = np.linalg.norm(hands[:, None] - reach.points[None], axis=2).min(axis=1)
    assert distances.max() < NEAR_M


def test_a_map_is_made_once_and_is_the_same_for_the_same_robot(reach, robot):
    assert CuriosityMap.over("reach", RobotConfig.load(), COUNT) is reach
    assert CuriosityMap.over("parked_reach", robot, COUNT) is not reach


def test_what_is_observed_is_what_the_task_observes(reach):
    spot = np.array([0.4, 0.1, 0.07])
    seen = reach.observations(spot)
    assert seen.images is None
    np.testing.assert_array_equal(seen.vectors[:, :6], reach.joints)
    np.testing.assert_array_equal(seen.vectors[:, 6:], np.tile(spot, (len(reach), 1)))
    part = reach.observations(spot, slice(10, 20))
    np.testing.assert_array_equal(part.vectors, seen.vectors[10:20])


def test_a_visual_task_sees_the_object_where_it_is(robot):
    seen = CuriosityMap.over("visual_reach", robot, 20)
    left, right = (seen.observations(np.array([0.45, y, 0.07]), slice(3)) for y in (-0.15, 0.15))
    assert left.vectors.shape == (3, 6)
    assert left.images is not None
    assert left.images.shape == (3, 4, 64, 64)
    assert left.images[:, :3].max() <= 1.0
    assert not np.array_equal(left.images, right.images)


def test_the_map_goes_dark_where_the_arm_has_been_and_not_elsewhere(reach, curiosity):
    def price(observations):
        return curiosity.score(observations).reward

    spot, hand = reach.usual_object, np.array([0.4, 0.0, 0.3])
    before = reach.values(price, spot)
    assert before.shape == (len(reach),)
    away = np.linalg.norm(reach.points - hand, axis=1)
    near, far = np.argsort(away)[:10], np.argsort(away)[-10:]
    curiosity.observe(reach.observations(spot)[near])
    left = reach.values(price, spot) / before
    assert left[near].max() < left[far].min()
    assert left[near].mean() < 0.5


@pytest.mark.parametrize("count", [0, MOST + 1])
def test_a_count_out_of_bounds_is_refused(robot, count):
    with pytest.raises(ConfigError, match=f"choose 1 to {MOST}"):
        CuriosityMap.over("reach", robot, count)


def test_a_task_without_an_arm_has_no_map(robot):
    with pytest.raises(ConfigError, match="task of an arm"):
        CuriosityMap.over("mountaincar", robot)


@pytest.mark.parametrize("spot", [[0.1, 0.2], [0.1, 0.2, float("nan")]])
def test_a_position_that_is_none_is_refused(reach, spot):
    with pytest.raises(InputError, match="three finite numbers"):
        reach.observations(np.array(spot))
