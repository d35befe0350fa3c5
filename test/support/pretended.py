"""Bags of a pretended run, with messages as real publishers would serialise them."""

import array

import numpy as np
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from bayes_curiosity_interfaces.msg import (
    Action,
    ArmState,
    CuriosityState,
    EpisodeSummary,
    IntrinsicReward,
    Observation,
)
from bayes_curiosity_ros.bags.definitions import find_definition
from bayes_curiosity_ros.bags.metadata import Qos, Topic
from bayes_curiosity_ros.bags.storage import Record
from bayes_curiosity_ros.bags.writer import BagConfig, BagWriter
from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.model_file import model_id
from bayes_curiosity_ros.nodes.conversions.images import images_of_frame
from bayes_curiosity_ros.robot.cameras.camera import Frame

START_NS = 1_700_000_000_000_000_000
STEP_NS = 10_000_000
VECTOR_SIZE = 9
JOINTS = 6
TYPES = {
    "/joint_states": "sensor_msgs/msg/JointState",
    "/arm/state": "bayes_curiosity_interfaces/msg/ArmState",
    "/action": "bayes_curiosity_interfaces/msg/Action",
    "/observation": "bayes_curiosity_interfaces/msg/Observation",
    "/intrinsic_reward": "bayes_curiosity_interfaces/msg/IntrinsicReward",
    "/episode": "bayes_curiosity_interfaces/msg/EpisodeSummary",
    "/curiosity/state": "bayes_curiosity_interfaces/msg/CuriosityState",
}


LATCHED = {"/curiosity/state"}


def topic(name, type_name=None):
    qos = Qos(durability="transient_local" if name in LATCHED else "volatile")
    return Topic(name, find_definition(type_name or TYPES[name]), (qos,))


class Run:
    """A pretended training run: what each episode's messages are, and in which order they come."""

    def __init__(self, episodes=3, steps=5, images=False, seed=0, aborted=()):
        self.rng = np.random.default_rng(seed)
        self.curiosity = Curiosity(Encoder(EncoderConfig(VECTOR_SIZE)))
        self.images = images
        self.aborted = aborted
        self.vectors = self.rng.normal(size=(episodes, steps + 1, VECTOR_SIZE))
        self.actions = self.rng.uniform(-0.04, 0.04, (episodes, steps, JOINTS))
        self.color = self.rng.integers(0, 256, (episodes, steps + 1, 8, 8, 3), dtype=np.uint8)
        self.depth = self.rng.random((episodes, steps + 1, 8, 8), dtype=np.float32)
        self.rewards = np.full((episodes, steps + 1), np.nan)

    def messages(self):
        """(topic, message) in the order of a real graph."""
        yield "/curiosity/state", self.state(0)
        for episode in range(len(self.vectors)):
            yield from self._episode(episode)

    def state(self, episodes):
        regression, config = self.curiosity.regression, self.curiosity.config
        return CuriosityState(
            model_id=model_id(self.curiosity),
            observations=regression.count,
            episodes=episodes,
            log_determinant=regression.log_determinant,
            form=config.form,
            weight=config.weight,
            posterior=config.posterior,
            features=config.features,
        )

    def _episode(self, episode):
        steps = len(self.actions[episode])
        for step in range(steps + 1):
            yield from self._step(episode, step)
        aborted = episode in self.aborted
        outcome = EpisodeSummary.ABORTED if aborted else EpisodeSummary.TIME_LIMIT
        yield "/episode", EpisodeSummary(episode=episode, steps=steps, outcome=outcome)
        if not aborted:
            self.curiosity.observe(Observations(self.vectors[episode]))
            yield "/curiosity/state", self.state(episode + 1)

    def _step(self, episode, step):
        vector = self.vectors[episode, step]
        joints = array.array("d", vector[:JOINTS])
        yield "/joint_states", JointState(position=joints)
        state = ArmState(episode=episode, step=step, positions=joints, object_known=True)
        state.header.frame_id = "base"
        if step:
            state.executed_deltas = array.array("d", 0.5 * self.actions[episode, step - 1])
        yield "/arm/state", state
        observation = Observation(episode=episode, step=step, vector=array.array("d", vector))
        if self.images:
            frame = Frame(self.color[episode, step], self.depth[episode, step], 0.0)
            observation.color, observation.depth = images_of_frame(frame)
        yield "/observation", observation
        if step == 0:
            self.stream = self.curiosity.begin(Observations(vector[None]))
            scores = self.stream.first
        else:
            scores = self.stream.take(Observations(vector[None]))
        self.rewards[episode, step] = scores.reward[0]
        yield (
            "/intrinsic_reward",
            IntrinsicReward(
                episode=episode,
                step=step,
                variance=float(scores.variance[0]),
                curiosity=float(scores.curiosity[0]),
                reward=float(scores.reward[0]),
            ),
        )
        if step < len(self.actions[episode]):
            deltas = array.array("d", self.actions[episode, step])
            yield "/action", Action(episode=episode, step=step, joint_deltas=deltas, gripper=0.25)

    def records(self):
        for index, (name, message) in enumerate(self.messages()):
            time = START_NS + index * STEP_NS
            yield Record(name, time, time - 1000, serialize_message(message))


def begin_bag(path, about=None, **config):
    """A bag under way that knows the topics of a run."""
    bag = BagWriter(path, BagConfig(**config), about or {"task": "reach", "seed": "7"})
    for name in TYPES:
        bag.add_topic(topic(name))
    return bag


def write_records(path, records):
    """A whole bag of these records."""
    bag = begin_bag(path)
    for record in records:
        bag.write(record)
    bag.close()


def write_bag(path, run=None, close=True, about=None, **config):
    """A bag of the run; the run and its records."""
    run = run or Run()
    bag = begin_bag(path, about, **config)
    records = list(run.records())
    for record in records:
        bag.write(record)
    if close:
        bag.close()
    else:
        bag.flush()
    return run, records
