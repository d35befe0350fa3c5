"""The map of the curiosity over the graph: with a node that answers when the test says so, and
with a real one."""

import queue
import threading
from contextlib import contextmanager

import numpy as np
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.serialization import serialize_message
from rclpy.task import Future
from sensor_msgs.msg import PointCloud2

from bayes_curiosity_interfaces.msg import ArmState, EpisodeSummary, Status
from bayes_curiosity_interfaces.srv import Evaluate
from bayes_curiosity_ros.learning.map.points import TOGETHER, CuriosityMap
from bayes_curiosity_ros.nodes.conversions.clouds import FIELDS, cloud_of
from bayes_curiosity_ros.nodes.door import CheckedNode, Door
from bayes_curiosity_ros.nodes.loopback import bind_to_loopback
from bayes_curiosity_ros.nodes.map_client import ANSWER_S, MapClient
from bayes_curiosity_ros.nodes.qos import LATCHED_QOS
from bayes_curiosity_ros.robot.config import RobotConfig
from support.curiosity import CURIOSITY, Caller, vectors
from support.graph import Graph, inbox
from support.waiting import WAIT_S

COUNT = TOGETHER + 50
SPOT = (0.4, 0.1, 0.07)
PERIOD_S = 2.0


@pytest.fixture(scope="module")
def reach():
    return CuriosityMap.over("reach", RobotConfig.load(), COUNT)


class Pretended:
    """Node, service client, publisher, subscription and clock in one."""

    def __init__(self):
        self.asked, self.published, self.told, self.said = [], [], [], []
        self.states, self.summaries, self.removed = [], [], []
        self.ready, self.now_s = True, 0.0
        self.door = Door(self.said.append, self.said.append)
        self.handle = self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def create_client(self, kind, name):
        return self

    def create_publisher(self, kind, name, qos):
        return self

    def create_subscription(self, kind, name, take, qos, **options):
        return self

    def end_episode(self, summary):
        self.summaries.append(summary)
        self.look()

    def create_timer(self, period_s, call, clock):
        self.look = call

    def get_clock(self):
        return rclpy.clock.Clock()

    def take_message(self, kind, raw):
        waiting = self.summaries if kind is EpisodeSummary else self.states
        return (serialize_message(waiting.pop()), {}) if waiting else None

    def service_is_ready(self):
        return self.ready

    def call_async(self, request):
        self.asked.append((request, Future()))
        return self.asked[-1][1]

    def remove_pending_request(self, future):
        self.removed.append(future)

    def publish(self, message):
        self.published.append(message)

    def clock(self):
        return self.now_s

    def answer(self, code=Status.OK, missing=0):
        """Answer the newest request: each observation earns its first number."""
        request, future = self.asked[-1]
        rows = np.frombuffer(request.observations.vectors).reshape(request.observations.count, -1)
        answer = Evaluate.Response(reward=rows[missing:, 0])
        answer.status = Status(code=code, message="as the test says")
        future.set_result(answer)

    def finish_map(self):
        self.answer()
        self.answer()


@pytest.fixture
def pretended():
    return Pretended()


@pytest.fixture
def client(pretended, reach):
    return MapClient(pretended, reach, pretended.told.append, PERIOD_S, pretended.clock)


def ended(outcome=EpisodeSummary.SUCCESS):
    return EpisodeSummary(outcome=outcome)


def test_a_map_is_asked_for_in_parts_of_bounded_size_one_at_a_time(client, pretended, reach):
    pretended.look()
    assert [request.observations.count for request, _ in pretended.asked] == [TOGETHER]
    pretended.answer()
    assert [request.observations.count for request, _ in pretended.asked] == [TOGETHER, 50]
    assert not pretended.told
    pretended.answer()
    np.testing.assert_array_equal(pretended.told[0], reach.joints[:, 0])
    assert [request.mode for request, _ in pretended.asked] == [Evaluate.Request.NOW] * 2
    assert [request.run for request, _ in pretended.asked] == [0, 0]
    assert len(pretended.published) == client.made == 1


def test_nothing_is_asked_before_there_is_a_curiosity(client, pretended):
    pretended.ready = False
    pretended.look()
    assert not pretended.asked
    pretended.ready = True
    pretended.look()
    assert pretended.asked


def test_an_episode_leads_to_a_map_with_the_newest_place_of_the_object(client, pretended):
    pretended.look()
    pretended.finish_map()
    pretended.now_s += PERIOD_S
    pretended.look()
    assert len(pretended.asked) == 2  # nothing has changed
    state = ArmState(object_known=True)
    place = state.object_pose.position
    place.x, place.y, place.z = SPOT
    pretended.states.append(state)
    pretended.end_episode(ended())
    rows = np.frombuffer(pretended.asked[-1][0].observations.vectors).reshape(TOGETHER, -1)
    np.testing.assert_allclose(rows[:, 6:], np.tile(SPOT, (TOGETHER, 1)))


