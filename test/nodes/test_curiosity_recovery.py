"""A curiosity node that is lost: the learner's client brings it back, bit for bit."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from builtin_interfaces.msg import Time
from rclpy.serialization import serialize_message
from rclpy.task import Future

from bayes_curiosity_interfaces.msg import IntrinsicReward, Status
from bayes_curiosity_interfaces.srv import Claim, Evaluate, ModelFile, Reset, Update
from bayes_curiosity_ros.curiosity.curiosity import CuriosityConfig
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import EncoderConfig
from bayes_curiosity_ros.curiosity.keeper import CuriosityKeeper, KeeperConfig
from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.nodes.claims import claimed
from bayes_curiosity_ros.nodes.conversions.observations import (
    message_of_vector,
    observation_of_message,
    observations_of_batch,
)
from bayes_curiosity_ros.nodes.curiosity_answers import CuriosityRefusedError
from bayes_curiosity_ros.nodes.curiosity_client import CuriosityClient
from bayes_curiosity_ros.nodes.door import Door
from bayes_curiosity_ros.nodes.status import status_of
from bayes_curiosity_ros.nodes.waiter import PeerChangedError, WaitTimeoutError
from bayes_curiosity_ros.runs import Tenancy

CONFIG = KeeperConfig(encoder=EncoderConfig(3), curiosity=CuriosityConfig(weight=0.5))
STEPS, EPISODES, RUN = 6, 5, 7


class Graph:
    """A real keeper behind topics and services, which can be killed or held up at any call.

    Whoever waits for a node that is gone meets the next one, as `up` starts it again.
    """

    def __init__(self, folder):
        self.config = KeeperConfig(**{**vars(CONFIG), "model_folder": str(folder)})
        self.process, self.alive, self.backlog = -1, True, []
        self.begins()
        self.rewards, self.handle, self.faults, self.said = [], self, {}, []
        self.calls = 0
        self.door = Door(print, print)

    # The node.
    def create_client(self, kind, name):
        return SimpleNamespace(
            srv_name=name,
            service_is_ready=lambda: True,
            call_async=lambda request: self.asked(kind, name.rpartition("/")[2], request),
            get_pending_request=None,
        )

    def create_subscription(self, kind, name, take, qos, raw=False):
        if not raw:
            known = self.keeper.curiosity.regression
            told = {"observations": known.count, "information": known.information}
            take(SimpleNamespace(**told, run=self.tenancy.run))
        return self

    def create_timer(self, period_s, call, clock):
        pass

    def count_services(self, name):
        return 1

    def destroy_subscription(self, subscription):
        pass

    def resolve_service_name(self, name):
        return f"/{name}"

    def get_subscriptions_info_by_topic(self, topic, no_mangle):
        return [SimpleNamespace(endpoint_gid=bytes([self.process] * 16))]

    def get_publishers_info_by_topic(self, topic):
        return self.get_subscriptions_info_by_topic(topic, True)

    # The publisher of observations, and the subscription of rewards.
    def get_subscription_count(self):
        return 1

    def publish(self, message):
        self.happens()
        reward = IntrinsicReward(episode=message.episode, step=message.step, run=message.run)
        if not self.alive or self.tenancy.run != message.run:
            return
        try:
            scores = self.keeper.observe(
                message.episode, message.step, observation_of_message(message)
            )
            reward.reward, reward.curiosity = float(scores.reward[0]), float(scores.curiosity[0])
        except BayesCuriosityError as error:
            reward.status = status_of(error)
        self.rewards.append(serialize_message(reward))

    def take_message(self, kind, raw):
        return (self.rewards.pop(0), {}) if self.rewards else None

    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass

    # The waiter.
    def until(self, ready, timeout_s, what):
        if not ready() and not self.alive:
            self.comes_back()
        if not ready():
            raise WaitTimeoutError(what)

    def pause(self, duration_s):
        pass

    def call(self, client, request, timeout_s, peers=None):
        return self.answer(client, client.call_async(request), timeout_s, peers)

    call_again = call

    def answer(self, client, future, timeout_s, peers):
        self.until(lambda: future.done() or (peers and peers.changed), timeout_s, client.srv_name)
        if not future.done():
            raise PeerChangedError(client.srv_name)
        return future.result()

    # What a test does to the node.
    def begins(self):
        self.process, self.keeper = self.process + 1, CuriosityKeeper(self.config)
        self.tenancy = Tenancy("curiosity", 20.0, lambda: 0.0)

    def happens(self):
        fault = self.faults.pop(self.calls, None)
        self.calls += 1
        if fault == "dies":
            self.alive, self.backlog = False, None
        elif fault == "hangs":
            self.alive, self.backlog = False, []
        elif fault == "is replaced":
            self.begins()
        elif fault == "works for others":
            self.tenancy.leave(RUN)
            self.keeper.update(10_000, Observations(vectors(9)))

    def comes_back(self):
        self.alive = True
        if self.backlog is None:
            self.begins()
        for name, request in self.backlog or ():  # too late: nobody waits for it any more
            self.served(name, request)
        self.backlog = None

    def asked(self, kind, name, request):
        self.happens()
        future = Future()
        if self.alive:
            future.set_result(self.served(name, request))
        elif self.backlog is not None:
            self.backlog.append((name, request))
        return future

    def served(self, name, request):
        regression = self.keeper.curiosity.regression
        if name == "claim":
            return claimed(self.tenancy, lambda: None, request, Claim.Response())
        kind = {"evaluate": Evaluate, "update": Update, "reset": Reset}.get(name, ModelFile)
        answer = kind.Response()
        try:
            self.tenancy.require(request.run)
            if name == "evaluate":
                scores = self.keeper.curiosity.score_in_order(
                    observations_of_batch(request.observations)
                )
                answer.reward, answer.curiosity = scores.reward, scores.curiosity
                answer.observations_seen = regression.count
            elif name == "update":
                rows = observations_of_batch(request.observations)
                self.keeper.update(request.episode, rows)
            elif name == "reset":
                self.keeper.reset()
            elif name == "save":
                answer.checksum = self.keeper.save(request.path)[1]
            else:
                self.keeper.load(request.path, request.checksum)
        except BayesCuriosityError as error:
            answer.status = status_of(error)
        if name == "update":
            regression = self.keeper.curiosity.regression
            answer.observations_seen = regression.count
            answer.information = regression.information
        return answer


def vectors(episode):
    return np.random.default_rng(episode).uniform(-1.0, 1.0, (STEPS, 3))


def run(graph):
    """Rewards and information of some episodes, and the posterior they leave."""
    client = CuriosityClient(graph, graph, graph, 1.0, RUN, 1.0, graph.said.append)
    client.wait_until_there(1.0)
    client.reset()
    told = []
    for episode in range(1, EPISODES + 1):
        client.begin(episode)
        for step, vector in enumerate(vectors(episode)):
            message = message_of_vector(episode, step, Time(), vector)
            message.run = RUN
            client.publish(message)
        rewards, curiosity = client.finish(Observations(vectors(episode)))
        told.append((rewards.tolist(), curiosity.tolist(), client.information))
        if episode == 2:
            client.save("saved.safetensors")
    client.save("last.safetensors")
    keeper = graph.keeper
    factor = keeper.curiosity.regression.state_dict()["factor"]
    return told, factor, keeper._episodes, client.information


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    graph = Graph(folder)
    result = run(graph)
    assert not graph.said
    return result, graph.calls


@pytest.mark.parametrize("fault", ["dies", "hangs", "is replaced", "works for others"])
def test_a_node_that_is_lost_at_any_moment_changes_no_bit(undisturbed, tmp_path, fault):
    """At every call in turn: it comes back at its prior, late, or is another one at once."""
    (told, factor, episodes, information), calls = undisturbed
    for moment in range(1, calls):
        graph = Graph(tmp_path)
        graph.faults = {moment: fault}
        again = run(graph)
        assert again[0] == told, f"{fault} at call {moment}"
        assert torch.equal(again[1], factor), f"{fault} at call {moment}"
        assert (again[2], again[3]) == (episodes, information)


def test_the_learner_says_that_it_brings_a_node_back(tmp_path):
    graph = Graph(tmp_path)
    graph.faults = {3: "dies"}
    run(graph)
    assert any("bringing the curiosity node back to 0 observations" in each for each in graph.said)
    assert graph.said[-1] == "the curiosity node is back"


def test_a_node_that_never_comes_back_ends_the_run(tmp_path):
    graph = Graph(tmp_path)
    graph.faults = dict.fromkeys(range(3, 1000), "dies")
    with pytest.raises((CuriosityRefusedError, WaitTimeoutError)):
        run(graph)


def test_a_reset_also_forgets_what_the_first_episode_decided():
    """Or the first episode after a reset had another price than the first one ever."""
    keeper = CuriosityKeeper(CONFIG)
    first = Observations(vectors(1))
    before = keeper.curiosity.score_in_order(first).reward
    keeper.update(1, first)
    keeper.reset()
    np.testing.assert_array_equal(keeper.curiosity.score_in_order(first).reward, before)


def test_another_attempt_at_an_episode_is_priced_anew():
    keeper = CuriosityKeeper(CONFIG)
    rows = [Observations(vectors(1)[i : i + 1]) for i in range(3)]
    first = [keeper.observe(1, step, row).reward for step, row in enumerate(rows)]
    assert [keeper.observe(1, step, row).reward for step, row in enumerate(rows)] == first
    with pytest.raises(BayesCuriosityError, match="another one came at this step"):
        keeper.observe(1, 1, rows[2])
    keeper.update(2, Observations(vectors(2)))
    assert keeper.observe(1, 0, rows[0]).reward != first[0]


def test_status_of_a_step_out_of_order_is_known_to_the_client():
    keeper = CuriosityKeeper(CONFIG)
    with pytest.raises(BayesCuriosityError) as caught:
        keeper.observe(1, 4, Observations(vectors(1)[:1]))
    assert status_of(caught.value).code == Status.WRONG_STEP
