"""The part of arm, camera and learner in a graph whose curiosity node is real."""

import array
import queue
import time

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image, JointState

from bayes_curiosity_interfaces.msg import (
    Action,
    ArmState,
    EpisodeSummary,
    IntrinsicReward,
    Observation,
    Status,
)
from bayes_curiosity_interfaces.srv import Update
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.nodes.conversions.images import images_of_frame
from bayes_curiosity_ros.nodes.conversions.observations import (
    batch_of_observations,
    observation_of_message,
)
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS
from support.waiting import WAIT_S, until, wait_for

# The other side of a match learns of it a little later, and nothing tells us when.
MEET_S = 0.5
BEST_EFFORT = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)


class Graph:
    """Publishes what a run publishes."""

    def __init__(self, background, listeners):
        node = background.node
        self.background = background
        self.publishers = {
            "observation": node.create_publisher(Observation, "observation", EPISODE_QOS),
            "action": node.create_publisher(Action, "action", EPISODE_QOS),
            "arm/state": node.create_publisher(ArmState, "arm/state", EPISODE_QOS),
            "episode": node.create_publisher(EpisodeSummary, "episode", EPISODE_QOS),
            "joint_states": node.create_publisher(JointState, "joint_states", EPISODE_QOS),
            # As a real camera: a reliable subscription would hear nothing of it.
            "camera/color/image_raw": node.create_publisher(
                Image, "camera/color/image_raw", BEST_EFFORT
            ),
        }
        self.rewards = queue.Queue()
        node.create_subscription(
            IntrinsicReward, "intrinsic_reward", self.rewards.put, EPISODE_QOS
        )
        self.sent = dict.fromkeys(self.publishers, 0)
        self._wait_for(listeners)

    def _wait_for(self, listeners):
        for name, wanted in listeners.items():
            count = self.publishers[name].get_subscription_count
            wait_for(lambda count=count, wanted=wanted: count() >= wanted, f"listeners to {name}")
        time.sleep(MEET_S)

    def publish(self, name, message):
        self.publishers[name].publish(message)
        self.sent[name] += 1

    def step(self, episode, step, vector, frame=None):
        joints = array.array("d", vector[:6])
        self.publish("joint_states", JointState(position=joints))
        state = ArmState(episode=episode, step=step, positions=joints, executed_deltas=joints)
        self.publish("arm/state", state)
        message = Observation(episode=episode, step=step, vector=array.array("d", vector))
        if frame is not None:
            message.color, message.depth = images_of_frame(frame)
        self.publish("observation", message)
        return observation_of_message(message)

    def episode(self, episode, vectors, outcome=EpisodeSummary.TIME_LIMIT, frames=None):
        """A whole episode, curiosity's update included; the rewards it got."""
        observations = []
        for step, vector in enumerate(vectors):
            frame = None if frames is None else frames[step]
            observations.append(self.step(episode, step, vector, frame))
            if step + 1 < len(vectors):
                deltas = array.array("d", vector[:6])
                self.publish("action", Action(episode=episode, step=step, joint_deltas=deltas))
        rewards = [self.rewards.get(timeout=WAIT_S).reward for _ in vectors]
        if outcome != EpisodeSummary.ABORTED:
            batch = batch_of_observations(Observations.concatenate(observations))
            request = Update.Request(episode=episode, observations=batch)
            answer = self.background.call(Update, "curiosity/update", request)
            assert answer.status.code == Status.OK
        summary = EpisodeSummary(episode=episode, steps=len(vectors) - 1, outcome=outcome)
        self.publish("episode", summary)
        return rewards


def parameters(**values) -> list[str]:
    """Parameters of a node as words of its command line; `__` stands for a dot."""
    words = ["--ros-args"]
    for name, value in values.items():
        words += ["-p", f"{name.replace('__', '.')}:={value}"]
    return words


def inbox(background, kind, topic, qos=EPISODE_QOS) -> queue.Queue:
    """Queue of everything that is said on a topic from now on."""
    messages: queue.Queue = queue.Queue()
    background.node.create_subscription(kind, topic, messages.put, qos)
    return messages


def eventually(messages: queue.Queue, fits, timeout_s: float = WAIT_S):
    """Return the first message that fits."""
    deadline, last = time.monotonic() + timeout_s, None
    while (left := deadline - time.monotonic()) > 0:
        try:
            last = messages.get(timeout=left)
        except queue.Empty:
            break
        if fits(last):
            return last
    raise AssertionError(f"no such message within {timeout_s} s; the last was {last}")


def wait_until_recorded(background, messages=1):
    """Wait until the recorder has heard what others latched: we cannot see who has met."""
    heard = []
    background.node.create_subscription(
        DiagnosticStatus, "recorder/status", heard.append, LATCHED_QOS
    )

    def some():
        counts = [int(v.value) for s in heard for v in s.values if v.key == "messages"]
        return max(counts, default=0) >= messages

    assert until(some), f"not {messages} recorded messages within {WAIT_S} s"
