"""ros2_control with its joint trajectory, forward and gripper controllers, emulated.

The trajectory controller checks what the original checks, forgets the old trajectory when a new
one comes, and goes from where it is along cubic splines. Forward controllers execute the last
thing they heard, for ever. Joint states carry the gripper's joint too, in an order of their own.
"""

from __future__ import annotations

import contextlib
import sys
import time

import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from control_msgs.action import FollowJointTrajectory, GripperCommand, ParallelGripperCommand
from rclpy.action import ActionServer, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from support.drivers.cell import TICK_S, Cell, Operator
from support.drivers.jaco import tick_forever

Knot = tuple[float, np.ndarray, np.ndarray]  # time, positions, velocities
MAX_RAD_S = 1.0  # the drives' own limit, for a forward controller that is told to jump


class Ros2Control:
    """All controllers of a configuration, active at the same time, the newest command wins.

    Args:
        joints: names of the arm's joints.
        controller: name of the trajectory controller.
        gripper: name and joint of the gripper controller, None without.
        parallel: whether it takes ParallelGripperCommand.
    """

    def __init__(
        self,
        node,
        cell: Cell,
        joints: tuple[str, ...],
        controller: str = "joint_trajectory_controller",
        gripper: tuple[str, str] | None = None,
        parallel: bool = True,
    ) -> None:
        self.cell = cell
        self.joints = joints
        self.gripper = gripper
        self.accepted = self.rejected = 0
        self._node = node
        self._knots: list[Knot] = []
        self._position: np.ndarray | None = None
        self._velocity: np.ndarray | None = None
        self._goals = 0
        self._tick_s = time.monotonic() + TICK_S
        group = ReentrantCallbackGroup()
        self._states = node.create_publisher(JointState, "/joint_states", 10)
        for kind, name, take in (
            (JointTrajectory, f"/{controller}/joint_trajectory", self._take_trajectory),
            (Float64MultiArray, "/forward_position_controller/commands", self._take_position),
            (Float64MultiArray, "/forward_velocity_controller/commands", self._take_velocity),
        ):
            node.create_subscription(kind, name, take, 10, callback_group=group)
        self._servers = [
            ActionServer(
                node,
                FollowJointTrajectory,
                f"/{controller}/follow_joint_trajectory",
                self._follow,
                goal_callback=self._judge,
                callback_group=group,
            )
        ]
        if gripper is not None:
            kind = ParallelGripperCommand if parallel else GripperCommand
            name = f"/{gripper[0]}/gripper_cmd"
            self._servers.append(ActionServer(node, kind, name, self._grip, callback_group=group))

    def advance(self, now_s: float) -> None:
        """Do all ticks that are due."""
        with self.cell.lock:
            while self._tick_s <= now_s:
                self.cell.advance((self._desired(self._tick_s) - self.cell.joints) / TICK_S)
                self._publish(now_s - self._tick_s)
                self._tick_s += TICK_S

    def _desired(self, due_s: float) -> np.ndarray:
        """(J,) where the joints shall be at the end of the tick."""
        here = self.cell.joints
        if self._velocity is not None:
            return here + self._velocity * TICK_S
        if self._position is not None:
            return here + np.clip(self._position - here, -MAX_RAD_S * TICK_S, MAX_RAD_S * TICK_S)
        while len(self._knots) > 1 and self._knots[1][0] <= due_s:
            self._knots.pop(0)
        if not self._knots:
            return here
        return self._knots[0][1] if len(self._knots) == 1 else _spline(*self._knots[:2], due_s)

    def _valid(self, trajectory: JointTrajectory) -> bool:
        times = [_seconds(point.time_from_start) for point in trajectory.points]
        count = len(self.joints)
        return (
            sorted(trajectory.joint_names) == sorted(self.joints)
            and bool(times)
            and times == sorted(set(times))
            and all(len(point.positions) == count for point in trajectory.points)
            and not any(trajectory.points[-1].velocities)
        )

    def _take_trajectory(self, trajectory: JointTrajectory) -> None:
        if not self._valid(trajectory):
            self.rejected += 1
            return
        order = [trajectory.joint_names.index(name) for name in self.joints]
        with self.cell.lock:
            now_s = time.monotonic()
            self.advance(now_s)
            self.accepted += 1
            self._position = self._velocity = None
            self._knots = [(now_s, self.cell.joints.copy(), self.cell.velocities.copy())]
            for point in trajectory.points:
                moment = now_s + _seconds(point.time_from_start)
                self._knots.append(
                    (moment, np.array(point.positions)[order], np.array(point.velocities)[order])
                )

    def _take_position(self, message: Float64MultiArray) -> None:
        with self.cell.lock:
            self.advance(time.monotonic())
            self._position, self._velocity, self._knots = np.array(message.data), None, []

    def _take_velocity(self, message: Float64MultiArray) -> None:
        with self.cell.lock:
            self.advance(time.monotonic())
            self._position, self._velocity, self._knots = None, np.array(message.data), []

    def _judge(self, goal) -> GoalResponse:
        valid = self._valid(goal.trajectory)
        self.rejected += not valid
        return GoalResponse.ACCEPT if valid else GoalResponse.REJECT

    def _follow(self, goal):
        self._goals += 1
        number = self._goals
        self._take_trajectory(goal.request.trajectory)
        ends_s = time.monotonic() + _seconds(goal.request.trajectory.points[-1].time_from_start)
        while number == self._goals and time.monotonic() < ends_s:
            time.sleep(TICK_S)
        goal.succeed() if number == self._goals else goal.abort()
        return FollowJointTrajectory.Result()

    def _grip(self, goal):
        command = goal.request.command
        wanted = command.position
        if isinstance(command, JointState):
            wanted = command.position[0]
        with self.cell.lock:
            self.cell.fingers = wanted / CLOSED_RAD
        while abs(self._knuckle() - wanted) > 0.02:
            time.sleep(TICK_S)
        goal.succeed()
        parallel = isinstance(command, JointState)
        kind = ParallelGripperCommand if parallel else GripperCommand
        return kind.Result(reached_goal=True)

    def _knuckle(self) -> float:
        """Angle of the gripper's joint in [rad]."""
        gripper = self.cell.robot.arm.gripper
        if gripper is None or not len(self.cell.finger_rad):
            return self.cell.fingers * CLOSED_RAD
        share = (self.cell.finger_rad.mean() - gripper.open_rad) / gripper.travel_rad
        return float(share) * CLOSED_RAD

    def _publish(self, ago_s: float) -> None:
        stamp = self._node.get_clock().now().nanoseconds - int(ago_s * 1e9)
        names, positions = list(self.joints), self.cell.joints.tolist()
        velocities = self.cell.velocities.tolist()
        if self.gripper is not None:
            names, positions = [self.gripper[1], *names], [self._knuckle(), *positions]
            velocities = [0.0, *velocities]
        message = JointState(name=names[::-1], position=positions[::-1], velocity=velocities[::-1])
        message.header.stamp = Time(sec=stamp // 10**9, nanosec=stamp % 10**9)
        self._states.publish(message)


CLOSED_RAD = 0.34  # what the cell's file calls closed


def _spline(first: Knot, second: Knot, moment: float) -> np.ndarray:
    """Cubic between two knots with positions and velocities."""
    span = second[0] - first[0]
    share = min(max((moment - first[0]) / span, 0.0), 1.0)
    h00, h10 = 2 * share**3 - 3 * share**2 + 1, share**3 - 2 * share**2 + share
    h01, h11 = -2 * share**3 + 3 * share**2, share**3 - share**2
    return h00 * first[1] + h10 * span * first[2] + h01 * second[1] + h11 * span * second[2]


def _seconds(duration) -> float:
    return duration.sec + duration.nanosec * 1e-9


KORTEX = {
    "robot": "gen3_robotiq.yaml",
    "gripper": ("robotiq_gripper_controller", "robotiq_85_left_knuckle_joint"),
}
KINDS = {
    "kortex": KORTEX,
    "kortex_older": KORTEX | {"parallel": False},
    "gen3": {"robot": "gen3.yaml"},
    "ur": {"robot": "ur5e.yaml", "controller": "scaled_joint_trajectory_controller"},
    "jaco": {"robot": "jaco.yaml"},
}


def main(words: list[str]) -> None:
    """Run as a process, with one of KINDS: `python -m support.drivers.ros2_control ur`."""
    rclpy.init()
    node = rclpy.create_node("controller_manager")
    kind = dict(KINDS[words[0]])
    cell = Cell(kind.pop("robot"))
    driver = Ros2Control(node, cell, cell.robot.arm.joints, **kind)
    Operator(node, cell)
    tick_forever(driver)
    executor = MultiThreadedExecutor(num_threads=3)
    executor.add_node(node)
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        executor.spin()
    rclpy.try_shutdown()


if __name__ == "__main__":
    main(sys.argv[1:])
