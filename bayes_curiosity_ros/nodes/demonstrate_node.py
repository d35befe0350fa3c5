"""The demonstrate node: a person moves the arm by hand; the recorder beside it gets episodes.

ros2 run bayes_curiosity_ros recorder --ros-args -p task:=reach
ros2 run bayes_curiosity_ros demonstrate
ros2 service call /demonstrate/begin std_srvs/srv/Trigger   # … move the arm …
ros2 service call /demonstrate/end std_srvs/srv/Trigger     # or /demonstrate/discard
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from bayes_curiosity_interfaces.msg import Action, EpisodeSummary, Observation
from bayes_curiosity_ros.bags.demonstrate import DemonstratedStep, Demonstrator, MotionConfig
from bayes_curiosity_ros.errors import InputError
from bayes_curiosity_ros.nodes.conversions.values import doubles
from bayes_curiosity_ros.nodes.door import CheckedNode
from bayes_curiosity_ros.nodes.parameters import declare
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, OverridableTopics
from bayes_curiosity_ros.nodes.run import run_node


@dataclass(frozen=True)
class DemonstrateConfig:
    """Parameters of the demonstrate node.

    Attributes:
        first_episode: id of the first episode; 0 for seconds since 1970, so that none repeats.
        motion: how a hand-guided motion becomes steps.
    """

    first_episode: int = 0
    motion: MotionConfig = field(default_factory=MotionConfig)


class DemonstrateNode(OverridableTopics, CheckedNode):
    """Joint states in; observations, actions and episode summaries out."""

    def __init__(self) -> None:
        super().__init__("demonstrate")
        config = declare(self, DemonstrateConfig())
        self._demonstrator = Demonstrator(config.motion)
        self._episode = (config.first_episode or int(time.time())) - 1
        self._running = False
        self._observations = self.create_publisher(Observation, "observation", EPISODE_QOS)
        self._actions = self.create_publisher(Action, "action", EPISODE_QOS)
        self._summaries = self.create_publisher(EpisodeSummary, "episode", EPISODE_QOS)
        # Best effort hears reliable drivers too.
        sensor = qos_profile_sensor_data
        self.create_subscription(JointState, "joint_states", self._take_joints, sensor)
        self.create_subscription(PoseStamped, "object_pose", self._take_object, sensor)
        self.create_service(Trigger, "demonstrate/begin", self._begin)
        self.create_service(Trigger, "demonstrate/end", self._end)
        self.create_service(Trigger, "demonstrate/discard", self._discard)
        self.create_timer(config.motion.period_s, self._sample)

    def _take_joints(self, message: JointState) -> None:
        try:
            self._demonstrator.take_joints(message.name, message.position)
        except InputError as error:
            self.get_logger().warning(str(error), throttle_duration_sec=2.0)

    def _take_object(self, message: PoseStamped) -> None:
        spot = message.pose.position
        self._demonstrator.take_object(np.array([spot.x, spot.y, spot.z]))

    def _begin(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._running:
            response.message = f"episode {self._episode} is under way; end or discard it first"
            return response
        try:
            first = self._demonstrator.begin()
        except InputError as error:
            response.message = str(error)
            return response
        self._episode, self._running = self._episode + 1, True
        self._publish(first)
        response.success, response.message = True, f"episode {self._episode} begins"
        return response

    def _end(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._finish(EpisodeSummary.SUCCESS, response)

    def _discard(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._finish(EpisodeSummary.ABORTED, response)

    def _finish(self, outcome: int, response: Trigger.Response) -> Trigger.Response:
        if not self._running:
            response.message = "no episode is under way; call demonstrate/begin first"
            return response
        self._sample()
        steps, self._running = self._demonstrator.end(), False
        summary = EpisodeSummary(episode=self._episode, steps=steps, outcome=outcome)
        summary.header.stamp = self.get_clock().now().to_msg()
        self._summaries.publish(summary)
        response.success = True
        response.message = f"episode {self._episode}: {steps} steps"
        return response

    def _sample(self) -> None:
        step = self._demonstrator.sample() if self._running else None
        if step is not None:
            self._publish(step)

    def _publish(self, step: DemonstratedStep) -> None:
        """The action that led here, then what was reached: the order of a learner's graph."""
        stamp = self.get_clock().now().to_msg()
        if step.deltas is not None:
            action = Action(episode=self._episode, step=step.step - 1, gripper=step.gripper)
            action.joint_deltas, action.header.stamp = doubles(step.deltas), stamp
            self._actions.publish(action)
        reached = Observation(episode=self._episode, step=step.step, vector=doubles(step.vector))
        reached.header.stamp = stamp
        self._observations.publish(reached)


def main() -> None:
    """Entry point of `ros2 run bayes_curiosity_ros demonstrate`."""
    sys.exit(run_node(DemonstrateNode))


if __name__ == "__main__":
    main()
