"""The arm node: one arm, simulated or real, behind topics and services; a lifecycle node."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from std_msgs.msg import String
from std_srvs.srv import Trigger

from bayes_curiosity_interfaces.msg import Action, ArmStatus
from bayes_curiosity_interfaces.msg import ArmState as ArmStateMessage
from bayes_curiosity_interfaces.srv import ResetEpisode
from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.nodes.arm_watchers import WATCHERS_S, ArmWatchers
from bayes_curiosity_ros.nodes.claims import serve_claims
from bayes_curiosity_ros.nodes.conversions.arm_states import message_of_arm_state
from bayes_curiosity_ros.nodes.conversions.values import doubles
from bayes_curiosity_ros.nodes.device_node import DIAGNOSTICS_S, DeviceNode
from bayes_curiosity_ros.nodes.parameters import declare
from bayes_curiosity_ros.nodes.priority import run_first
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS, QuietTopics
from bayes_curiosity_ros.nodes.run import STEADY_CLOCK, WAKE_S, run_node
from bayes_curiosity_ros.nodes.status import cut, status_of
from bayes_curiosity_ros.nodes.takeover import Asked, Takeover
from bayes_curiosity_ros.nodes.wire import Taking, WirePublisher
from bayes_curiosity_ros.robot.arms.arm import (
    ARMS,
    Arm,
    ArmError,
    ArmInputs,
    ArmState,
    Executed,
    SimulatedCell,
)
from bayes_curiosity_ros.robot.arms.settings import ArmNodeConfig
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.operator import Driver, Operator
from bayes_curiosity_ros.robot.safety import Change
from bayes_curiosity_ros.robot.supervision import State
from bayes_curiosity_ros.robot.supervisor import ArmSupervisor
from bayes_curiosity_ros.runs import Tenancy
from bayes_curiosity_ros.tasks.arm.names import named_arm_task

WATCH_S = 0.02
STATUS_S = 0.2
# A node that is told to end tries to stop its arm for so long in [s], and leaves it then.
END_S = 10.0
LEVELS = {
    State.READY: DiagnosticStatus.OK,
    State.MOVING: DiagnosticStatus.OK,
    State.INACTIVE: DiagnosticStatus.STALE,
    State.WAITING_FOR_OPERATOR: DiagnosticStatus.WARN,
    State.STOPPED: DiagnosticStatus.WARN,
    State.FAULT: DiagnosticStatus.ERROR,
}


class ArmNode(QuietTopics, DeviceNode):
    """Thin: callbacks convert, delegate to the supervisor, convert back.

    Motions, stops, releases, the watch, a person who drives and reports are in different callback
    groups: with a real arm none waits for another, though an arm that does not answer holds one of
    them up.
    """

    def __init__(self) -> None:
        super().__init__("arm")
        self.config = declare(self, ArmNodeConfig())
        self.threads = 8 if self.config.real else 1
        self._robot = self.config.load_robot()
        self.supervisor = ArmSupervisor(self._make_arm(), self.config.supervisor, time.monotonic)
        self.tenancy = Tenancy("arm", self.config.run_silence_s, time.monotonic)
        self.operator = Operator(self._robot, self.config.operator, time.monotonic)
        self._names = self._joint_names()
        self._object: tuple[float, PoseStamped] | None = None
        self._reported = (State.INACTIVE, "")
        self._left_moving = ""
        self._create_publishers()
        self._create_inputs()
        run_first(self, self.config.real_time_priority if self.config.real else 0)

    def connect(self) -> None:
        try:
            self.supervisor.activate(self.config.connect_timeout_s)
        finally:
            self._publish_status()

    def let_go(self, reason: str) -> None:
        """Stop the arm, see that it stands, and disconnect it."""
        try:
            self.supervisor.deactivate(reason)
        finally:
            self._publish_status()
        self.get_logger().info(f"arm stopped: {reason}")

    def close(self, reason: str) -> None:
        """Whatever ends this node leaves the arm stopped; the arm's own states come meanwhile."""
        if self.executor is None or not self.config.real:
            self._end(reason)
            return
        ending = threading.Thread(target=self._end, args=(reason,), daemon=True)
        ending.start()
        while ending.is_alive():
            with contextlib.suppress(Exception):  # none may skip the stop
                self.executor.spin_once(timeout_sec=WAKE_S)
        if self._left_moving:
            raise ArmError(self._left_moving)

    def _end(self, reason: str) -> None:
        try:
            self.supervisor.retire(reason, END_S)
        except Exception as error:  # of whatever kind: nobody else would hear of it
            self._left_moving = f"leaving an arm that may move: {error}"
            self.get_logger().fatal(self._left_moving)
            self.supervisor.abandon(self._left_moving)
        else:
            self.get_logger().info(f"arm stopped: {reason}")
        self._publish_status()

    def _make_arm(self) -> Arm:
        inputs = ArmInputs(
            robot=self._parked() if self.config.real else self._robot,
            max_speed_deg_s=self.config.max_speed_deg_s,
            declare=partial(declare, self),
            node=self,
            cell=self._cell,
        )
        return ARMS[self.config.backend].make(inputs)

    def _parked(self) -> RobotConfig:
        """The robot with its ready pose where the task starts: there a real arm homes."""
        task = named_arm_task(self.config.task, self._robot, threads=1)
        return replace(self._robot, arm=task.robot.arm)

    def _cell(self) -> SimulatedCell:
        """The task's own cell, so that the arm moves exactly as the task does in process."""
        config = self.config
        task = named_arm_task(config.task, self._robot, threads=1, dynamics=config.dynamics)
        return SimulatedCell(
            task.robot,
            task.stepper,
            lambda seed: task.initial_states(1, np.random.default_rng(seed))[0],
        )

    def _start(self) -> None:
        """Once callbacks are served: a driver's answers come by callback."""
        self._starter.cancel()
        self.start()

    def _create_publishers(self) -> None:
        self._states = self.create_publisher(
            ArmStateMessage, "arm/state", EPISODE_QOS, publisher_class=WirePublisher
        )
        self._watchers = ArmWatchers(self, not self.config.real, self.supervisor.arm.state_topic)
        self._status = self.create_publisher(ArmStatus, "arm/status", LATCHED_QOS)

    def _create_inputs(self) -> None:
        motions, stops, releases, watch, person, reports = (
            MutuallyExclusiveCallbackGroup() for _ in range(6)
        )
        self._takeover = Takeover(
            self, self.operator, self.supervisor, self._act, self._say, motions
        )
        act = Taking(Action, self._act)
        self.create_subscription(
            Action, "action", act, EPISODE_QOS, callback_group=motions, raw=True
        )
        self.create_subscription(
            String, "arm/stop", lambda m: self._stop(m.data), 10, callback_group=stops
        )
        self.create_service(
            ResetEpisode, "arm/reset_episode", self._reset_episode, callback_group=motions
        )
        for name, call, group in (
            ("arm/stop", lambda: self._stop("arm/stop was called"), stops),
            ("arm/release", self._release, releases),
            ("arm/confirm", self.supervisor.confirm, releases),
            ("arm/home", self._home, motions),
            ("operator/take", self._takeover.take, person),
            ("operator/give", self.operator.give, person),
        ):
            self.create_service(Trigger, name, partial(self._trigger, call), callback_group=group)
        self._takeover.listen(self, person)
        serve_claims(self, "arm", self.tenancy, self._publish_status, reports)
        if self.config.autostart:
            self._starter = self.create_timer(
                0.0, self._start, callback_group=motions, clock=STEADY_CLOCK
            )
        if self.config.real:
            self.create_subscription(
                PoseStamped, "object_pose", self._take_object, 10, callback_group=reports
            )
        self.create_guard(WATCHERS_S, self._watchers.tell_watchers, motions)
        self.create_guard(WATCH_S, self._watch, watch)
        self.create_guard(STATUS_S, self._tell, reports)
        self.create_guard(DIAGNOSTICS_S, self._diagnose, reports)

    def _act(self, message: Action) -> None:
        """Carry out an action; while a person drives, theirs in its place."""
        try:
            self.tenancy.require(message.run)
            if self._takeover.postpones(message):
                return
            asked = self._takeover.asked(message)
            executed = self.supervisor.act(
                message.episode, message.step, asked.deltas, asked.gripper
            )
        except BayesCuriosityError as error:
            self._reject(f"action ({message.episode}, {message.step})", error)
            return
        if asked.driver == Driver.POLICY:  # which may have taken hold of something
            self.operator.gripper = asked.gripper
        self._publish_state(executed.state, asked, executed)
        self._publish_if_changed()

    def _reset_episode(
        self, request: ResetEpisode.Request, response: ResetEpisode.Response
    ) -> ResetEpisode.Response:
        try:
            self.tenancy.ask(request.run)
            state = self.supervisor.reset_episode(
                request.episode, request.seed, request.operator_confirmed
            )
        except BayesCuriosityError as error:
            self._reject(f"reset of episode {request.episode}", error)
            response.status = status_of(error)
        else:
            self._takeover.forget()
            response.state = self._publish_state(state)
        self._publish_if_changed()
        return response

    def _trigger(
        self, call: Callable[[], None], request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        try:
            call()
        except BayesCuriosityError as error:
            response.message = str(error)
        else:
            response.success = True
        self._publish_status()
        return response

    def _home(self) -> None:
        self._publish_state(self.supervisor.home())

    def _release(self) -> None:
        self._takeover.watch()  # who drove before the stop takes over again, if they want to
        self.supervisor.release()

    def _say(self, reason: str) -> None:
        self.get_logger().warning(reason)
        self._publish_status("; ".join(filter(None, [self.supervisor.reason, reason])))

    def _stop(self, reason: str) -> None:
        self.supervisor.stop(reason or "arm/stop")
        self._publish_status()
        self.get_logger().warning(self.supervisor.reason)
        self._publish_joints()

    def _watch(self) -> None:
        try:
            changed = self.supervisor.watch()
        except Exception:
            self._publish_status()  # the arm was stopped
            raise
        if not changed:
            return
        self._publish_status()
        if self.supervisor.state == State.FAULT:
            self.get_logger().error(self.supervisor.reason, throttle_duration_sec=1.0)
        else:
            self._publish_joints()

    def _reject(self, what: str, error: BayesCuriosityError) -> None:
        self.get_logger().warning(f"{what} rejected: {error}", throttle_duration_sec=1.0)
        self._publish_status(f"{what} rejected: {error}")

    def _publish_state(
        self, state: ArmState, asked: Asked | None = None, done: Executed | None = None
    ) -> ArmStateMessage:
        message = message_of_arm_state(self._with_object(state), self._names)
        message.episode, message.step = self.supervisor.step
        message.run = self.tenancy.run
        if asked is not None and done is not None:
            message.requested_deltas = doubles(asked.deltas)
            message.requested_gripper, message.actor = asked.gripper, int(asked.driver)
            message.executed_deltas = doubles(done.deltas)
            message.limited_by = _reasons(done.changes)
        self._states.publish(message)
        self._watchers.take(message)
        return message

    def _take_object(self, message: PoseStamped) -> None:
        self._object = (time.monotonic(), message)

    def _with_object(self, state: ArmState) -> ArmState:
        """A real arm does not know where the object is; a detector may."""
        if state.object_position is not None or self._object is None:
            return state
        received_s, message = self._object
        if time.monotonic() - received_s > self.config.object_timeout_s:
            return state
        spot, turn = message.pose.position, message.pose.orientation
        return replace(
            state,
            object_position=np.array([spot.x, spot.y, spot.z]),
            object_orientation=np.array([turn.w, turn.x, turn.y, turn.z]),
        )

    def _publish_joints(self) -> None:
        """Where the joints are now; no step of any episode."""
        self._watchers.tell_watchers()
        if self.supervisor.state == State.INACTIVE:
            return
        try:
            state = self.supervisor.arm.state(self.config.supervisor.move_timeout_s)
        except BayesCuriosityError as error:
            self.get_logger().warning(f"no joint states: {error}", throttle_duration_sec=1.0)
            return
        self._watchers.show(message_of_arm_state(state, self._names))

    def _publish_if_changed(self) -> None:
        if (self.supervisor.state, self.supervisor.reason) != self._reported:
            self._publish_status()

    def _publish_status(self, reason: str = "") -> None:
        supervisor, counters = self.supervisor, self.supervisor.counters
        takeover = self._takeover
        self._reported = (supervisor.state, supervisor.reason)
        status = ArmStatus(
            state=int(supervisor.state),
            reason=cut(reason or "; ".join(filter(None, [supervisor.reason, takeover.said()]))),
            dry_run=supervisor.config.dry_run,
            accepted=counters.accepted,
            limited=counters.limited,
            rejected=counters.rejected,
            stops=counters.stops,
            run=self.tenancy.run,
            strangers=self.tenancy.strangers,
            driver=int(takeover.driver),
        )
        status.header.stamp = self.get_clock().now().to_msg()
        self._status.publish(status)

    def _tell(self) -> None:
        """For whoever only watches."""
        self._takeover.watch()
        self._publish_status()
        if self.supervisor.state != State.MOVING:
            self._publish_joints()

    def _diagnose(self) -> None:
        supervisor = self.supervisor
        message = supervisor.reason or supervisor.state.name.lower()
        counters = {**vars(supervisor.counters), "strangers": self.tenancy.strangers}
        level = LEVELS[supervisor.state]
        self.publish_diagnostics(level, self.config.backend, message, counters, self.config.robot)

    def _joint_names(self) -> tuple[str, ...]:
        """Names of what is reported: the joints and, in simulation, the fingers."""
        arm = self._robot.arm
        return arm.joints if self.config.real else arm.all_joints


def _reasons(changes: Change) -> list[str]:
    return [str(flag.name).lower() for flag in Change if flag & changes] if changes else []


def main() -> None:
    """Entry point of `ros2 run bayes_curiosity_ros arm`."""
    sys.exit(run_node(ArmNode))


if __name__ == "__main__":
    main()
