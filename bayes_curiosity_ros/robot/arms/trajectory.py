"""Any arm whose driver takes JointTrajectory and gives JointState.

A Jaco gen 2 port, ros2_control's joint_trajectory_controller, ros2_kortex: names are settings.
Every command is a trajectory of one step that ends at rest, so an arm whose commands cease
stands still after at most one control step, whatever becomes of this process.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from builtin_interfaces.msg import Duration
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.arms.arm import ARMS, ArmError, ArmInputs, ArmState
from bayes_curiosity_ros.robot.arms.driver_states import DriverStates, require_not_ours
from bayes_curiosity_ros.robot.arms.real import RealArm
from bayes_curiosity_ros.robot.config import RobotConfig

if TYPE_CHECKING:
    from rclpy.node import Node

HALT_S = 0.05
# For how long a repeated stop holds the same place, in [s].
HOLD_S = 1.0


@dataclass(frozen=True)
class TrajectoryConfig:
    """How a driver names things.

    Attributes:
        command_topic: topic that the driver takes trajectory_msgs/JointTrajectory from.
        state_topic: topic that the driver publishes sensor_msgs/JointState on.
        gripper_topic: topic for the gripper, std_msgs/Float64 from 0 open to 1 closed; empty for
            none.
        driver_joints: the driver's names of the joints, from base to hand; empty where they
            are those of the robot file.
        driver_fingers: the driver's names of the finger joints, where its joint states have them.
            Without, the safety filter reckons with every angle that the fingers may have.
        state_timeout_s: joint states older than this stop the arm; two periods of the driver's
            at least.
    """

    command_topic: str = "joint_trajectory_controller/joint_trajectory"
    state_topic: str = "driver/joint_states"
    gripper_topic: str = ""
    driver_joints: tuple[str, ...] = ()
    driver_fingers: tuple[str, ...] = ()
    state_timeout_s: float = 0.15

    def __post_init__(self) -> None:
        if not 0.0 < self.state_timeout_s <= 0.5:
            raise ConfigError(
                f"trajectory.state_timeout_s = {self.state_timeout_s}; must be in (0, 0.5]"
            )


class TrajectoryArm(RealArm):
    """Talks to a driver through `node`, whose callbacks are served by another thread."""

    def __init__(self, robot: RobotConfig, config: TrajectoryConfig, node: Node) -> None:
        super().__init__(robot)
        self.config = config
        self._node = node
        self._names = config.driver_joints or robot.arm.joints
        if len(self._names) != len(robot.arm.joints):
            raise ConfigError(
                f"trajectory.driver_joints has {len(self._names)} names for "
                f"{len(robot.arm.joints)} joints"
            )
        self._raw = self._hold = np.zeros(len(self._names))
        self._held_s = -np.inf
        self._commands = node.create_publisher(JointTrajectory, config.command_topic, 10)
        self._asked = 0.0
        self._measured_gripper: float | None = None
        self._grippers = (
            node.create_publisher(Float64, config.gripper_topic, 10)
            if config.gripper_topic
            else None
        )
        self._states = DriverStates(
            node,
            config.state_topic,
            self._names,
            config.state_timeout_s,
            "trajectory",
            self._take_fingers,
        )
        require_not_ours(node, self._states, self._names == robot.arm.joints)

    @property
    def state_topic(self) -> str:
        return self._states.topic

    def open(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while not self._commands.get_subscription_count():
            if time.monotonic() > deadline:
                raise ArmError(
                    f"nobody listens to {self._commands.topic_name}; is the driver running, and "
                    "is this its topic? (trajectory.command_topic)"
                )
            time.sleep(0.01)
        self._states.forget()
        self._states.wait(time.monotonic(), deadline)

    def close(self) -> None:
        self._states.forget()

    def measure(self, timeout_s: float) -> ArmState:
        state = self._states.fresh()
        self._raw, self._received_s = state.positions, state.received_s
        age_s = time.monotonic() - state.received_s
        return ArmState(
            stamp_s=self._node.get_clock().now().nanoseconds * 1e-9 - age_s,
            joints=state.positions,
            velocities=state.velocities,
            fingers=np.zeros(0),
            gripper=self._asked if self._measured_gripper is None else self._measured_gripper,
            contacts=frozenset(),
        )

    def command(self, target: np.ndarray, measured: np.ndarray, gripper: float) -> None:
        self._held_s = -np.inf
        # The driver counts turns of a continuous joint in its own way: add to what it said.
        self._send(self._raw + (target - measured), self._dt)
        if self._grippers is not None:
            self._grippers.publish(Float64(data=gripper))
            self._asked = gripper

    def gripper_way(self, reported: float, asked: float) -> tuple[float, float]:
        """Unless they are measured: an object may hold fingers open that were told to close,
        and fingers that nobody commands may be anywhere."""
        if self._measured_gripper is not None:
            return reported, asked
        return 0.0, 1.0 if self._grippers is None else max(reported, asked)

    def sample(self) -> tuple[float, np.ndarray]:
        state = self._states.fresh()
        return state.received_s, state.positions

    def halt(self) -> None:
        """Hold where the arm is, if that is known: a trajectory of one step ends by itself, and
        to hold where the arm was a while ago would move it back there. A stop that is repeated
        holds the same place: states come late, and the arm would swing between two places."""
        now_s, newest = time.monotonic(), self._states.newest
        if now_s - self._held_s > HOLD_S and newest is not None:
            if now_s - newest.received_s > self._dt + HALT_S:
                return
            self._hold, self._held_s = newest.positions, now_s
        if now_s - self._held_s <= HOLD_S:
            self._send(self._hold, HALT_S)

    def _send(self, positions: np.ndarray, duration_s: float) -> None:
        point = JointTrajectoryPoint(
            positions=positions.tolist(),
            velocities=[0.0] * len(positions),
            time_from_start=Duration(nanosec=round(duration_s * 1e9)),
        )
        self._commands.publish(JointTrajectory(joint_names=list(self._names), points=[point]))

    def _take_fingers(self, message: JointState) -> None:
        """They may come in messages of their own."""
        gripper, names = self.robot.arm.gripper, self.config.driver_fingers
        angles = dict(zip(message.name, message.position, strict=False))
        if gripper is None or not names or not all(name in angles for name in names):
            return
        angle = float(np.mean([angles[name] for name in names]))
        if np.isfinite(angle):
            share = (angle - gripper.open_rad) / gripper.travel_rad
            self._measured_gripper = float(np.clip(share, 0.0, 1.0))


@ARMS.register(
    "trajectory",
    needs=("command_topic", "state_topic"),
    parameters={
        "command_topic": "trajectory.command_topic",
        "state_topic": "trajectory.state_topic",
    },
)
def _make(inputs: ArmInputs) -> TrajectoryArm:
    config = inputs.declare(TrajectoryConfig(), "trajectory.")
    return TrajectoryArm(inputs.robot, config, inputs.node)
