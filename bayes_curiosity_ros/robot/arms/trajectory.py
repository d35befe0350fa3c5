"""Any arm behind a ROS driver that gives JointState: names and interfaces are settings.

A Jaco gen 2, ros2_control's controllers, ros2_kortex, Universal Robots. Every command is one
step that ends at rest by itself, so an arm whose commands cease stands still at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from sensor_msgs.msg import JointState

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.arms.arm import ARMS, ArmError, ArmInputs, ArmState
from bayes_curiosity_ros.robot.arms.between_states import moved, period_s
from bayes_curiosity_ros.robot.arms.commands import (
    HALT_S,
    Commands,
    Step,
    TrajectoryAction,
    TrajectoryTopic,
)
from bayes_curiosity_ros.robot.arms.driver_states import (
    DriverState,
    DriverStates,
    require_not_ours,
)
from bayes_curiosity_ros.robot.arms.grippers import make_gripper
from bayes_curiosity_ros.robot.arms.real import RealArm
from bayes_curiosity_ros.robot.arms.standstill import Sample, wrapped
from bayes_curiosity_ros.robot.arms.streaming import ForwardPosition, ForwardVelocity
from bayes_curiosity_ros.robot.arms.trajectory_config import GripperLink, TrajectoryConfig
from bayes_curiosity_ros.robot.config import RobotConfig

if TYPE_CHECKING:
    from rclpy.node import Node

__all__ = ["GripperLink", "TrajectoryArm", "TrajectoryConfig"]

# Share of the fingers' travel by which something holds them open that were told to close.
HELD_SHARE = 0.05
STILL_RAD_S = 0.01
DONE_SHARE = 0.95
TINY_S = 1e-6
# For how long a repeated stop holds the same place, in [s].
HOLD_S = 1.0
REACH_S = 20.0  # for a driver that was there before, and a guard that starts
COUNTED = 20  # states, to know how often they come; the first ones may come in a burst
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
        self._commands = INTERFACES[config.interface](node, config, self._names)
        self._fingers = make_gripper(node, config.gripper)
        self._raw = np.zeros(len(self._names))
        self._began_s = self._ends_s = 0.0
        self._hold: np.ndarray | None = None
        self._held_s = -np.inf
        self._wanted = np.zeros(len(self._names))
        self._asked = 0.0
        self._measured_gripper: float | None = None
        self._known = {*self._names, *config.driver_fingers, *config.other_joints}
        self._unknown: set[str] = set()
        self._states = DriverStates(
            node,
            config.state_topic,
            self._names,
            config.state_timeout_s,
            "trajectory",
            self._take_fingers,
            config.to_rad_s,
        )
        require_not_ours(node, self._states, self._names == robot.arm.joints)

    @property
    def state_topic(self) -> str:
        return self._states.topic

    def open(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        self._reach(deadline)
        self._states.forget()
        self._states.wait(time.monotonic(), deadline)
        self._require_known_hand()
        if self.config.overlap_s:
            self._require_dense(deadline)

    def clear_faults(self) -> None:
        """Reach the driver anew, with another guard where one died."""
        self._reach(time.monotonic() + REACH_S)

    def close(self) -> None:
        self._commands.close()
        self._states.forget()
        if self._fingers is not None:
            self._fingers.forget()

    def measure(self, timeout_s: float) -> ArmState:
        state = self._states.fresh()
        self._raw, self._received_s = state.positions, state.received_s
        age_s = time.monotonic() - state.measured_s
        return ArmState(
            stamp_s=self._node.get_clock().now().nanoseconds * 1e-9 - age_s,
            joints=state.positions,
            velocities=state.velocities,
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
        now_s, self._held_s = time.monotonic(), -np.inf
        self._began_s = self._step_begins_s(now_s)
        self._ends_s = now_s + self._dt
        self._commands.step(Step(start, goal, self._velocity(start, goal), self._dt))

    def finish(self) -> None:
        """Wait until the step is over and a state shows what came of it."""
        rest_s = self._ends_s + 2 * self.config.tick_s
        if self._interrupt.wait(max(rest_s - time.monotonic(), 0.0)):
            return
        reached = self._states.wait(rest_s, rest_s + self.config.state_timeout_s)
        if not self.config.overlap_s:
            self._ends_s = self._settled(reached, rest_s + self.config.settle_s).measured_s
        fault = self._commands.fault() or (self._fingers.fault() if self._fingers else "")
        if fault:
            raise ArmError(fault)

    def _settled(self, reached: DriverState, deadline_s: float) -> DriverState:
        """The state at the step's end; a command may come late to its driver, but not for ever."""
        while not (self._arrived(reached) or self._interrupt.is_set()):
            later = self._states.later(reached.measured_s + TINY_S, deadline_s)
            if later is None:
                break
            reached = later
        return reached

    def _arrived(self, reached: DriverState) -> bool:
        """Whether the arm rests, and nearly all of the way is done."""
        way = np.abs(wrapped(reached.positions - self._raw))
        first = int(np.argmax(np.abs(self._wanted)))
        still = np.abs(reached.velocities).max() < STILL_RAD_S
        return bool(still and way[first] >= DONE_SHARE * np.abs(self._wanted[first]))

    def covered(self, before: ArmState, after: ArmState) -> np.ndarray:
        return moved(self._states.recent(), self._began_s, self._ends_s, self._dt / 2)

    def gripper_way(self, reported: float, asked: float) -> tuple[float, float]:
        """Unless they are measured: an object may hold fingers open that were told to close,
        and fingers that nobody commands may be anywhere."""
        if self._measured_gripper is not None:
            return reported, asked
        return 0.0, 1.0 if self._fingers is None else max(reported, asked)

    def sample(self) -> Sample:
        state = self._states.fresh()
        return Sample(state.measured_s, state.received_s, state.positions)

    def halt(self) -> None:
        """Hold where the arm is, if that is known: a step ends by itself, and to hold where the
        arm was a while ago would move it back there."""
        now_s, newest = time.monotonic(), self._states.newest
        if now_s - self._held_s > HOLD_S:
            known = newest is not None and now_s - newest.received_s < self._dt + HALT_S
            self._hold = newest.positions if known and newest is not None else None
            self._held_s = now_s
        self._commands.hold(self._hold)

    def _reach(self, deadline_s: float) -> None:
        self._commands.open()
        while absent := self._absent():
            if time.monotonic() > deadline_s:
                raise ArmError(
                    f"nobody listens to {absent}; is the driver running, and is this its name? "
                    "(trajectory.command_topic, trajectory.gripper.name)"
                )
            time.sleep(0.01)

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

    def _step_begins_s(self, now_s: float) -> float:
        """Where the step before ended, if the arm still goes on from it: no motion is lost."""
        under_way = now_s - self._ends_s < self.config.overlap_s
        return self._ends_s if under_way else now_s

    def _since_measured(self) -> np.ndarray:
        """(J,) by how much joints that are still in motion went on since they were measured."""
        newest = self._states.newest
        if newest is None or not self.config.overlap_s:
            return np.zeros(len(self._names))
        return newest.velocities * (time.monotonic() - newest.measured_s)

    def _velocity(self, start: np.ndarray, goal: np.ndarray) -> np.ndarray:
        """(J,) what a driver that is told velocities needs, or with which a step ends."""
        if self.config.velocities or self._commanded is None:
            speed = self.filter.speed_rad_s
            return np.clip((goal - start) / self._dt, -speed, speed)
        return self._commanded.velocity

    def _require_known_hand(self) -> None:
        """A hand that the robot file does not have would be driven into the table."""
        if self.robot.arm.gripper is None and self._unknown:
            names = ", ".join(sorted(self._unknown))
            raise ArmError(
                f"joint states on {self.state_topic} also tell of {names}, but the robot file has "
                "no gripper: choose a file that has one (gen3_robotiq.yaml), or name joints that "
                "are not on this arm in trajectory.other_joints"
            )

    def _require_dense(self, deadline_s: float) -> None:
        """What an arm in motion did can be measured only if its states are close together."""
        while len(states := self._states.recent()) < COUNTED and time.monotonic() < deadline_s:
            time.sleep(0.01)
        usual_s = period_s(states[-COUNTED // 2 :])
        if usual_s > self._dt / 2:
            raise ArmError(
                f"joint states on {self.state_topic} come every {usual_s:.3f} s, too "
                f"rarely for steps of {self._dt} s that pass into each other; make the driver "
                "report faster, or set trajectory.overlap_s to 0"
            )

    def _take_fingers(self, message: JointState) -> None:
        """They may come in messages of their own."""
        self._unknown |= {*message.name} - self._known
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
