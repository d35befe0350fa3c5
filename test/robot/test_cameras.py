"""Ray-cast images: geometry, agreement with the renderer, and the protocol."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bayes_curiosity_ros.errors import InputError
from bayes_curiosity_ros.robot.arms.simulated import SimulatedArm
from bayes_curiosity_ros.robot.cameras.camera import Camera, CameraError, Extrinsics, Intrinsics
from bayes_curiosity_ros.robot.cameras.raycast import RaycastCamera, depth_levels
from bayes_curiosity_ros.robot.cameras.renderer import GLCamera
from bayes_curiosity_ros.robot.cameras.simulated import SimulatedCamera
from bayes_curiosity_ros.robot.stepper import Stepper
from bayes_curiosity_ros.robot.world import build_world


@pytest.fixture
def rows(stepper: Stepper, robot, rng) -> np.ndarray:
    joints = np.array(robot.arm.ready_rad) + rng.uniform(-0.3, 0.3, (6, 6))
    spots = np.column_stack([rng.uniform([0.25, -0.2], [0.65, 0.2], (6, 2)), np.full(6, 0.07)])
    return stepper.initial(joints, spots)


@pytest.fixture
def camera(world, stepper) -> RaycastCamera:
    return RaycastCamera([world], stepper.layout, threads=1)


def test_depth_of_the_table_is_where_geometry_says(camera, rows, robot):
    _, depths = camera.frames(rows[:1])
    intrinsics, extrinsics = Intrinsics.of(robot.world.camera), Extrinsics.of(robot.world.camera)
    rays = intrinsics.rays() @ extrinsics.rotation.T
    points = extrinsics.position + rays * depths[0].reshape(-1, 1)
    bottom = points.reshape(64, 64, 3)[-1]  # the last image row shows nothing but the table
    np.testing.assert_allclose(bottom[:, 2], 0.0, atol=1e-6)


def test_the_cylinder_is_seen_where_it_stands(camera, rows, robot, stepper):
    colors, depths = camera.frames(rows)
    intrinsics, extrinsics = Intrinsics.of(robot.world.camera), Extrinsics.of(robot.world.camera)
    rays = intrinsics.rays() @ extrinsics.rotation.T
    for index, spot in enumerate(stepper.layout.object_position(rows)):
        red, green = colors[index, ..., 0].astype(int), colors[index, ..., 1].astype(int)
        seen = (red > 2 * green).ravel()
        if seen.sum() < 10:  # hidden behind the arm
            continue
        points = extrinsics.position + rays[seen] * depths[index].reshape(-1, 1)[seen]
        assert np.linalg.norm(np.median(points[:, :2], axis=0) - spot[:2]) < 0.04


def test_all_placements_are_in_view(robot):
    intrinsics, extrinsics = Intrinsics.of(robot.world.camera), Extrinsics.of(robot.world.camera)
    for x in (0.25, 0.65):
        for y in (-0.2, 0.2):
            for z in (0.0, 0.14):
                point = (np.array([x, y, z]) - extrinsics.position) @ extrinsics.rotation
                pixel = point[:2] / point[2] * intrinsics.fx + intrinsics.cx
                assert (pixel > 1).all()
                assert (pixel < 63).all()


def test_depth_agrees_with_the_renderer(camera, rows, world, stepper):
    try:
        renderer = GLCamera(world, 64, 64, shadows=False)
    except CameraError as error:
        pytest.skip(str(error))
    _, depths = camera.frames(rows)
    with renderer:
        for row, depth in zip(rows, depths, strict=True):
            renderer.pose(row, stepper.layout)
            theirs = np.minimum(renderer.depth(), world.config.world.camera.max_depth_m)
            error = np.abs(theirs - depth)
            assert np.median(error) < 1e-5
            assert (error > 0.005).mean() < 0.01  # pixels on edges may fall either way
            colour = np.abs(renderer.color().astype(int) - camera.frames(row[None])[0][0])
            assert np.median(colour) <= 3


def test_threads_and_batches_change_nothing(camera, world, stepper, rows):
    parallel = RaycastCamera([world], stepper.layout, threads=2)
    for ours, theirs in zip(camera.frames(rows), parallel.frames(rows), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(camera.frames(rows[2:3])[1][0], camera.frames(rows)[1][2])


def test_casting_part_of_the_pixels_changes_nothing(camera, rows, monkeypatch):
    usual = camera.frames(rows)
    scene = camera.scenes[0]
    everywhere = np.arange(64 * 64)
    monkeypatch.setattr(scene, "_covered", lambda data: everywhere)
    for ours, full in zip(usual, camera.frames(rows), strict=True):
        np.testing.assert_array_equal(ours, full)


def test_images_are_bytes(camera, rows, robot):
    images = camera.images(rows)
    assert images.shape == (6, 4, 64, 64)
    assert images.dtype == np.uint8
    colors, depths = camera.frames(rows)
    np.testing.assert_array_equal(images[:, :3], colors.transpose(0, 3, 1, 2))
    np.testing.assert_array_equal(
        images[:, 3], depth_levels(depths, robot.world.camera.max_depth_m)
    )
    depth = images[:, 3] / 255 * robot.world.camera.max_depth_m
    np.testing.assert_allclose(depth, depths, atol=0.006)


def test_a_marker_is_seen_too(marker_robot):
    world = build_world(marker_robot)
    stepper = Stepper(world, threads=1)
    ready = np.array([marker_robot.arm.ready_rad])
    camera = RaycastCamera([world], stepper.layout, threads=1)
    left = camera.frames(stepper.initial(ready, np.array([[0.3, 0.15, 0.07]])))[0]
    right = camera.frames(stepper.initial(ready, np.array([[0.6, -0.15, 0.07]])))[0]
    assert (left != right).any()


def test_simulated_camera_sees_what_the_batch_sees(robot, camera, stepper, rows):
    plain = replace(robot, safety=replace(robot.safety, collisions=False))
    with SimulatedArm(plain, stepper) as arm, SimulatedCamera(robot) as single:
        assert isinstance(single, Camera)
        arm.place(rows[1])
        state = arm.state(timeout_s=1.0)
        single.pose(state)
        frame = single.read(timeout_s=1.0)
    colors, depths = camera.frames(rows[1:2])
    np.testing.assert_array_equal(frame.color, colors[0])
    np.testing.assert_array_equal(frame.depth, depths[0])
    assert frame.stamp_s == state.stamp_s


def test_simulated_camera_follows_a_real_arm_that_tells_of_no_fingers(robot, stepper, rows):
    arm = SimulatedArm(robot, stepper)
    arm.place(rows[0])
    told = arm.state(timeout_s=1.0)
    with SimulatedCamera(robot) as camera:
        views = []
        for state in (told, replace(told, fingers=np.zeros(0), gripper=1.0)):
            camera.pose(state)
            views.append(camera.read(timeout_s=1.0).depth)
    assert (views[0] != views[1]).any()


def test_simulated_camera_says_what_is_missing(robot, stepper, rows):
    camera = SimulatedCamera(robot)
    with pytest.raises(CameraError, match="not connected"):
        camera.read(timeout_s=1.0)
    camera.connect(timeout_s=1.0)
    with pytest.raises(CameraError, match="no pose yet"):
        camera.read(timeout_s=1.0)
    arm = SimulatedArm(robot, stepper)
    arm.place(rows[0])
    blind = replace(arm.state(timeout_s=1.0), object_position=None)
    with pytest.raises(InputError, match="object's pose"):
        camera.pose(blind)
