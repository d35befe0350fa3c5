"""Any arm behind a ROS driver that gives JointState: names and interfaces are settings.

A Jaco gen 2, ros2_control's controllers, ros2_kortex, Universal Robots. Every command is one
step that ends at rest by itself, so an arm whose commands cease stands still at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.arms.arm import ARMS, ArmError, ArmInputs, ArmState
from bayes_curiosity_ros.robot.arms.commands import (
    Commands,
    Step,
    TrajectoryAction,
    TrajectoryTopic,
)
from bayes_curiosity_ros.robot.arms.grippers import make_gripper
from bayes_curiosity_ros.robot.arms.joint_states import JointStates, Measured
from bayes_curiosity_ros.robot.arms.real import RealArm, wrapped
from bayes_curiosity_ros.robot.arms.streaming import ForwardPosition, ForwardVelocity
from bayes_curiosity_ros.robot.arms.trajectory_config import GripperLink, TrajectoryConfig
from bayes_curiosity_ros.robot.config import RobotConfig

if TYPE_CHECKING:
    from rclpy.node import Node

__all__ = ["GripperLink", "TrajectoryArm", "TrajectoryConfig"]

# Share of the fingers' travel by which something holds them open that were told to close.
HELD_SHARE = 0.05
STILL_RAD_S = 0.01
TINY_S = 1e-6
INTERFACES: dict[str, Callable[[Node, TrajectoryConfig, tuple[str, ...]], Commands]] = {
    "trajectory_topic": TrajectoryTopic,
    "trajectory_action": TrajectoryAction,
    "forward_position": ForwardPosition,
    "forward_velocity": ForwardVelocity,
}


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
        self._states = JointStates(self._names, self._turns_freely, config.to_rad_s)
        self._commands = INTERFACES[config.interface](node, config, self._names)
        self._fingers = make_gripper(node, config.gripper)
        self._raw = np.zeros(len(self._names))
        self._began_s = self._ends_s = 0.0
        self._wanted = np.zeros(len(self._names))
        self._asked = 0.0
        self._measured_gripper: float | None = None
        node.create_subscription(
            JointState,
            config.state_topic,
            self._take,
            qos_profile_sensor_data,
            callback_group=ReentrantCallbackGroup(),
        )

    def open(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        self._states.forget()
        while absent := self._absent():
            if time.monotonic() > deadline:
                raise ArmError(
                    f"nobody listens to {absent}; is the driver running, and is this its name? "
                    "(trajectory.command_topic, trajectory.gripper.name)"
                )
            time.sleep(0.01)
        self._wait_for_state(time.monotonic(), deadline)
        if self.config.overlap_s:
            self._require_dense(deadline)

    def close(self) -> None:
        if self._fingers is not None:
            self._fingers.forget()

    def measure(self, timeout_s: float) -> ArmState:
        limit_s = self.config.state_timeout_s
        asked = time.monotonic()
        measured = self._wait_for_state(asked - limit_s, asked + limit_s)
        self._raw = measured.positions
        return ArmState(
            stamp_s=self._node.get_clock().now().nanoseconds * 1e-9 - (asked - measured.at_s),
            joints=measured.positions,
            velocities=measured.velocities,
            fingers=np.zeros(0),
            gripper=self._asked if self._measured_gripper is None else self._measured_gripper,
            contacts=frozenset({"object"}) if self._holds() else frozenset(),
        )

    def command(self, target: np.ndarray, measured: np.ndarray, gripper: float) -> None:
        self._move_fingers(gripper)
        self._interrupt.wait(self._commands.busy_s)
        self._require_free()
        # The driver counts turns of a continuous joint in its own way: add to what it said.
        start = self._raw + self._since_measured()
        goal = self._raw + (target - measured)
        self._wanted = goal - start
        self._began_s = time.monotonic()
        self._ends_s = self._began_s + self._dt
        self._commands.step(Step(start, goal, self._velocity(start, goal), self._dt))

    def finish(self) -> None:
        """Wait until the step is over and a state shows what came of it."""
        rest_s = self._ends_s + 2 * self.config.tick_s
        if self._interrupt.wait(max(rest_s - time.monotonic(), 0.0)):
            return
        reached = self._wait_for_state(rest_s, rest_s + self.config.state_timeout_s)
        if not self.config.overlap_s:
            self._ends_s = self._settled(reached, rest_s + self.config.settle_s).at_s
        fault = self._commands.fault() or (self._fingers.fault() if self._fingers else "")
        if fault:
            raise ArmError(fault)

    def _settled(self, reached: Measured, deadline_s: float) -> Measured:
        """The state at the step's end; a command may come late to its driver, but not for ever."""
        while not (self._arrived(reached) or self._interrupt.is_set()):
            later = self._states.wait(reached.at_s + TINY_S, deadline_s)
            if later is None:
                break
            reached = later
        return reached

    def _arrived(self, reached: Measured) -> bool:
        """Whether the arm rests, and more than half of the way is done."""
        way = np.abs(wrapped(reached.positions - self._raw))
        first = int(np.argmax(np.abs(self._wanted)))
        still = np.abs(reached.velocities).max() < STILL_RAD_S
        return bool(still and way[first] >= np.abs(self._wanted[first]) / 2)

    def covered(self, before: ArmState, after: ArmState) -> np.ndarray:
        return self._states.moved(self._began_s, self._ends_s, dense_s=self._dt / 2)

    def gripper_way(self, reported: float, asked: float) -> tuple[float, float]:
        """Unless they are measured: an object may hold fingers open that were told to close,
        and fingers that nobody commands may be anywhere."""
        if self._measured_gripper is not None:
            return reported, asked
        return 0.0, 1.0 if self._fingers is None else max(reported, asked)

    def halt(self) -> None:
        newest = self._states.newest
        self._commands.hold(self._raw if newest is None else newest.positions)

    def _absent(self) -> str:
        return self._commands.absent() or (self._fingers.absent() if self._fingers else "")

    def _move_fingers(self, share: float) -> None:
        if self._fingers is None:
            return
        self._asked = share
        if self._fingers.move(share) and self._fingers.takes_turns:
            self._fingers.wait(self._interrupt)

    def _holds(self) -> bool:
        """Whether something is between fingers that were told to close and can get no further."""
        if self._fingers is None or self._measured_gripper is None:
            return False
        return self._fingers.resting and self._asked - self._measured_gripper > HELD_SHARE

    def _since_measured(self) -> np.ndarray:
        """(J,) by how much joints that are still in motion went on since they were measured."""
        newest = self._states.newest
        if newest is None or not self.config.overlap_s:
            return np.zeros(len(self._names))
        return newest.velocities * (time.monotonic() - newest.at_s)

    def _velocity(self, start: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """(J,) what a driver that is told velocities needs, or with which a step ends."""
        if self.config.velocities or self._commanded is None:
            speed = self.filter.speed_rad_s
            return np.clip((goal - start) / self._dt, -speed, speed)
        return self._commanded.velocity

    def _require_dense(self, deadline_s: float) -> None:
        """What an arm in motion did can be measured only if its states are close together."""
        period_s = self._states.period_s(deadline_s)
        if period_s is None or period_s > self._dt / 2:
            often = "hardly ever" if period_s is None else f"every {period_s:.3f} s"
            raise ArmError(
                f"joint states on {self.config.state_topic} come {often}, too rare "
                f"for steps of {self._dt} s that pass into each other; make the driver report "
                "faster, or set trajectory.overlap_s to 0"
            )

    def _wait_for_state(self, since_s: float, deadline_s: float) -> Measured:
        """A state measured at `since_s` or later."""
        measured = self._states.wait(since_s, deadline_s)
        if measured is None:
            raise ArmError(
                f"no joint states on {self.config.state_topic} with "
                f"{', '.join(self._names)}; is the driver running? "
                "(trajectory.state_topic, trajectory.driver_joints)"
            )
        return measured

    def _take(self, message: JointState) -> None:
        self._take_fingers(message)
        self._states.take(message)

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
