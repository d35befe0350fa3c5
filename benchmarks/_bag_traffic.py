"""A graph's traffic from a process of its own: joint states, 64 × 64 RGBD, learning topics."""

from __future__ import annotations

import array
import sys
import time

import numpy as np
import rclpy
from rclpy.node import Node
from sensor_msgs.msg import Image, JointState

from bayes_curiosity_interfaces.msg import Action, ArmState, IntrinsicReward, Observation
from bayes_curiosity_ros.nodes.conversions.images import images_of_frame
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS
from bayes_curiosity_ros.robot.cameras.camera import Frame

SIDE = 64
STEPS = 50
# Per tick: 16 joint states, and one of each of the other six. So 22 messages, 9 % of them images.
JOINT_STATES = 16
PER_TICK = JOINT_STATES + 6


def noise(rng: np.random.Generator) -> tuple[Image, Image]:
    """Colour and depth that compress worst."""
    color = rng.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
    return images_of_frame(Frame(color, rng.random((SIDE, SIDE), dtype=np.float32), 0.0))


class Traffic:
    """Serialised once, so that this process costs little."""

    def __init__(self, node: Node) -> None:
        kinds = {
            "joint_states": JointState,
            "camera/color/image_raw": Image,
            "camera/depth/image_raw": Image,
            "arm/state": ArmState,
            "action": Action,
            "observation": Observation,
            "intrinsic_reward": IntrinsicReward,
        }
        self.publishers = {
            name: node.create_publisher(kind, name, EPISODE_QOS) for name, kind in kinds.items()
        }
        rng = np.random.default_rng(0)
        color, depth = noise(rng)
        self._images = {"camera/color/image_raw": color, "camera/depth/image_raw": depth}
        self._joints = array.array("d", rng.normal(size=6))
        self._vector = array.array("d", rng.normal(size=9))

    def tick(self, number: int) -> None:
        """What one control step brings."""
        episode, step = divmod(number, STEPS)
        publish = self.publishers
        for _ in range(JOINT_STATES):
            publish["joint_states"].publish(JointState(position=self._joints))
        for name, message in self._images.items():
            publish[name].publish(message)
        state = ArmState(episode=episode, step=step, positions=self._joints)
        publish["arm/state"].publish(state)
        publish["action"].publish(Action(episode=episode, step=step, joint_deltas=self._joints))
        publish["observation"].publish(
            Observation(episode=episode, step=step, vector=self._vector)
        )
        publish["intrinsic_reward"].publish(IntrinsicReward(episode=episode, step=step))


def main() -> None:
    """`python -m benchmarks._bag_traffic SECONDS RATE`; prints how many messages it sent."""
    seconds, rate = float(sys.argv[1]), float(sys.argv[2])
    rclpy.init()
    node = Node("traffic")
    traffic = Traffic(node)
    deadline = time.monotonic() + 20.0
    while not all(p.get_subscription_count() for p in traffic.publishers.values()):
        if time.monotonic() > deadline:
            sys.exit("nobody records within 20 s")
        time.sleep(0.05)
    time.sleep(0.5)
    print("begin", flush=True)
    sys.stdin.readline()
    began, ticks = time.monotonic(), round(seconds * rate / PER_TICK)
    for number in range(ticks):
        traffic.tick(number)
        ahead = began + (number + 1) * PER_TICK / rate - time.monotonic()
        if ahead > 0:
            time.sleep(ahead)
    print(ticks * PER_TICK, time.monotonic() - began, flush=True)
    time.sleep(1.0)
    rclpy.shutdown()


if __name__ == "__main__":
    main()
