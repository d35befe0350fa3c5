"""The metal behind an emulated driver, advanced in short ticks."""

from __future__ import annotations

import math
import threading
from dataclasses import replace

import numpy as np
from geometry_msgs.msg import PoseStamped

from bayes_curiosity_interfaces.msg import EpisodeSummary
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.kinematic import make_stepper
from bayes_curiosity_ros.robot.world import build_world

TICK_S = 0.01
# A drive that follows within a few milliseconds, as those of real arms do.
SERVO_RAD_S = 200.0
FINGER_RAD = 0.01  # in a tick
SPOTS_M = ((0.36, 0.48), (-0.12, 0.12))


class Cell:
    """An arm whose joints go as fast as they are told, fingers, and a cylinder that stays put.

    Attributes:
        robot: the arm and its table.
        lock: held by whoever moves or reads it.
        joints, velocities: (J,) in [rad] and [rad/s].
        fingers: goal of the fingers, 0 open … 1 closed.
        finger_rad: angles of the driven fingers in [rad]; empty without.
    """

    def __init__(self, robot: str = "jaco.yaml", seed: int = 0) -> None:
        self.robot = RobotConfig.load(robot)
        self.lock = threading.RLock()
        self.joints = np.array(self.robot.arm.ready_rad)
        self.velocities = np.zeros(len(self.joints))
        gripper = self.robot.arm.gripper
        count = 0 if gripper is None else len(gripper.fingers)
        self.fingers = 0.0
        self.finger_rad = np.full(count, 0.0 if gripper is None else gripper.open_rad)
        self._rng = np.random.default_rng(seed)
        self._height = self.robot.world.object.height_m
        self._spot = self._anywhere()

    def advance(self, velocities: np.ndarray) -> None:
        """Move for one tick with (J,) velocities in [rad/s]."""
        self.joints = self.joints + velocities * TICK_S
        self.velocities = velocities
        gripper = self.robot.arm.gripper
        if gripper is not None:
            way = gripper.open_rad + gripper.travel_rad * self.fingers - self.finger_rad
            self.finger_rad = self.finger_rad + np.clip(way, -FINGER_RAD, FINGER_RAD)

    def object_pose(self) -> tuple[np.ndarray, np.ndarray]:
        """Where a detector would see the cylinder: (3,) in [m], and (4,) w, x, y, z."""
        return self._spot, np.array([1.0, 0.0, 0.0, 0.0])

    def place_object(self) -> None:
        """Put the cylinder back on the table, somewhere else."""
        with self.lock:
            self._spot = self._anywhere()

    def _anywhere(self) -> np.ndarray:
        (x0, x1), (y0, y1) = SPOTS_M
        return np.array([self._rng.uniform(x0, x1), self._rng.uniform(y0, y1), self._height / 2])


class PhysicalCell(Cell):
    """The same with our simulation's forces, so that fingers can hold and lift the cylinder."""

    def __init__(self, robot: str = "jaco.yaml", seed: int = 0) -> None:
        super().__init__(robot, seed)
        world = replace(self.robot.world, control_step_s=TICK_S, physics_step_s=TICK_S / 4)
        arm = replace(self.robot.arm, servo_rad_s=SERVO_RAD_S, speed_fraction=0.9)
        self._stepper = make_stepper(
            [build_world(replace(self.robot, world=world, arm=arm))], threads=1
        )
        self._rows = self._stepper.initial(self.joints[None], self._spot[None])

    def advance(self, velocities: np.ndarray) -> None:
        grip = np.array([self.fingers])
        self._rows = self._stepper.advance(self._rows, velocities[None] * TICK_S, grip)
        layout, world = self._stepper.layout, self._stepper.world
        self.joints = layout.joints(self._rows)[0].copy()
        self.velocities = self._rows[0, layout.qvel][world.joint_dof].copy()
        where = world.gripper_qpos[: len(self.finger_rad)]
        self.finger_rad = self._rows[0, layout.qpos][where].copy()

    def object_pose(self) -> tuple[np.ndarray, np.ndarray]:
        layout = self._stepper.layout
        spot = layout.object_position(self._rows)[0].copy()
        return spot, self._rows[0, layout.object_axis_columns].copy()

    def place_object(self) -> None:
        with self.lock:
            super().place_object()
            layout, still = self._stepper.layout, self._rows[:, self._stepper.layout.qvel]
            self._rows[:, layout.object_columns] = self._spot
            self._rows[:, layout.object_axis_columns] = [1.0, 0.0, 0.0, 0.0]
            still[:, -6:] = 0.0


class Operator:
    """Puts the cylinder back after every episode, and sees where it is, as a detector does."""

    PERIOD_S = 0.1

    def __init__(self, node, cell: Cell) -> None:
        self._cell = cell
        self._poses = node.create_publisher(PoseStamped, "/object_pose", 10)
        node.create_subscription(
            EpisodeSummary, "/episode", lambda message: cell.place_object(), EPISODE_QOS
        )
        node.create_timer(self.PERIOD_S, self._look)
        self._node = node

    def _look(self) -> None:
        with self._cell.lock:
            place, turned = self._cell.object_pose()
        message = PoseStamped()
        message.header.frame_id = "world"
        message.header.stamp = self._node.get_clock().now().to_msg()
        spot, turn = message.pose.position, message.pose.orientation
        spot.x, spot.y, spot.z = place.tolist()
        turn.w, turn.x, turn.y, turn.z = turned.tolist()
        self._poses.publish(message)


def degrees(radians: np.ndarray) -> np.ndarray:
    return radians * 180.0 / math.pi
