"""How a driver's gripper is told to open and close: by topic or by one of three actions."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from rclpy.action import ActionClient
from rclpy.callback_groups import ReentrantCallbackGroup
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from bayes_curiosity_ros.robot.arms.commands import INSTALL, interface

if TYPE_CHECKING:
    from collections.abc import Callable

    from rclpy.node import Node
    from rclpy.task import Future

    from bayes_curiosity_ros.robot.arms.trajectory_config import GripperLink

KINOVA = (
    "source the workspace with the Jaco's driver, or run `make setup`, which builds the action"
)


class Gripper(ABC):
    """Fingers behind a driver.

    Attributes:
        takes_turns: whether the arm must stand still while the fingers move.
        coarseness: changes below this share of the travel are not worth a command.
    """

    takes_turns = False
    coarseness = 1e-3

    def __init__(self, link: GripperLink) -> None:
        self.link = link
        self._asked: float | None = None

    @abstractmethod
    def absent(self) -> str:
        """What nobody listens to; empty when the driver is there."""

    def move(self, share: float) -> bool:
        """Begin to move to 0 open … 1 closed; whether that is a change worth a command."""
        if self._asked is not None and abs(share - self._asked) < self.coarseness:
            return False
        self._asked = share
        self._send(share)
        return True

    def forget(self) -> None:
        """Somebody else may have moved the fingers since."""
        self._asked = None

    @property
    def resting(self) -> bool:
        """Whether the fingers are where they can get, as far as the driver tells."""
        return True

    def fault(self) -> str:
        """Why the driver refused the newest command; empty if it did not."""
        return ""

    def wait(self, stopped: threading.Event) -> None:
        """Wait until the fingers rest, for as long as is set, or until the arm is stopped."""

    @abstractmethod
    def _send(self, share: float) -> None:
        """Tell the driver."""


class TopicGripper(Gripper):
    """std_msgs/Float64 in the driver's unit."""

    def __init__(self, node: Node, link: GripperLink) -> None:
        super().__init__(link)
        self._publisher = node.create_publisher(Float64, link.name, 10)

    def absent(self) -> str:
        heard = self._publisher.get_subscription_count()
        return "" if heard else str(self._publisher.topic_name)

    def _send(self, share: float) -> None:
        self._publisher.publish(Float64(data=self.link.unit(share)))


class ActionGripper(Gripper):
    """Goals of an action. Fingers that an object holds open end in a result too."""

    def __init__(self, node: Node, link: GripperLink) -> None:
        super().__init__(link)
        self._action = self.action()
        self._client = ActionClient(
            node, self._action, link.name, callback_group=ReentrantCallbackGroup()
        )
        self._at_rest = threading.Event()
        self._at_rest.set()
        self._sent = 0
        self._fault = ""

    @abstractmethod
    def action(self) -> Any:
        """The action's type; raise ArmError with what to install."""

    @abstractmethod
    def goal(self, share: float) -> Any:
        """The goal for 0 open … 1 closed."""

    def absent(self) -> str:
        return "" if self._client.server_is_ready() else f"action {self.link.name}"

    @property
    def resting(self) -> bool:
        return self._at_rest.is_set()

    def fault(self) -> str:
        return self._fault

    def wait(self, stopped: threading.Event) -> None:
        for _ in range(int(self.link.timeout_s / 0.01)):
            if self._at_rest.wait(0.01) or stopped.is_set():
                return

    def _send(self, share: float) -> None:
        self._at_rest.clear()
        self._sent += 1
        self._fault, number = "", self._sent
        future = self._client.send_goal_async(self.goal(share))
        future.add_done_callback(lambda done: self._answered(number, done))

    def _answered(self, number: int, future: Future) -> None:
        goal = future.result()
        if goal.accepted:
            goal.get_result_async().add_done_callback(lambda done: self._rest(number))
            return
        if number == self._sent:
            self._fault = f"{self.link.name} rejected a gripper command"
        self._rest(number)

    def _rest(self, number: int) -> None:
        if number == self._sent:
            self._at_rest.set()


class CommandedGripper(ActionGripper):
    """control_msgs/GripperCommand, as of ros2_control's GripperActionController."""

    def action(self) -> Any:
        return interface("control_msgs.action", "GripperCommand", INSTALL)

    def goal(self, share: float) -> Any:
        goal = self._action.Goal()
        goal.command.position = self.link.unit(share)
        goal.command.max_effort = self.link.max_effort
        return goal


class ParallelGripper(ActionGripper):
    """control_msgs/ParallelGripperCommand, as of ros2_control's newer controller."""

    def action(self) -> Any:
        return interface("control_msgs.action", "ParallelGripperCommand", INSTALL)

    def goal(self, share: float) -> Any:
        command = JointState(position=[self.link.unit(share)])
        if self.link.joint:
            command.name = [self.link.joint]
        if self.link.max_effort:
            command.effort = [self.link.max_effort]
        return self._action.Goal(command=command)


class KinovaFingers(ActionGripper):
    """kinova_msgs/SetFingersPosition of a Jaco gen 2.

    Fingers and joints share the arm's queue of motions, a goal erases what is in it, and one that
    replaces another stops the arm: so the arm waits for its fingers.
    """

    takes_turns = True
    coarseness = 0.1

    def action(self) -> Any:
        return interface("kinova_msgs.action", "SetFingersPosition", KINOVA)

    def goal(self, share: float) -> Any:
        goal, unit = self._action.Goal(), self.link.unit(share)
        goal.fingers.finger1 = goal.fingers.finger2 = goal.fingers.finger3 = unit
        return goal


KINDS: dict[str, Callable[[Node, GripperLink], Gripper]] = {
    "float64": TopicGripper,
    "gripper_command": CommandedGripper,
    "parallel_gripper_command": ParallelGripper,
    "set_fingers_position": KinovaFingers,
}


def make_gripper(node: Node, link: GripperLink) -> Gripper | None:
    """The gripper that is set, None where there is none."""
    return None if link.interface == "none" else KINDS[link.interface](node, link)
