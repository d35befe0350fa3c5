"""How a driver's gripper is told to open and close: by topic or by one of three actions."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from sensor_msgs.msg import JointState
from std_msgs.msg import Float64

from bayes_curiosity_ros.robot.arms.goals import CONTROL_MSGS, Goals, interface

if TYPE_CHECKING:
    from collections.abc import Callable

    from rclpy.node import Node

    from bayes_curiosity_ros.robot.arms.trajectory_config import GripperLink

LOOK_S = 0.01
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
        deadline_s = time.monotonic() + self.link.timeout_s
        while not (self.resting or stopped.is_set()) and time.monotonic() < deadline_s:
            stopped.wait(LOOK_S)

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
        self._goals = Goals(node, self.action(), link.name)
        self._at_rest = True
        self._fault = ""

    @abstractmethod
    def action(self) -> Any:
        """The action's type; raise ArmError with what to install."""

    @abstractmethod
    def goal(self, share: float) -> Any:
        """The goal for 0 open … 1 closed."""

    def absent(self) -> str:
        return self._goals.absent()

    @property
    def resting(self) -> bool:
        return self._at_rest

    def fault(self) -> str:
        return self._fault

    def _send(self, share: float) -> None:
        self._at_rest, self._fault = False, ""
        self._goals.send(self.goal(share), self._ended)

    def _ended(self, result: Any) -> None:
        if result is None:
            self._fault = f"{self.link.name} rejected a gripper command"
        self._at_rest = True


class CommandedGripper(ActionGripper):
    """control_msgs/GripperCommand, as of ros2_control's GripperActionController."""

    def action(self) -> Any:
        return interface("control_msgs.action", "GripperCommand", CONTROL_MSGS)

    def goal(self, share: float) -> Any:
        goal = self._goals.action.Goal()
        goal.command.position = self.link.unit(share)
        goal.command.max_effort = self.link.max_effort
        return goal


class ParallelGripper(ActionGripper):
    """control_msgs/ParallelGripperCommand, as of ros2_control's newer controller."""

    def action(self) -> Any:
        return interface("control_msgs.action", "ParallelGripperCommand", CONTROL_MSGS)

    def goal(self, share: float) -> Any:
        command = JointState(position=[self.link.unit(share)])
        if self.link.joint:
            command.name = [self.link.joint]
        if self.link.max_effort:
            command.effort = [self.link.max_effort]
        return self._goals.action.Goal(command=command)


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
        goal, unit = self._goals.action.Goal(), self.link.unit(share)
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