def test_an_aborted_episode_changes_nothing(client, pretended):
    pretended.look()
    pretended.finish_map()
    pretended.now_s += PERIOD_S
    pretended.end_episode(ended(EpisodeSummary.ABORTED))
    assert len(pretended.asked) == 2


def test_many_episodes_during_a_map_lead_to_one_more(client, pretended):
    pretended.look()
    for _ in range(20):
        pretended.end_episode(ended())
    assert len(pretended.asked) == 1
    pretended.finish_map()
    pretended.look()
    assert len(pretended.asked) == 2  # too soon
    pretended.now_s += PERIOD_S
    pretended.look()
    assert len(pretended.asked) == 3
    pretended.finish_map()
    pretended.now_s += PERIOD_S
    pretended.look()
    assert len(pretended.asked) == 4
    assert client.made == 2


def test_a_slow_map_is_asked_for_less_often(client, pretended):
    pretended.look()
    pretended.now_s += PERIOD_S
    pretended.finish_map()
    assert client.duration_s == PERIOD_S
    pretended.end_episode(ended())
    assert len(pretended.asked) == 2
    pretended.now_s += 4 * PERIOD_S
    pretended.look()
    assert len(pretended.asked) == 3


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"code": Status.REJECTED}, "as the test says"),
        ({"missing": 3}, f"{TOGETHER - 3} rewards for {TOGETHER}"),
    ],
)
def test_a_refusal_is_said_and_the_next_episode_asks_again(client, pretended, answer, words):
    pretended.look()
    pretended.answer(**answer)
    assert client.given_up == 1
    assert words in pretended.said[0]
    pretended.now_s += PERIOD_S
    pretended.end_episode(ended())
    pretended.finish_map()
    assert len(pretended.told) == 1


def test_an_answer_that_does_not_come_is_given_up_and_ignored_later(client, pretended):
    pretended.look()
    pretended.now_s += 1.01 * ANSWER_S
    pretended.look()
    assert client.given_up == 1
    assert pretended.removed == [pretended.asked[0][1]]
    pretended.answer()
    assert len(pretended.asked) == 1


def test_a_listener_that_fails_does_not_end_the_node(pretended, reach):
    def fail(values):
        raise ValueError("no page")

    client = MapClient(pretended, reach, fail, PERIOD_S, pretended.clock)
    pretended.look()
    pretended.finish_map()
    assert client.made == 1
    assert "no page" in pretended.said[0]


def test_a_cloud_has_its_points_and_values():
    points, values = np.arange(6.0).reshape(2, 3), np.array([0.5, 0.25])
    cloud = cloud_of(points, values, "world")
    table = np.frombuffer(cloud.data, dtype="<f4").reshape(cloud.width, len(FIELDS))
    np.testing.assert_array_equal(table, np.column_stack([points, values]))
    assert [(field.name, field.offset) for field in cloud.fields] == [
        ("x", 0), ("y", 4), ("z", 8), ("intensity", 12),
    ]  # fmt: skip
    assert (cloud.point_step, cloud.row_step, cloud.height) == (16, 32, 1)
    assert cloud.header.frame_id == "world"


@contextmanager
def spinning(reach, told):
    """A map client in a node of its own, as the monitor has it."""
    bind_to_loopback()
    rclpy.init()
    node, executor = CheckedNode("monitor"), SingleThreadedExecutor()
    client = MapClient(node, reach, told.put, period_s=0.0)
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    try:
        yield client
    finally:
        executor.shutdown()
        thread.join(WAIT_S)
        node.destroy_node()
        rclpy.try_shutdown()


def test_the_map_of_a_real_node_goes_dark_where_an_episode_was(start, background, reach):
    start(CURIOSITY)
    Caller(background).evaluate(vectors(1))
    told = queue.Queue()
    with spinning(reach, told):
        graph = Graph(background, {"observation": 1, "episode": 1})
        before = told.get(timeout=WAIT_S)
        away = np.linalg.norm(reach.points - [0.4, 0.0, 0.3], axis=1)
        near, far = np.argsort(away)[:10], np.argsort(away)[-10:]
        graph.episode(1, reach.observations(reach.usual_object).vectors[near])
        left = told.get(timeout=WAIT_S) / before
        assert left[near].max() < left[far].min()
        clouds = inbox(background, PointCloud2, "curiosity/map", LATCHED_QOS)
        assert clouds.get(timeout=WAIT_S).width == len(reach)
