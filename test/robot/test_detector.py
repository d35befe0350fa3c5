"""The detector on simulated images, to a centimetre."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bayes_curiosity_ros.robot.cameras.camera import Frame
from bayes_curiosity_ros.robot.cameras.detector import CylinderDetector, NotSeenError
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.tasks.arm.reach import Reach

PLACEMENTS = 60


@pytest.fixture(scope="module", params=[64, 128])
def cell(request):
    robot = RobotConfig.load("jaco.yaml")
    camera = replace(robot.world.camera, width=request.param, height=request.param)
    task = Reach(replace(robot, world=replace(robot.world, camera=camera)), threads=1)
    scene = task.camera.scenes[0]
    detector = CylinderDetector(robot.world.object, scene.intrinsics, scene.extrinsics)
    return task, detector


def test_it_finds_the_cylinder_to_a_centimetre(cell):
    task, detector = cell
    states = task.initial_states(PLACEMENTS, np.random.default_rng(0))
    colors, depths = task.camera.frames(states)
    truth = task.layout.object_position(states)
    errors, unseen = [], 0
    for color, depth, position in zip(colors, depths, truth, strict=True):
        try:
            found = detector(Frame(color, depth, 0.0))
        except NotSeenError:
            unseen += 1
            continue
        errors.append(np.linalg.norm(found - position))
    assert unseen <= 0.1 * PLACEMENTS
    assert np.median(errors) < 0.005
    assert np.quantile(errors, 0.95) < 0.01


def test_noise_of_a_depth_camera_does_not_matter(cell):
    task, detector = cell
    rng = np.random.default_rng(1)
    states = task.initial_states(20, rng)
    colors, depths = task.camera.frames(states)
    truth = task.layout.object_position(states)
    depths = depths + rng.normal(0.0, 0.002, depths.shape)
    errors = [
        np.linalg.norm(detector(Frame(color, depth, 0.0)) - position)
        for color, depth, position in zip(colors, depths, truth, strict=True)
        if detector._mask(color).sum() > 40
    ]
    assert np.median(errors) < 0.01


def test_an_empty_table_is_said_to_be_empty(cell):
    _, detector = cell
    height, width = detector._shape
    blank = Frame(np.full((height, width, 3), 90, np.uint8), np.ones((height, width)), 0.0)
    with pytest.raises(NotSeenError, match="0 pixels"):
        detector(blank)
