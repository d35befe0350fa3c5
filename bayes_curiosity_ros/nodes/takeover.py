"""A person takes the arm over: their steps in place of the learner's, no faster than real time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.callback_groups import CallbackGroup
from sensor_msgs.msg import Joy

from bayes_curiosity_interfaces.msg import Action
from bayes_curiosity_ros.errors import StepError
from bayes_curiosity_ros.nodes.conversions.wishes import pose_of_message, stick_of_message
from bayes_curiosity_ros.nodes.qos import SENSOR_QOS
from bayes_curiosity_ros.nodes.run import STEADY_CLOCK
from bayes_curiosity_ros.robot.operator import Driver, Operator
from bayes_curiosity_ros.robot.supervision import State, require_active
from bayes_curiosity_ros.robot.supervisor import ArmSupervisor

ABLE = (State.READY, State.MOVING, State.WAITING_FOR_OPERATOR)


class Asked(NamedTuple):
    """What is asked of the arm in one step: joint changes, (J,) in [rad], gripper, by whom."""

    deltas: np.ndarray
    gripper: float
    driver: Driver


class Takeover:
    """Who drives an arm, and when a person's next step is due.

    The learner's actions say *when* there is a step, the person says *which*. An action that comes
    before a control step is over waits, without holding anything up: a simulated arm would else
    outrun whoever drives it. On a real arm a step takes its time anyway.

    Args:
        node: the arm's node.
        operator: the person.
        supervisor: the arm's supervisor.
        act: carries out an action that has waited.
        tell: told in words when control went back by itself.
        group: callback group of motions.
    """

    def __init__(
        self,
        node: Any,
        operator: Operator,
        supervisor: ArmSupervisor,
        act: Callable[[Action], None],
        tell: Callable[[str], None],
        group: CallbackGroup,
    ) -> None:
        self.operator = operator
        self._supervisor = supervisor
        self._act, self._tell = act, tell
        self._due_s = 0.0
        self._waiting: Action | None = None
        self._timer = node.create_timer(
            operator.control_step_s, self._go_on, callback_group=group, clock=STEADY_CLOCK
        )
        self._timer.cancel()

    def listen(self, node: Any, group: CallbackGroup) -> None:
        """Hear what the person wants, in a callback group of its own."""
        for kind, topic, take in (
            (PoseStamped, "operator/target", self._take_target),
            (Joy, "joy", self._take_joystick),
        ):
            node.create_subscription(kind, topic, take, SENSOR_QOS, callback_group=group)

    @property
    def driver(self) -> Driver:
        """Who decides on the next step."""
        return self.operator.driver

    def take(self) -> None:
        """A person drives from now on.

        Raises:
            BayesCuriosityError: the arm is stopped, in fault or not active, or a person does
                already.
        """
        require_active(self._supervisor.state, self._supervisor.reason)
        self.operator.take()

    def watch(self) -> None:
        """Give control back where the person is silent, or the arm was stopped."""
        if self.driver == Driver.POLICY:
            return
        if self._supervisor.state not in ABLE:
            self._give("the arm does not obey; take it over again once it does")
        elif self.operator.is_silent():
            silence_s = self.operator.config.silence_s
            self._give(f"nothing was heard of the person for {silence_s:g} s")

    def said(self) -> str:
        """Who drives, in words; empty where it is the learner."""
        if self.driver == Driver.POLICY:
            return ""
        moving = self._supervisor.state == State.MOVING
        return "a person drives" + ("" if moving else ", and nothing moves until the learner acts")

    def postpones(self, action: Action) -> bool:
        """Whether an action has to wait, as a person drives; it is carried out when it is due.

        Raises:
            StepError: another one waits already.
        """
        if self.driver == Driver.POLICY:
            return False
        if self._waiting is not None:
            waiting = self._waiting.episode, self._waiting.step
            raise StepError(f"action {waiting} waits for the person's control step to be over")
        left_s = self._due_s - time.monotonic()
        if left_s <= 0.0:
            return False
        self._waiting = action
        self._timer.timer_period_ns = int(left_s * 1e9) + 1
        self._timer.reset()
        return True

    def asked(self, action: Action) -> Asked:
        """What is asked of the arm in the step that begins now, and by whom.

        Raises:
            BayesCuriosityError: the arm does not say where it is.
        """
        if self.driver == Driver.POLICY:
            deltas = np.array(action.joint_deltas, dtype=np.float64)
            return Asked(deltas, action.gripper, Driver.POLICY)
        self._due_s = time.monotonic() + self.operator.control_step_s
        return Asked(self._wanted(), self.operator.gripper, Driver.OPERATOR)

    def forget(self) -> None:
        """An episode begins: what was wanted in the one before does not count."""
        self._waiting = None
        self.operator.forget()

    def _wanted(self) -> np.ndarray:
        """The person's joint changes, (J,) in [rad]; none of an arm that will refuse them."""
        if self._supervisor.state not in ABLE:
            return np.zeros(len(self._supervisor.arm.joint_names))
        return self.operator.step(self._supervisor.measure().joints)

    def _take_target(self, message: PoseStamped) -> None:
        self.operator.aim(pose_of_message(message))

    def _take_joystick(self, message: Joy) -> None:
        self.operator.steer(stick_of_message(message, self.operator.config.joystick))

    def _give(self, reason: str) -> None:
        self.operator.give()
        self._tell(f"control went back to the learner: {reason}")

    def _go_on(self) -> None:
        self._timer.cancel()
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._act(waiting)
