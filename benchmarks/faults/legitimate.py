"""What nodes say and files hold when nothing is wrong."""

from __future__ import annotations

import array
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from bayes_curiosity_interfaces.msg import ArmState, EpisodeSummary, Observation
from bayes_curiosity_ros.bags.definitions import find_definition
from bayes_curiosity_ros.bags.metadata import Qos, Topic
from bayes_curiosity_ros.bags.storage import Record
from bayes_curiosity_ros.bags.writer import BagConfig, BagWriter
from bayes_curiosity_ros.nodes.conversions.arm_states import message_of_arm_state
from bayes_curiosity_ros.nodes.conversions.values import stamp_of
from bayes_curiosity_ros.robot.arms.simulated import SimulatedArm
from bayes_curiosity_ros.robot.cameras.camera import Frame
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.tasks.arm.names import named_arm_task


def write_bag(path: Path, episodes: int = 3, storage: str = "mcap") -> Path:
    """A small bag: episodes of three observations, actions and rewards, and their ends."""
    bag = BagWriter(path, BagConfig(storage=storage), {"task": "reach"})
    kinds = {"observation": Observation, "episode": EpisodeSummary}
    for name, kind in kinds.items():
        type_name = f"bayes_curiosity_interfaces/msg/{kind.__name__}"
        bag.add_topic(Topic(f"/{name}", find_definition(type_name), (Qos(),)))
    rng, stamp = np.random.default_rng(0), 1_000_000_000
    for episode in range(1, episodes + 1):
        for step in range(3):
            vector = array.array("d", rng.normal(size=9))
            message = Observation(episode=episode, step=step, vector=vector)
            stamp += 1_000_000
            bag.write(Record("/observation", stamp, stamp, serialize_message(message)))
        summary = serialize_message(EpisodeSummary(episode=episode, steps=2))
        bag.write(Record("/episode", stamp, stamp, summary))
    bag.close()
    return path


def legitimate_state(stamp_s: float, episode: int = 1) -> ArmState:
    """What a simulated arm at rest says."""
    state, names = _resting()
    message = message_of_arm_state(state, names)
    message.header.stamp, message.episode = stamp_of(stamp_s), episode
    return message


def legitimate_joints(stamp_s: float) -> JointState:
    """The same as a driver says it."""
    state = legitimate_state(stamp_s)
    return JointState(header=state.header, name=state.joint_names, position=state.positions)


@cache
def _resting() -> tuple[Any, tuple[str, ...]]:
    robot = RobotConfig.load()
    with SimulatedArm(robot) as arm:
        fingers = robot.arm.gripper.fingers if robot.arm.gripper else ()
        return arm.state(1.0), robot.arm.joints + fingers


def legitimate_frame() -> Frame:
    """What a camera sees of a cylinder on the table."""
    task = named_arm_task("reach", RobotConfig.load(), threads=1)
    colors, depths = task.camera.frames(task.initial_states(1, np.random.default_rng(0)))
    return Frame(colors[0], depths[0], 0.0)
