"""Nodes that a person demonstrates with, under fire."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState, Joy
from std_srvs.srv import Trigger

from bayes_curiosity_interfaces.msg import Action, ArmState, ArmStatus, LearnerStatus
from bayes_curiosity_ros.nodes.qos import LATCHED_QOS
from benchmarks.faults.legitimate import legitimate_joints
from benchmarks.faults.target import (
    ANSWER_S,
    Input,
    NoAnswerError,
    Target,
    plain,
    spoilt,
    stranger,
)
from support.graph import eventually
from support.waiting import until

WISHES = {"operator/target": PoseStamped, "joy": Joy}
WAITS = "waiting for a person who drives"


class Demonstrate(Target):
    """The arm is moved by hand; a legitimate request is an episode of it."""

    name = "demonstrate"

    def prepare(self) -> None:
        self._stamp_s = 0.0

    def inputs(self) -> list[Input]:
        joints = lambda rng: legitimate_joints(rng.random())  # noqa: E731
        return [
            Input("joint_states", JointState, spoilt(joints), joints),
            plain("object_pose", PoseStamped),
        ]

    def probe(self) -> Any:
        if not until(self._begins, ANSWER_S):
            raise NoAnswerError("no episode begins")
        return self.call(Trigger, "demonstrate/end", Trigger.Request()).success

    def _begins(self) -> bool:
        """Whether an episode has begun, once the node has heard of joints and object."""
        self._stamp_s += 1.0
        self.publisher(JointState, "joint_states").publish(legitimate_joints(self._stamp_s))
        self.publisher(PoseStamped, "object_pose").publish(PoseStamped())
        answer = self.call(Trigger, "demonstrate/begin", Trigger.Request())
        return bool(answer.success)


class Drive(Target):
    """Nobody has taken the arm over, so that whatever a person wants, no step is made."""

    name = "drive"
    companions = ("arm",)

    def prepare(self) -> None:
        self.parameters = {"operator_confirmed": "true", "episodes": 1000}
        self._status = self.inbox(LearnerStatus, "learner/status", LATCHED_QOS)
        self._actions = self.inbox(Action, "action")
        self._probes = 0

    def inputs(self) -> list[Input]:
        return [
            *(plain(topic, kind) for topic, kind in WISHES.items()),
            Input("arm/state", ArmState, spoilt(stranger(ArmState)), stranger(ArmState)),
            plain("arm/status", ArmStatus, LATCHED_QOS),
        ]

    def probe(self) -> Any:
        """An episode is discarded: the next one waits for a person."""
        if not self.call(Trigger, "demonstrate/discard", Trigger.Request()).success:
            raise NoAnswerError("an episode cannot be discarded")
        self._probes += 1
        waits = lambda m: WAITS in m.reason and m.episodes > self._probes  # noqa: E731
        episodes = eventually(self._status, waits, ANSWER_S).episodes
        return episodes - self._probes, self._actions.qsize()
