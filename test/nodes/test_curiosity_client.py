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
from bayes_curiosity_ros.errors import DamagedFileError
from bayes_curiosity_ros.nodes.curiosity_answers import CuriosityRefusedError
from bayes_curiosity_ros.nodes.curiosity_client import (
    TOGETHER_S,
    CuriosityClient,
)
from bayes_curiosity_ros.nodes.door import Door
from bayes_curiosity_ros.nodes.waiter import WaitTimeoutError

RUN = 7


class Pretended:
    """Node, waiter, publisher, subscription and service client in one; whoever waits gets the
    answer."""

    def __init__(self):
        self.published, self.asked, self.code = [], [], Status.OK
        self.state = CuriosityState(run=RUN)
        self.servers = 1
        self.called, self.checksum = [], ""
        self.seen = 0
        self.rewards, self.handle = [], self
        self.now_s, self.step_s = 0.0, 0.1
        self.pays, self.refuses, self.said = 1.0, Status.OK, []
        self.door = Door(self.said.append, self.said.append)

    def clock(self):
        self.now_s += self.step_s
        return self.now_s

    def create_timer(self, period_s, call, clock):
        pass

    def count_services(self, name):
        return self.servers

    def create_client(self, kind, name):
        return self

    def resolve_service_name(self, name):
        return f"/{name}"

    def get_subscriptions_info_by_topic(self, topic, no_mangle):
        return []

    def get_publishers_info_by_topic(self, topic):
        return []

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
        reward = IntrinsicReward(episode=message.episode, step=message.step, reward=self.pays)
        reward.run, reward.status.code = RUN, self.refuses
        self.rewards.append(serialize_message(reward))

    def take_message(self, kind, raw):
        return (self.rewards.pop(0), {}) if self.rewards else None

    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass

    def until(self, ready, timeout_s, what):
        if not ready():
            raise WaitTimeoutError(what)

    def get_pending_request(self, number):
        return self.asked[number][1]

    def pause(self, duration_s):
        pass

    def call_async(self, request):
        self.asked.append((request, Future()))
        return self.asked[-1][1]

    def call(self, client, request, timeout_s, peers=None):
        self.called.append(request)
        asked = getattr(request, "observations", None)
        scores = [2.0] * (asked.count if asked else 0)
        status = Status(code=self.code, message="as the test says")
        answer = {"checksum": self.checksum, "reward": scores, "curiosity": scores}
        return SimpleNamespace(status=status, observations_seen=self.seen, **answer)

    call_again = call

    def answer(self, client, future, timeout_s, peers):
        if not future.done():
            self.answered()
        return future.result()

    def answered(self):
        answer = Update.Response(status=Status(code=self.code, message="as the test says"))
        answer.information = self.state.information
        if self.code == Status.OK:
            self.seen += self.asked[-1][0].observations.count
        answer.observations_seen = self.seen
        self.get_pending_request(-1).set_result(answer)


@pytest.fixture
def graph():
    return Pretended()


@pytest.fixture
def client(graph):
    """Client whose first episode, of two observations, is over."""
    made = CuriosityClient(graph, graph, graph, 1.0, RUN, 1.0, print, clock=graph.clock)
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


def test_a_model_is_saved_and_loaded_by_name_and_checksum(client, graph):
    graph.checksum = "3f"
    assert client.save("curiosity_1.safetensors") == "3f"
    client.load("curiosity_1.safetensors", "3f")
    saved, loaded = graph.called
    assert (saved.path, loaded.path, loaded.checksum) == (*["curiosity_1.safetensors"] * 2, "3f")
    graph.code = Status.BAD_FILE
    with pytest.raises(DamagedFileError, match="curiosity/load: as the test says"):
        client.load("curiosity_1.safetensors", "3f")


def test_what_a_loaded_model_knows_is_told_before_any_episode(client, graph):
    graph.answered()
    graph.state = CuriosityState(observations=graph.seen, information=30.0, run=RUN)
    client.load("model.safetensors", "")
    assert client.information == 30.0
    graph.state.information = 40.0
    run(client, 2, steps=1)
    client.finish(Observations(np.zeros((1, 3))))
    graph.answered()
    client.publish(Observation(episode=3, step=0))
    assert client.information == 40.0
    client.reset()
    assert client.information == 0.0


def hear(client, graph, **fields):
    """The client's callback is called with a reward that nobody owes it."""
    graph.take(serialize_message(IntrinsicReward(run=RUN, **fields)))


def finished(client, graph, count=2):
    rewards, _ = client.finish(Observations(np.zeros((count, 3))))
    return rewards.tolist()


def test_rewards_of_steps_that_nobody_observed_are_rejected(client, graph):
    graph.answered()
    run(client, 2, steps=2)
    for step in (2, 99, 2**32 - 1, 99):
        hear(client, graph, episode=2, step=step, reward=7.0)
    assert finished(client, graph) == [1.0, 1.0]
    assert graph.door.rejected == {"intrinsic_reward": 4}
    assert client.lost == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e300])
def test_a_reward_that_is_no_number_is_asked_for_as_if_it_were_lost(client, graph, bad):
    graph.answered()
    graph.pays = bad
    run(client, 2, steps=2)
    assert finished(client, graph) == [2.0, 2.0]
    assert graph.door.rejected == {"intrinsic_reward": 2}
    assert client.lost == 2


def test_a_reward_with_a_refusal_is_asked_for(client, graph):
    graph.answered()
    graph.refuses = Status.NOT_READY
    run(client, 2, steps=2)
    assert finished(client, graph) == [2.0, 2.0]


def test_broken_bytes_among_rewards_are_rejected(client, graph):
    graph.answered()
    run(client, 2, steps=2)
    graph.rewards[1:1] = [b"", b"\x00\x01\x00\x00\xff", bytes(9)]
    graph.take(b"\x00")
    assert finished(client, graph) == [1.0, 1.0]
    assert graph.door.rejected == {"intrinsic_reward": 4}


def test_rewards_of_another_run_are_counted_and_not_taken(client, graph):
    graph.answered()
    run(client, 2, steps=2)
    for step in range(2):
        foreign = IntrinsicReward(episode=2, step=step, run=RUN + 1, reward=9.0)
        graph.take(serialize_message(foreign))
    rewards, _ = client.finish(Observations(np.zeros((2, 3))))
    np.testing.assert_array_equal(rewards, [1.0, 1.0])
    assert client.strangers == 2


def test_a_strangers_refusal_is_no_answer_to_an_update(client, graph):
    """Two nodes hear it; ours is slower, as it takes the episode in."""
    graph.code, graph.servers = Status.OTHER_RUN, 2
    graph.answered()
    run(client, 2, steps=1)
    assert graph.published[2:] == []
    graph.code = Status.OK
    graph.answered()
    client.publish(Observation(episode=2, step=1))
    assert graph.published[2:] == [(2, 0), (2, 1)]
