"""What nodes share that run episodes on an arm: one thread, what is told of each step, the end."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import rclpy
import torch
from rclpy.duration import Duration
from std_msgs.msg import String

from bayes_curiosity_interfaces.msg import EpisodeSummary, LearnerStatus, Observation
from bayes_curiosity_ros.failures import complain, steady_streams
from bayes_curiosity_ros.learning.episode_log import EpisodeRow
from bayes_curiosity_ros.nodes.arm_client import ArmClient
from bayes_curiosity_ros.nodes.claims import NodeClaim, leave_all
from bayes_curiosity_ros.nodes.conversions.images import images_of_frame
from bayes_curiosity_ros.nodes.conversions.observations import message_of_vector
from bayes_curiosity_ros.nodes.door import CheckedNode
from bayes_curiosity_ros.nodes.executor import one_thread
from bayes_curiosity_ros.nodes.loopback import require_loopback
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS, QuietTopics
from bayes_curiosity_ros.nodes.run import Ending, join_graph
from bayes_curiosity_ros.nodes.waiter import EndedError, Waiter
from bayes_curiosity_ros.nodes.wire import WirePublisher

OUTCOMES = {
    "success": EpisodeSummary.SUCCESS,
    "failure": EpisodeSummary.FAILURE,
    "time_limit": EpisodeSummary.TIME_LIMIT,
    "aborted": EpisodeSummary.ABORTED,
}
STOP_DELIVERY_S = 0.2
STATUS_DELIVERY_S = 1.0


class EpisodeRunner(QuietTopics, CheckedNode):
    """A node of one thread: callbacks are served while it waits for the arm.

    Args:
        name: name of the node.
        ending: what asks for the end.

    Attributes:
        run: id of its run.
        arm: the arm, as the cell of its episodes.
    """

    run: int
    arm: ArmClient

    def __init__(self, name: str, ending: Ending) -> None:
        super().__init__(name)
        executor = one_thread()
        executor.add_node(self)
        self.waiter = Waiter(executor, ending)
        self.observations = self.create_publisher(
            Observation, "observation", EPISODE_QOS, publisher_class=WirePublisher
        )
        self._episodes = self.create_publisher(EpisodeSummary, "episode", EPISODE_QOS)
        self._status = self.create_publisher(LearnerStatus, "learner/status", LATCHED_QOS)
        self._stops = self.create_publisher(String, "arm/stop", 10)

    @property
    def claims(self) -> tuple[NodeClaim | None, ...]:
        """On the nodes that work for the run."""
        return (self.arm.claim,)

    @abstractmethod
    def work(self) -> None:
        """All that the node is for, from the beginning to the end."""

    @abstractmethod
    def describe(self) -> LearnerStatus:
        """Where the run stands: all but state, reason, run and stamp."""

    def publish_status(self, state: int, reason: str = "") -> None:
        """Where the run stands."""
        status = self.describe()
        status.state, status.reason, status.run = state, reason, self.run
        status.header.stamp = self.get_clock().now().to_msg()
        self._status.publish(status)

    def tell(self, reason: str) -> None:
        """Say what the run waits for, in the log and on `learner/status`."""
        self.get_logger().warning(reason)
        self.publish_status(LearnerStatus.RUNNING, reason)

    def observed(self, episode: int, step: int) -> Observation:
        """The newest observation, raw, not as a policy perceives it: of the world."""
        message = message_of_vector(episode, step, self.arm.stamp, self.arm.raw.vectors[0])
        message.run, message.actor = self.run, self.arm.actor
        if self.arm.frame is not None:
            message.color, message.depth = images_of_frame(self.arm.frame)
        return message

    def publish_summary(self, episode: int, row: EpisodeRow | None = None) -> None:
        """What came of an episode; without a row it was cut short."""
        outcome = OUTCOMES["aborted" if row is None else row.outcome]
        message = EpisodeSummary(episode=episode, run=self.run, outcome=outcome)
        message.header.stamp = self.arm.stamp
        message.operator_steps = self.arm.operator_steps
        if row is not None:
            message.steps = row.steps
            message.extrinsic_return = row.extrinsic_return
            message.intrinsic_return = row.intrinsic_return
            message.mean_curiosity = row.mean_curiosity
        self._episodes.publish(message)

    def deliver_status(self) -> None:
        """Wait a little until listeners have the last status."""
        self._status.wait_for_all_acked(Duration(seconds=STATUS_DELIVERY_S))

    def stop_arm(self, reason: str) -> None:
        """Best effort: the arm's own watchdog is the safety net. Others' arms are left alone.

        Every arm of the domain hears a stop, so who has moved none stops none.
        """
        if not (self.arm.claim.held and self.arm.moved):
            return
        self._stops.publish(String(data=f"{self.get_name()}: {reason}"))
        time.sleep(STOP_DELIVERY_S)

    def leave(self) -> None:
        """Best effort, too: let others have the nodes that worked for us."""
        if leave_all(*self.claims):
            time.sleep(STOP_DELIVERY_S)


def run_episodes_on(
    make: Callable[[Ending], EpisodeRunner], name: str, arguments: Any = None
) -> int:
    """Have a node do its work; whatever goes wrong, the arm is told to stop first."""
    steady_streams()
    torch.set_num_threads(1)  # the networks are small, and other nodes need the cores
    ending, node, code, reason = Ending(), None, 1, "an exception"
    failure: Exception | None = None
    try:
        join_graph(arguments)
        node = make(ending)
        require_loopback()
        node.work()
        code, reason = 0, ""
    except EndedError as error:
        code, reason = ending.code, str(error)
    except Exception as error:
        failure, reason = error, str(error) or type(error).__name__
    finally:
        if node is not None and reason:
            node.stop_arm(reason)
            node.publish_status(LearnerStatus.FAILED, reason)
            node.deliver_status()
        if node is not None:
            node.leave()
        if failure is not None:
            code = complain(failure, name)
        rclpy.try_shutdown()
    return code
