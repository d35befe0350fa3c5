"""Forward and inverse kinematics of the arm, with limits and collision avoidance, on mink."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations

import mink
import mujoco
import numpy as np

from bayes_curiosity_ros.configuration.settings import require_nonnegative, require_positive
from bayes_curiosity_ros.errors import BayesCuriosityError, ConfigError, InputError
from bayes_curiosity_ros.robot.composition import TOUCHED_GROUP
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.world import World, build_world, link_of


class UnreachableError(BayesCuriosityError):
    """No joint angles within the limits bring the end effector to the target."""


@dataclass(frozen=True)
class Pose:
    """A frame in the world.

    Attributes:
        position: (3,) in [m].
        rotation: (3, 3), columns are the frame's axes.
    """

    position: np.ndarray
    rotation: np.ndarray

    @staticmethod
    def pointing(position: np.ndarray, approach: np.ndarray) -> Pose:
        """A frame whose z axis points along `approach`, turned about it in any way."""
        z = np.asarray(approach, dtype=float) / np.linalg.norm(approach)
        x = np.cross([0.0, 1.0, 0.0], z)
        if np.linalg.norm(x) < 1e-6:
            x = np.array([1.0, 0.0, 0.0])
        x /= np.linalg.norm(x)
        return Pose(np.asarray(position, float), np.stack([x, np.cross(z, x), z], axis=1))

    @staticmethod
    def of(position: np.ndarray, quaternion: np.ndarray) -> Pose:
        """A frame turned by a unit quaternion w, x, y, z.

        Raises:
            InputError: it is none.
        """
        length = float(np.linalg.norm(quaternion))
        if not abs(length - 1.0) < UNIT:
            raise InputError(
                f"quaternion w, x, y, z = {np.asarray(quaternion).tolist()} has length "
                f"{length:.3f}; it must be 1"
            )
        return Pose(np.asarray(position, float), mink.SO3(quaternion / length).as_matrix())

    def turn_to(self, other: Pose) -> np.ndarray:
        """(3,) axis times angle in [rad] that turns this frame as the other is, in the world."""
        return mink.SO3.from_matrix(other.rotation @ self.rotation.T).log()

    def equals(self, other: Pose) -> bool:
        """Whether both are the very same."""
        same = np.array_equal(self.position, other.position)
        return same and np.array_equal(self.rotation, other.rotation)


DOWN = np.array([0.0, 0.0, -1.0])
# Quaternions may be so much longer or shorter than 1.
UNIT = 0.01


def turned(rotation: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """A rotation matrix turned about an axis of the world: axis times angle in [rad], (3,)."""
    return mink.SO3.exp(turn).as_matrix() @ rotation


@dataclass(frozen=True)
class KinematicsConfig:
    """How inverse kinematics trades its wishes.

    Attributes:
        orientation_m: weight of a radian of misalignment, as metres of misplacement.
        turn_free: leave the rotation about the approach axis to the solver.
        clearance_m: distance kept between links, and to the table.
        detection_m: distance at which a pair of links enters the problem.
        approach: share of the distance to the clearance that one step may use up; the closest
            points can jump within a step, so not all of it.
        collisions: whether to avoid collisions at all.
    """

    orientation_m: float = 0.15
    turn_free: bool = True
    clearance_m: float = 0.02
    detection_m: float = 0.10
    approach: float = 0.4
    damping: float = 1e-3
    collisions: bool = True

    def __post_init__(self) -> None:
        require_nonnegative(self, "orientation_m", "damping")
        require_positive(self, "clearance_m", "detection_m", "approach")
        if self.detection_m <= self.clearance_m:
            raise ConfigError(
                f"detection_m = {self.detection_m} must exceed clearance_m = {self.clearance_m}"
            )


class Kinematics:
    """Where the hand is, and how to bring it elsewhere."""

    def __init__(self, robot: RobotConfig, config: KinematicsConfig | None = None) -> None:
        self.config = config or KinematicsConfig()
        # A marker instead of a free object: the only joints left are the robot's.
        marker = replace(robot.world.object, tangible=False)
        self.world = build_world(replace(robot, world=replace(robot.world, object=marker)))
        self._configuration = mink.Configuration(self.world.model)
        turn = 0.0 if self.config.turn_free else self.config.orientation_m
        tilt = self.config.orientation_m
        self._task = mink.FrameTask(
            robot.arm.end_effector, "body", position_cost=1.0, orientation_cost=[tilt, tilt, turn]
        )
        self._limits = _limits(self.world, robot, self.config)
        self._qpos = np.array(self.world.model.qpos0)

    def forward(self, joints: np.ndarray) -> Pose:
        """Pose of the end effector at these joint angles, (J,) in [rad]."""
        data = self._at(joints)
        body = self.world.end_effector_body
        return Pose(data.xpos[body].copy(), data.xmat[body].reshape(3, 3).copy())

    def link_positions(self, joints: np.ndarray) -> dict[str, np.ndarray]:
        """Origin in [m] of every link that is not welded to another."""
        data, model = self._at(joints), self.world.model
        names = (model.body(body).name for body in range(1, model.nbody))
        links = self.world.description.links
        return {name: data.body(name).xpos.copy() for name in names if name in links}

    def step(self, joints: np.ndarray, target: Pose, duration_s: float) -> np.ndarray:
        """Joint changes, (J,) in [rad], that bring the hand closer within one `duration_s`.

        They respect velocity and joint limits, and keep the links apart.
        """
        self._at(joints)
        self._task.set_target(_se3(target))
        velocity = self._solve(duration_s)
        return velocity[self.world.joint_dof] * duration_s

    def inverse(
        self,
        target: Pose,
        start: np.ndarray,
        tolerance_m: float = 1e-3,
        tolerance_rad: float = 1e-2,
        max_iterations: int = 300,
    ) -> np.ndarray:
        """Joint angles that bring the hand to the target, (J,) in [rad].

        Raises:
            UnreachableError: not found; the message says how close it came.
        """
        joints = np.array(start, dtype=float)
        duration_s = self.world.config.world.control_step_s
        for _ in range(max_iterations):
            position_m, angle_rad = self.error(joints, target)
            if position_m <= tolerance_m and angle_rad <= tolerance_rad:
                return joints
            joints = joints + self.step(joints, target, duration_s)
        raise UnreachableError(
            f"target {np.round(target.position, 3).tolist()} m is out of reach from joint angles "
            f"{np.round(start, 3).tolist()}: got within {position_m:.3f} m, {angle_rad:.3f} rad "
            f"(allowed {tolerance_m} m, {tolerance_rad} rad); try another start or target"
        )

    def error(self, joints: np.ndarray, target: Pose) -> tuple[float, float]:
        """Distance in [m] and angle in [rad] to the target; the free turn does not count."""
        pose = self.forward(joints)
        distance = float(np.linalg.norm(pose.position - target.position))
        if self.config.orientation_m == 0:
            return distance, 0.0
        if self.config.turn_free:
            cosine = float(pose.rotation[:, 2] @ target.rotation[:, 2])
        else:
            cosine = (np.trace(pose.rotation.T @ target.rotation) - 1.0) / 2.0
        return distance, float(np.arccos(np.clip(cosine, -1.0, 1.0)))

    def _at(self, joints: np.ndarray) -> mujoco.MjData:
        joints = np.asarray(joints, dtype=float)
        if joints.shape != self.world.joint_qpos.shape or not np.isfinite(joints).all():
            raise InputError(
                f"joint angles {joints.tolist()}; expected {len(self.world.joints)} finite values"
            )
        self._qpos[self.world.joint_qpos] = joints
        self._configuration.update(self._qpos)
        return self._configuration.data

    def _solve(self, duration_s: float) -> np.ndarray:
        arguments = (self._configuration, [self._task], duration_s, "daqp", self.config.damping)
        # Already closer than the clearance, only the joints' limits can be met; further beyond
        # those than a step leads back, only their speeds.
        for limits in (self._limits, self._limits[:2]):
            with suppress(mink.NoSolutionFound):
                return mink.solve_ik(*arguments, limits=limits)
        return mink.solve_ik(*arguments, limits=self._limits[1:2])


def _se3(pose: Pose) -> mink.SE3:
    rotation = mink.SO3.from_matrix(pose.rotation)
    return mink.SE3.from_rotation_and_translation(rotation, pose.position)


def _limits(world: World, robot: RobotConfig, config: KinematicsConfig) -> list[mink.Limit]:
    speeds = robot.arm.speed_fraction * world.max_velocity_rad_s
    limits = [
        mink.ConfigurationLimit(
            world.model, min_distance_from_limits=robot.safety.joint_margin_rad
        ),
        mink.VelocityLimit(
            world.model,
            {joint.name: speed for joint, speed in zip(world.joints, speeds, strict=True)},
        ),
    ]
    if config.collisions:
        limits.append(
            mink.CollisionAvoidanceLimit(
                world.model,
                [([a], [b]) for a, b in collision_pairs(world)],
                gain=config.approach,
                minimum_distance_from_collisions=config.clearance_m,
                collision_detection_distance=config.detection_m,
            )
        )
    return limits


def collision_pairs(world: World) -> list[tuple[int, int]]:
    """Pairs of geoms, by id, whose contact would be a collision."""
    model = world.model
    geoms = [i for i in range(model.ngeom) if model.geom_group[i] == TOUCHED_GROUP]
    touching = {frozenset(pair) for pair in world.description.touching}
    pairs = []
    for a, b in combinations(geoms, 2):
        links = [link_of(model, geom) for geom in (a, b)]
        able = model.geom_contype[a] & model.geom_conaffinity[b]
        if able and links[0] != links[1] and frozenset(links) not in touching:
            pairs.append((a, b))
    return pairs
