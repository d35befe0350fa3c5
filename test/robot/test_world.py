"""The simulated cell: kinematics against an oracle, contacts, tracking, determinism."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from bayes_curiosity_ros.errors import InputError
from bayes_curiosity_ros.robot.stepper import PhysicsError, Stepper
from bayes_curiosity_ros.robot.world import build_world

POSES = 1000


def ready_rows(stepper: Stepper, count: int = 1) -> np.ndarray:
    config = stepper.world.config
    spot = [0.7, 0.4, config.world.object.height_m / 2]
    return stepper.initial(np.tile(config.arm.ready_rad, (count, 1)), np.tile(spot, (count, 1)))


def oracle_model() -> mujoco.MjModel:
    """dm_control's Jaco with its hand."""
    kinova = pytest.importorskip("dm_control.entities.manipulators.kinova")
    arm = kinova.JacoArm()
    arm.attach(kinova.JacoHand(use_pinch_site_as_tcp=False))
    return mujoco.MjModel.from_xml_string(
        arm.mjcf_model.to_xml_string(), arm.mjcf_model.get_assets()
    )


def angle_between(first: np.ndarray, second: np.ndarray) -> float:
    """Angle of the rotation from one frame, (9,), to another; exact near zero."""
    relative = first.reshape(3, 3).T @ second.reshape(3, 3)
    axis = relative[[2, 0, 1], [1, 2, 0]] - relative[[1, 2, 0], [2, 0, 1]]
    return float(np.arctan2(np.linalg.norm(axis) / 2, (np.trace(relative) - 1) / 2))


def test_forward_kinematics_agree_with_dm_control(world, rng):
    theirs = oracle_model()
    ours, oracle = mujoco.MjData(world.model), mujoco.MjData(theirs)
    # The oracle numbers fingers 2 and 3 the other way round.
    names = {f"link_{i}": f"b_{i}" for i in range(1, 7)}
    names |= {f"link_finger_{i}": f"jaco_hand/b_finger_{j}" for i, j in ((1, 1), (2, 3), (3, 2))}
    for joints in rng.uniform(-2 * np.pi, 2 * np.pi, (POSES, 6)):
        ours.qpos[world.joint_qpos] = joints
        oracle.qpos[:6] = joints
        mujoco.mj_kinematics(world.model, ours)
        mujoco.mj_kinematics(theirs, oracle)
        for link, body in names.items():
            mine, its = ours.body(link), oracle.body(body)
            assert np.abs(mine.xpos - its.xpos).max() <= 1e-6, link
            if "finger" not in link:
                assert angle_between(mine.xmat, its.xmat) <= 1e-5, link


@pytest.mark.parametrize(
    ("joints", "hand"),
    [
        ([0.0] * 6, [0, 0.06426, 0.36108]),
        ([np.pi] * 6, [0, 0.25946, 0.87694]),
        ([4.8046852, 2.92482, 1.002, 4.2031852, 1.4458, 1.3233], [0.21274, -0.25661, 0.50696]),
        ([-1.56695, 2.6189, 0.4688, -1.6088, 0.0904, 1.741], [0.02782, -0.16925, 0.29807]),
    ],
)
def test_end_effector_at_published_poses(stepper, joints, hand):
    rows = stepper.initial(np.array([joints]), np.array([[0.7, 0.4, 0.07]]))
    np.testing.assert_allclose(stepper.hands(rows)[0], hand, atol=2e-5)


def test_ready_pose_touches_nothing_and_does_not_droop(stepper, robot):
    rows = ready_rows(stepper)
    for _ in range(20):
        rows = stepper.advance(rows, np.zeros((1, 6)), np.zeros(1))
    assert not rows[0, stepper.layout.contacts].any()
    drift = np.abs(stepper.layout.joints(rows)[0] - robot.arm.ready_rad)
    assert drift.max() < 1e-6


def test_tracks_targets_within_the_velocity_limits(stepper, world, rng):
    rows = ready_rows(stepper, 16)
    for _ in range(20):
        deltas = rng.choice([-1.0, 1.0], (16, 6)) * world.max_delta_rad
        rows, seen = stepper.trace(rows, deltas, np.zeros(16), "qvel")
        speeds = np.abs(seen["qvel"][..., world.joint_dof])
        assert (speeds <= world.max_velocity_rad_s).all()
        lag = np.abs(stepper.layout.joints(rows) - rows[:, stepper.layout.target])
        assert lag.max() < 0.012
    for _ in range(3):
        rows = stepper.advance(rows, np.zeros((16, 6)), np.zeros(16))
    assert np.abs(stepper.layout.joints(rows) - rows[:, stepper.layout.target]).max() < 1e-3


