"""Curiosity in space: what a hand would earn at points all over the arm's workspace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bayes_curiosity_ros.curiosity.data import Observations, rgbd_images
from bayes_curiosity_ros.errors import ConfigError, InputError
from bayes_curiosity_ros.robot.batch_kinematics import BatchKinematics
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.world import World
from bayes_curiosity_ros.tasks.arm.names import named_arm_task
from bayes_curiosity_ros.tasks.arm.task import ArmTask

COUNT = 2000
MOST = 20_000
# Steps of the points' coordinates that fill a cube evenly, however many points there are: powers
# of the root of x⁴ = x + 1.
STEPS = 1.2207440846057596 ** -np.arange(1.0, 4.0)
SAMPLES = 2000  # random poses that say where the hand gets to at all
ATTEMPTS = 8  # places at most that are tried for each point wanted
OTHER_STARTS = 1  # random poses to start from, where the ready pose leads nowhere
# Points priced at once. A curiosity node answers nobody else meanwhile: 2 ms (measured).
TOGETHER = 512
IMAGES_TOGETHER = 16

Price = Callable[[Observations], np.ndarray]


@dataclass(frozen=True)
class CuriosityMap:
    """Points that the hand can be at, and the joint angles that bring it there.

    Attributes:
        task: what is observed there is this task's.
        points: (N, 3) in [m], in the frame that the arm stands in.
        joints: (N, J) angles in [rad].
    """

    task: ArmTask
    points: np.ndarray
    joints: np.ndarray

    @staticmethod
    def over(task: str, robot: RobotConfig, count: int = COUNT) -> CuriosityMap:
        """Points spread evenly over the workspace; the same ones whenever asked for.

        The joint angles of a point are the nearest to the pose that the task's episodes start
        from. Points where the arm would touch itself or the table are left out.

        Args:
            task: name of an arm's task.
            robot: the arm and its table.
            count: number of points wanted; somewhat fewer where the workspace is small.

        Raises:
            ConfigError: no such task, or none for an arm; `count` is out of its bounds; or the
                hand gets to no point at all.
        """
        if not 1 <= count <= MOST:
            raise ConfigError(f"{count} points for a map; choose 1 to {MOST}")
        return _named(task, robot, count)

    @staticmethod
    def of(task: ArmTask, count: int = COUNT) -> CuriosityMap:
        """The same for a task that is there already, with whatever options it was made."""
        kinematics = BatchKinematics(task.stepper.world, threads=1)
        places = _places(task.stepper.world, kinematics, ATTEMPTS * count)
        found: list[tuple[np.ndarray, np.ndarray]] = []
        while len(places) and (missing := count - sum(len(points) for points, _ in found)) > 0:
            found.append(_reached(task, kinematics, places[:missing]))
            places = places[missing:]
        points, joints = (np.concatenate(each) for each in zip(*found, strict=True))
        if not len(points):
            raise ConfigError(
                f"{task.name}: the hand of {task.robot.arm.urdf} gets to none of {count} points "
                "within safety.workspace_lower_m and workspace_upper_m; widen them"
            )
        return CuriosityMap(task, points, joints)

    def __len__(self) -> int:
        return len(self.points)

    def observations(
        self, object_position: np.ndarray, which: slice = slice(None)
    ) -> Observations:
        """What the task would observe with the hand at the points.

        Args:
            object_position: (3,) centre of the object in [m].
            which: which of the points; a visual task draws an image of each, about 1 ms.

        Raises:
            InputError: the position is not three finite numbers.
        """
        spot = np.asarray(object_position, dtype=float)
        if spot.shape != (3,) or not np.isfinite(spot).all():
            raise InputError(f"object position {spot.tolist()}; expected three finite numbers")
        joints = self.joints[which]
        rows = self.task.stepper.initial(joints, np.tile(spot, (len(joints), 1)))
        if not self.task.visual:
            return Observations(self.task.observe(rows))
        return Observations(self.task.observe(rows), rgbd_images(*self.task.camera.frames(rows)))

    def values(self, price: Price, object_position: np.ndarray) -> np.ndarray:
        """What a hand would earn at the points: (N,).

        Args:
            price: bonus of each of some observations.
            object_position: (3,) centre of the object in [m].
        """
        parts = range(0, len(self), self.together)
        seen = (self.observations(object_position, slice(i, i + self.together)) for i in parts)
        return np.concatenate([price(some) for some in seen])

    @property
    def together(self) -> int:
        """Number of points to be priced at once."""
        return IMAGES_TOGETHER if self.task.visual else TOGETHER

    @property
    def usual_object(self) -> np.ndarray:
        """(3,) where the object stands in the middle of all placements, in [m]."""
        height_m = self.task.robot.world.object.height_m
        return np.array([*self.task.placement.square_center_m, height_m / 2])


@lru_cache(maxsize=4)
def _named(name: str, robot: RobotConfig, count: int) -> CuriosityMap:
    return CuriosityMap.of(named_arm_task(name, robot, threads=1), count)


def _places(world: World, kinematics: BatchKinematics, count: int) -> np.ndarray:
    """Up to `count` places, (N, 3) in [m], spread evenly over what the hand may get to."""
    hands, _ = kinematics.forward(_random_poses(world, SAMPLES))
    safety, shoulder = world.config.safety, kinematics.shoulder
    floor = np.array([*safety.workspace_lower_m[:2], safety.table_height_m])
    lower = np.maximum(hands.min(axis=0), floor)
    upper = np.minimum(hands.max(axis=0), safety.workspace_upper_m)
    places = lower + (upper - lower) * ((0.5 + np.arange(1, count + 1)[:, None] * STEPS) % 1.0)
    reach_m = np.linalg.norm(hands - shoulder, axis=1).max()
    return places[np.linalg.norm(places - shoulder, axis=1) <= reach_m]


def _random_poses(world: World, count: int) -> np.ndarray:
    """(count, J) joint angles in [rad], always the same, half a turn around the ready pose."""
    ready = np.array(world.config.arm.ready_rad)
    lower = np.maximum(world.lower_rad, ready - np.pi)
    upper = np.minimum(world.upper_rad, ready + np.pi)
    return np.random.default_rng(0).uniform(lower, upper, (count, len(ready)))


def _reached(
    task: ArmTask, kinematics: BatchKinematics, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Those of the places, (N, 3) in [m], that the hand gets to, and the joint angles there."""
    joints = np.full((len(places), len(task.robot.arm.joints)), np.nan)
    starts = [np.array(task.robot.arm.ready_rad), *_random_poses(task.stepper.world, OTHER_STARTS)]
    for start in starts:
        left = np.flatnonzero(np.isnan(joints[:, 0]))
        posed = kinematics.inverse(places[left], start)
        fine = posed.arrived & _clear(task, posed.joints)
        joints[left[fine]] = posed.joints[fine]
    reached = np.isfinite(joints[:, 0])
    return places[reached], joints[reached]


def _clear(task: ArmTask, joints: np.ndarray) -> np.ndarray:
    """Whether the arm touches neither itself nor the table: (N,) bool."""
    spots = np.tile([*task.placement.square_center_m, 0.0], (len(joints), 1))
    rows = task.stepper.initial(joints, spots)
    rows[:, task.layout.contacts] = task.stepper.contacts(rows)
    return ~task.collided(rows)
