"""The driver of a Jaco gen 2 (kinova-ros and its ROS 2 ports), emulated.

As the original, it executes the velocities of a trajectory's points and nothing else, in ticks of
10 ms; it does not begin anew with a new trajectory, but goes on at the point that it was at; and
it forgets a trajectory that comes in the tick after another one's end.
"""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from control_msgs.action import FollowJointTrajectory
from kinova_msgs.action import SetFingersPosition
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from support.drivers.cell import TICK_S, Cell, Operator, PhysicalCell, degrees

NAME = "j2n6s300"
STATE_S = 0.1
UNIT_RAD = np.radians(80.0) / 6800.0
TOLERANCE = 64.0
STALL_S, STALL_UNITS = 0.5, 1.0
JOINTS = tuple(f"{NAME}_joint_{number}" for number in range(1, 7))
FINGERS = tuple(f"{NAME}_joint_finger_{number}" for number in range(1, 4))
TIPS = tuple(f"{NAME}_joint_finger_tip_{number}" for number in range(1, 4))


class JacoDriver:
    """Ticks and states are due at exact times and made up for when the machine is late."""

    def __init__(self, node, cell: Cell) -> None:
        self.cell = cell
        self.received = 0
        self._node = node
        self._points: list[tuple[np.ndarray, float]] = []
        self._index, self._running, self._began_s = 0, False, 0.0
        self._goals = 0
        self._fingers_move = False
        now = time.monotonic()
        self._tick_s, self._state_s = now + TICK_S, now + STATE_S
        driver = f"/{NAME}_driver"
        self._states = node.create_publisher(JointState, f"{driver}/out/joint_state", 2)
        group = ReentrantCallbackGroup()
        node.create_subscription(
            JointTrajectory,
            f"{driver}/trajectory_controller/command",
            self.command,
            1,
            callback_group=group,
        )
        self._servers = [
            ActionServer(
                node,
                SetFingersPosition,
                f"{driver}/fingers_action/finger_positions",
                self._set_fingers,
                cancel_callback=lambda goal: CancelResponse.ACCEPT,
                callback_group=group,
            ),
            ActionServer(
                node,
                FollowJointTrajectory,
                f"/{NAME}/follow_joint_trajectory",
                self._follow,
                goal_callback=self._judge,
                callback_group=group,
            ),
        ]

    def command(self, message: JointTrajectory) -> None:
        """Names are looked up and then not used; positions are asked for and then not used."""
        count = len(JOINTS)
        if any(name not in message.joint_names for name in JOINTS):
            return
        if any(len(point.positions) != count for point in message.points):
            return
        with self.cell.lock:
            now = time.monotonic()
            self.advance(now)
            self.received += 1
            self._points = [
                (np.array(p.velocities), p.time_from_start.sec + p.time_from_start.nanosec * 1e-9)
                for p in message.points
            ]
            self._began_s = now
            if not self._running:
                self._running, self._tick_s = True, now + TICK_S

    def advance(self, now_s: float) -> None:
        """Do all that is due."""
        with self.cell.lock:
            while (due := min(self._tick_s, self._state_s)) <= now_s:
                if due == self._state_s:
                    self._publish(now_s - due)
                    self._state_s += STATE_S
                else:
                    self.cell.advance(self._tick(due))
                    self._tick_s += TICK_S

    def _tick(self, due_s: float) -> np.ndarray:
        """(J,) velocities until the next tick."""
        if not self._running:
            return np.zeros(len(JOINTS))
        if self._index >= len(self._points):
            self._points, self._index, self._running = [], 0, False
            return np.zeros(len(JOINTS))
        velocities, until_s = self._points[self._index]
        if due_s - self._began_s >= until_s:
            self._index += 1
        return np.zeros(len(JOINTS)) if self._fingers_move else velocities

    def _publish(self, ago_s: float) -> None:
        stamp = self._node.get_clock().now().nanoseconds - int(ago_s * 1e9)
        message = JointState(name=[*JOINTS, *FINGERS, *TIPS])
        message.header.stamp = Time(sec=stamp // 10**9, nanosec=stamp % 10**9)
        message.position = [*self.cell.joints, *self.cell.finger_rad, *([0.0] * len(TIPS))]
        still = [0.0] * (len(FINGERS) + len(TIPS))
        message.velocity = [*degrees(self.cell.velocities), *still]
        message.effort = [0.0] * len(message.name)
        self._states.publish(message)

    def _set_fingers(self, goal):
        """One goal at a time: a newer one ends it, and fingers that stall are given up."""
        self._goals += 1
        number, wanted = self._goals, goal.request.fingers.finger1
        gripper = self.cell.robot.arm.gripper
        with self.cell.lock:
            share = (wanted * UNIT_RAD - gripper.open_rad) / gripper.travel_rad
            self.cell.fingers, self._fingers_move = float(np.clip(share, 0.0, 1.0)), True
            self._points = []  # the arm's queue is erased
        ended = self._wait_for_fingers(number, wanted, goal)
        with self.cell.lock:
            self._fingers_move = self._fingers_move and number != self._goals
        {"there": goal.succeed, "stalled": goal.abort, "replaced": goal.abort}[ended]()
        result = SetFingersPosition.Result()
        result.fingers.finger1, result.fingers.finger2, result.fingers.finger3 = self._units()
        return result

    def _wait_for_fingers(self, number: int, wanted: float, goal) -> str:
        last, since_s = self._units(), time.monotonic()
        while number == self._goals:
            units = self._units()
            if np.abs(units - wanted).max() < TOLERANCE:
                return "there"
            if np.abs(units - last).max() > STALL_UNITS:
                last, since_s = units, time.monotonic()
            elif time.monotonic() - since_s > STALL_S:
                return "stalled"
            time.sleep(STATE_S)
        return "replaced"

    def _units(self) -> np.ndarray:
        with self.cell.lock:
            return self.cell.finger_rad / UNIT_RAD

    def _judge(self, goal):
        same = sorted(goal.trajectory.joint_names) == sorted(JOINTS)
        return GoalResponse.ACCEPT if same else GoalResponse.REJECT

    def _follow(self, goal):
        """Passes the trajectory on to the topic's controller, and waits for its end."""
        self.command(goal.request.trajectory)
        last = goal.request.trajectory.points[-1].time_from_start
        time.sleep(last.sec + last.nanosec * 1e-9)
        goal.succeed()
        return FollowJointTrajectory.Result()


def tick_forever(driver, period_s: float = TICK_S / 2) -> threading.Thread:
    """Advance a driver in a thread of its own, for as long as the process lives."""

    def run() -> None:
        while rclpy.ok():
            driver.advance(time.monotonic())
            time.sleep(period_s)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def main(words: list[str]) -> None:
    """Run as a process: `python -m support.drivers.jaco [physics]`."""
    rclpy.init()
    node = rclpy.create_node(f"{NAME}_driver")
    cell = PhysicalCell() if "physics" in words else Cell()
    driver = JacoDriver(node, cell)
    Operator(node, cell)
    tick_forever(driver)
    executor = MultiThreadedExecutor(num_threads=3)
    executor.add_node(node)
    try:
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()


if __name__ == "__main__":
    main(sys.argv[1:])
