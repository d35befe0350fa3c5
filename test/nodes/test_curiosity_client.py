"""The learner's side of the curiosity node, with a node that answers when the test says so."""

from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from rclpy.task import Future

from bayes_curiosity_interfaces.msg import (
    CuriosityState,
    IntrinsicReward,
    Observation,
    Status,
)
from bayes_curiosity_interfaces.srv import Update
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.nodes.curiosity_client import (
    TOGETHER_S,
    CuriosityClient,
    CuriosityRefusedError,
)


class Pretended:
    """Node, waiter, publisher, subscription and service client in one; whoever waits gets the
    answer."""

    def __init__(self):
        self.published, self.asked, self.code = [], [], Status.OK
        self.state = CuriosityState()
        self.rewards, self.handle = [], self
        self.now_s, self.step_s = 0.0, 0.1

    def clock(self):
        self.now_s += self.step_s
        return self.now_s

    def create_client(self, kind, name):
        return self

    def create_subscription(self, kind, name, take, qos, raw=False):
        if kind is CuriosityState:
            take(self.state)
        else:
            self.take = take
        return self

    def destroy_subscription(self, subscription):
        pass

    def publish(self, message):
        self.published.append((message.episode, message.step))
        reward = IntrinsicReward(episode=message.episode, step=message.step, reward=1.0)
        self.rewards.append(serialize_message(reward))

    def take_message(self, kind, raw):
        return (self.rewards.pop(0), {}) if self.rewards else None

    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass

    def until(self, ready, timeout_s, what):
        assert ready(), what

    def call_async(self, request):
        self.asked.append((request, Future()))
        return self.asked[-1][1]

    def call(self, client, request, timeout_s):
        return SimpleNamespace(status=Status(code=self.code))

    def answer(self, client, future, timeout_s):
        if not future.done():
            self.answered()
        return future.result()

    def answered(self):
        answer = Update.Response(status=Status(code=self.code, message="as the test says"))
        answer.log_determinant = self.state.log_determinant
        self.asked[-1][1].set_result(answer)


@pytest.fixture
def graph():
    return Pretended()


@pytest.fixture
def client(graph):
    """Client whose first episode, of two observations, is over."""
    made = CuriosityClient(graph, graph, graph, 1.0, graph.clock)
    run(made, 1, steps=2)
    rewards, _ = made.finish(Observations(np.zeros((2, 3))))
    np.testing.assert_array_equal(rewards, [1.0, 1.0])
    return made


def run(client, episode, steps):
    client.begin(episode)
    for step in range(steps):
        client.publish(Observation(episode=episode, step=step))


def test_observations_wait_until_the_episode_before_is_taken_in(client, graph):
    run(client, 2, steps=2)
    assert graph.published == [(1, 0), (1, 1)]
    graph.answered()
    client.publish(Observation(episode=2, step=2))
    assert graph.published[2:] == [(2, 0), (2, 1), (2, 2)]


def test_an_episode_that_is_over_first_waits_for_the_one_before(client, graph):
    run(client, 2, steps=2)
    client.finish(Observations(np.zeros((2, 3))))
    assert graph.published[2:] == [(2, 0), (2, 1)]
    assert [request.episode for request, _ in graph.asked] == [1, 2]


def test_observations_that_come_fast_are_published_together_and_in_order(client, graph):
    graph.answered()
    graph.step_s = 0.0
    run(client, 2, steps=3)
    assert graph.published == [(1, 0), (1, 1)]
    graph.now_s += TOGETHER_S
    client.publish(Observation(episode=2, step=3))
    assert graph.published[2:] == [(2, 0), (2, 1), (2, 2), (2, 3)]


def test_an_episode_that_is_cut_short_leaves_no_observation_unpublished(client, graph):
    graph.step_s = 0.0
    run(client, 2, steps=3)
    client.settle()
    assert graph.published[2:] == [(2, 0), (2, 1), (2, 2)]


def test_one_callback_takes_all_rewards_that_came(client, graph):
    graph.answered()
    run(client, 2, steps=3)
    graph.take(graph.rewards.pop(0))
    assert not graph.rewards
    rewards, _ = client.finish(Observations(np.zeros((3, 3))))
    np.testing.assert_array_equal(rewards, [1.0, 1.0, 1.0])


def test_a_refused_update_ends_the_run(client, graph):
    graph.code = Status.NOT_READY
    graph.answered()
    client.begin(2)
    with pytest.raises(CuriosityRefusedError, match="curiosity/update: as the test says"):
        client.publish(Observation(episode=2, step=0))
    assert graph.published == [(1, 0), (1, 1)]


def test_what_a_loaded_model_knows_is_told_before_any_episode(client, graph):
    graph.state = CuriosityState(log_determinant=50.0, information=30.0)
    client.load("model.safetensors")
    assert client.information == 30.0
    graph.state.log_determinant = 60.0
    run(client, 2, steps=1)
    client.finish(Observations(np.zeros((1, 3))))
    graph.answered()
    client.publish(Observation(episode=3, step=0))
    assert client.information == 40.0
    client.reset()
    assert client.information == 0.0