def test_commands_beyond_the_limits_are_clipped(stepper, world):
    rows = stepper.advance(ready_rows(stepper), np.full((1, 6), 1e3), np.zeros(1))
    moved = rows[0, stepper.layout.target] - world.config.arm.ready_rad
    np.testing.assert_allclose(moved, world.max_delta_rad)


def test_joint_limits_hold_with_their_margin(stepper, world, robot):
    floor = world.lower_rad[2] + robot.safety.joint_margin_rad
    near = np.array([robot.arm.ready_rad])
    near[0, 2] = floor + 0.01
    rows = stepper.initial(near, np.array([[0.7, 0.4, 0.07]]))
    rows = stepper.advance(rows, np.array([[0, 0, -1.0, 0, 0, 0]]), np.zeros(1))
    assert rows[0, stepper.layout.target][2] == pytest.approx(floor)


def drive(stepper: Stepper, rows: np.ndarray, push: list[float], steps: int) -> set[str]:
    """Which classes of contact a constant push leads to."""
    seen = set()
    for _ in range(steps):
        rows = stepper.advance(rows, np.array([push]), np.zeros(1))
        for kind in ("self", "scene", "object"):
            if stepper.layout.touching(rows, kind)[0]:
                seen.add(kind)
    return seen


def test_contact_with_the_table_is_scene(stepper):
    assert drive(stepper, ready_rows(stepper), [0, 1, 0, 0, 0, 0], 25) == {"scene"}


def test_contact_with_the_arm_is_self(robot):
    folded = [0.0, 3.14, 0.45, 0.0, 3.14, 0.0]
    stepper = Stepper(build_world(robot), threads=1)
    rng = np.random.default_rng(0)
    spot = np.array([[0.7, 0.4, 0.07]])
    found = set()
    for _ in range(40):  # random wrists of a folded arm soon touch its upper arm
        joints = np.array([folded])
        joints[0, 3:] = rng.uniform(-np.pi, np.pi, 3)
        rows = stepper.advance(stepper.initial(joints, spot), np.zeros((1, 6)), np.zeros(1))
        found |= {k for k in ("self", "scene") if stepper.layout.touching(rows, k)[0]}
    assert "self" in found


def test_contact_with_the_cylinder_is_object(stepper, robot):
    hand = stepper.hands(ready_rows(stepper))[0]
    spot = [hand[0], hand[1], robot.world.object.height_m / 2]
    rows = stepper.initial(np.array([robot.arm.ready_rad]), np.array([spot]))
    assert "object" in drive(stepper, rows, [0, 1, 0, 0, 0, 0], 12)


def test_a_marker_cannot_be_touched(marker_robot):
    stepper = Stepper(build_world(marker_robot), threads=1)
    hand = stepper.hands(ready_rows(stepper))[0]
    ready = np.array([marker_robot.arm.ready_rad])
    rows = stepper.initial(ready, np.array([[hand[0], hand[1], 0.07]]))
    after = stepper.advance(rows, np.full((1, 6), 0.02), np.zeros(1))
    np.testing.assert_array_equal(
        stepper.layout.object_position(after), stepper.layout.object_position(rows)
    )
    assert "object" not in drive(stepper, rows, [0, 1, 0, 0, 0, 0], 12)


def test_batch_equals_single_at_any_thread_count(world, rng):
    deltas = rng.uniform(-0.05, 0.05, (10, 8, 6))
    grips = rng.uniform(0, 1, (10, 8))
    results = []
    for threads in (1, 2):
        stepper = Stepper(world, threads=threads)
        rows = ready_rows(stepper, 8)
        for index in range(10):
            rows = stepper.advance(rows, deltas[index], grips[index])
        results.append(rows)
    alone = Stepper(world, threads=1)
    row = ready_rows(alone)
    for index in range(10):
        row = alone.advance(row, deltas[index, 3:4], grips[index, 3:4])
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0][3], row[0])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_commands_that_are_no_numbers_are_refused(stepper, value):
    deltas = np.zeros((1, 6))
    deltas[0, 2] = value
    with pytest.raises(InputError, match=r"joint delta \[0, 2\]"):
        stepper.advance(ready_rows(stepper), deltas, np.zeros(1))
    with pytest.raises(InputError, match="gripper command"):
        stepper.advance(ready_rows(stepper), np.zeros((1, 6)), np.array([value]))


def test_a_cell_that_diverges_is_an_error(stepper):
    rows = ready_rows(stepper, 3)
    rows[1, stepper.layout.qvel] = 1e12
    with pytest.raises(PhysicsError, match=r"mjWARN_BADQ.* in cells \[1\]; lower"):
        stepper.advance(rows, np.zeros((3, 6)), np.zeros(3))
