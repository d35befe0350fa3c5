"""Worlds that differ, reproducibly and within their bounds."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.randomization import Randomization
from bayes_curiosity_ros.tasks.arm.grasp import Grasp
from bayes_curiosity_ros.tasks.demonstrations import success_rate


def test_same_seed_same_worlds(robot):
    first, second = (Randomization(count=4, seed=3).variants(robot) for _ in range(2))
    assert first == second
    assert len({variant.world.object.radius_m for variant in first}) == 4
    assert Randomization(count=4, seed=4).variants(robot) != first


def test_draws_stay_in_their_bounds(robot):
    bounds = Randomization(count=40)
    for variant in bounds.variants(robot):
        ratio = variant.world.object.radius_m / robot.world.object.radius_m
        assert abs(ratio - 1) <= bounds.object_size
        shift = np.subtract(variant.world.camera.position_m, robot.world.camera.position_m)
        assert np.abs(shift).max() <= bounds.camera_position_m
        assert all(0 <= friction <= 1 for friction in variant.arm.friction_nm)
        assert all(0 <= channel <= 1 for channel in variant.world.table.color)


def test_episodes_take_place_in_different_worlds(rng):
    task = Grasp(randomization=Randomization(count=4), visual=True, threads=1)
    states = task.initial_states(12, rng)
    assert set(states[:, task.layout.variant]) == {0, 1, 2, 3}
    images = task.images(states)
    tables = {tuple(image[:3, -1, 0]) for image in images}
    assert len(tables) == 4
    together = task.advance(states, np.zeros((12, 7)))
    alone = task.advance(states[5:6], np.zeros((1, 7)))
    np.testing.assert_array_equal(together[5], alone[0])


def test_the_expert_grasps_in_most_of_them():
    task = Grasp(randomization=Randomization(count=8, seed=1))
    assert success_rate(task, 40, seed=2) >= 0.9


def test_settings_are_checked():
    with pytest.raises(ConfigError, match=r"object_size = 1.0; must be below 1"):
        Randomization(object_size=1.0)
