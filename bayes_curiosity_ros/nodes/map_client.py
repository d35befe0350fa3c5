"""The map of the curiosity, asked of its node a few points at a time, and published."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from sensor_msgs.msg import PointCloud2

from bayes_curiosity_interfaces.msg import ArmState, EpisodeSummary, Status
from bayes_curiosity_interfaces.srv import Evaluate
from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.learning.map.points import CuriosityMap
from bayes_curiosity_ros.nodes.arm_watchers import GLANCE
from bayes_curiosity_ros.nodes.conversions.clouds import cloud_of
from bayes_curiosity_ros.nodes.conversions.observations import batch_of_observations
from bayes_curiosity_ros.nodes.curiosity_answers import CuriosityRefusedError
from bayes_curiosity_ros.nodes.descriptions import checked
from bayes_curiosity_ros.nodes.door import CheckedNode
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS
from bayes_curiosity_ros.nodes.run import STEADY_CLOCK
from bayes_curiosity_ros.nodes.wire import subscribe_aside, unserved
from bayes_curiosity_ros.robot.frames import WORLD

TOPIC = "curiosity/map"
SERVICE = "curiosity/evaluate"
EPISODE = "episode"
# Shortest time from the beginning of one map to that of the next, in [s], and as a multiple of how
# long a map took: a simulated arm's episodes follow each other ten times as fast, and maps of all
# of them would slow it.
PERIOD_S = 2.0
PERIODS = 5.0
# Time between two looks whether a map is due or an answer overdue, in [s].
LOOK_S = 0.25
ANSWER_S = 5.0
NEWEST_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class MapClient:
    """Has a map made at the beginning and after each episode, without ever waiting for it.

    One request at most is under way. Episodes that end while a map is being made lead to one more
    map, however many there are. Where the posterior changes meanwhile, the later points of a map
    are of the later one.

    Args:
        node: node that asks; its executor calls back.
        map_: points, and what is observed there.
        on_values: told the bonus of each point, (N,), when all are there.
        period_s: shortest time from the beginning of one map to that of the next, in [s].
        clock: monotonic time in [s].

    Attributes:
        made: number of maps that were finished.
        given_up: number of maps that were begun and not finished: no answer, or a refusal.
        duration_s: how long the last map took, in [s].
    """

    def __init__(
        self,
        node: CheckedNode,
        map_: CuriosityMap,
        on_values: Callable[[np.ndarray], object] = lambda values: None,
        period_s: float = PERIOD_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.made = self.given_up = 0
        self.duration_s = 0.0
        self._node, self._map, self._on_values = node, map_, on_values
        self._period_s, self._clock = period_s, clock
        self._due, self._began_s, self._asked_s = True, -period_s, 0.0
        self._spot = map_.usual_object
        self._values: list[np.ndarray] = []
        self._future: Future | None = None
        self._client = node.create_client(Evaluate, SERVICE)
        self._clouds = node.create_publisher(PointCloud2, TOPIC, LATCHED_QOS)
        # Nobody wakes up for these. Of the arm only the newest is looked at, when a map begins.
        self._episodes = subscribe_aside(node, EpisodeSummary, EPISODE, EPISODE_QOS)
        self._states = subscribe_aside(node, ArmState, GLANCE, NEWEST_QOS)
        node.create_timer(LOOK_S, self._look, clock=STEADY_CLOCK)

    def refresh(self) -> None:
        """Have a map made as soon as may be."""
        self._due = True
        self._look()

    def _look(self) -> None:
        """Begin a map that is due; give one up whose answer is overdue."""
        now_s = self._clock()
        for data in unserved(EpisodeSummary, self._episodes):
            summary = self._node.door.let_in(EPISODE, EpisodeSummary, data)
            learnt = summary is not None and summary.outcome != EpisodeSummary.ABORTED
            self._due = self._due or learnt
        if self._future is not None:
            if now_s - self._asked_s > ANSWER_S:
                self._client.remove_pending_request(self._future)
                self._give_up(CuriosityRefusedError(f"{SERVICE}: no answer in {ANSWER_S} s"))
        elif self._due and now_s >= self._next_s and self._client.service_is_ready():
            self._begin()

    @property
    def _next_s(self) -> float:
        """When the next map may begin."""
        return self._began_s + max(self._period_s, PERIODS * self.duration_s)

    def _begin(self) -> None:
        self._due, self._began_s = False, self._clock()
        self._spot = self._newest_object()
        self._values = []
        self._ask()

    def _newest_object(self) -> np.ndarray:
        """Where the object is, by the arm's newest state; if that is unknown, where it was."""
        for data in unserved(ArmState, self._states):
            state = self._node.door.let_in(GLANCE, ArmState, data)
            if state is not None and state.object_known:
                place = state.object_pose.position
                return np.array([place.x, place.y, place.z])
        return self._spot

    def _ask(self) -> None:
        """Ask for the next points."""
        first = sum(map(len, self._values))
        part = self._map.observations(self._spot, slice(first, first + self._map.together))
        request = Evaluate.Request(
            mode=Evaluate.Request.NOW, observations=batch_of_observations(part)
        )
        self._asked_s = self._clock()
        self._future = self._client.call_async(request)
        self._future.add_done_callback(self._node.door.guarded(SERVICE, self._take))

    def _take(self, future: Future) -> None:
        """Take an answer, unless it was given up; then ask for more, or tell."""
        if future is not self._future:
            return
        try:
            self._values.append(self._accepted(future))
        except BayesCuriosityError as error:
            self._give_up(error)
            return
        self._future = None
        if sum(map(len, self._values)) < len(self._map):
            self._ask()
        else:
            self._tell(np.concatenate(self._values))

    def _accepted(self, future: Future) -> np.ndarray:
        answer = checked(future.result())
        if answer.status.code != Status.OK:
            raise CuriosityRefusedError(f"{SERVICE}: {answer.status.message}")
        wanted = min(self._map.together, len(self._map) - sum(map(len, self._values)))
        if len(answer.reward) != wanted:
            raise CuriosityRefusedError(
                f"{SERVICE}: {len(answer.reward)} rewards for {wanted} observations"
            )
        return np.array(answer.reward)

    def _give_up(self, error: BayesCuriosityError) -> None:
        """No map this time; the next episode asks again."""
        self._future = None
        self.given_up += 1
        self._node.door.refuse(SERVICE, error)

    def _tell(self, values: np.ndarray) -> None:
        self.made += 1
        self.duration_s = self._clock() - self._began_s
        cloud = cloud_of(self._map.points, values, WORLD)
        cloud.header.stamp = self._node.get_clock().now().to_msg()
        self._clouds.publish(cloud)
        self._on_values(values)
