"""What the learner knows of the recorder."""

from types import SimpleNamespace

import pytest
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from bayes_curiosity_ros.nodes.recorder_client import RecorderClient, UnrecordedError
from bayes_curiosity_ros.nodes.taps import HEARD, SETTLED, publishers_of
from bayes_curiosity_ros.nodes.waiter import WaitTimeoutError

LEARNER, RECORDER, OLD = (bytes([number] * 16) for number in (1, 2, 3))


class Pretended:
    """Node and waiter in one; who publishes and who listens, by topic."""

    def __init__(self):
        self.publishers = {"/action": [LEARNER], "recorder/status": [RECORDER]}
        self.listeners = {"/action": [RECORDER]}

    def create_subscription(self, kind, topic, take, qos):
        self.take = take

    def resolve_topic_name(self, name):
        return f"/{name.strip('/')}"

    def get_publishers_info_by_topic(self, topic):
        return [SimpleNamespace(endpoint_gid=gid) for gid in self.publishers.get(topic, ())]

    def get_subscriptions_info_by_topic(self, topic):
        return [SimpleNamespace(endpoint_gid=gid) for gid in self.listeners.get(topic, ())]

    def until(self, ready, timeout_s, what):
        if not ready():
            raise WaitTimeoutError(what)

    def says(self, **values):
        pairs = [KeyValue(key=key, value=value) for key, value in values.items()]
        self.take(DiagnosticStatus(values=pairs))

    def words(self, *gids):
        infos = [SimpleNamespace(endpoint_gid=gid) for gid in gids]
        return " ".join(publishers_of("/action", infos))


@pytest.fixture
def graph():
    return Pretended()


@pytest.fixture
def recorder(graph):
    return RecorderClient(graph, graph)


def test_a_publisher_that_was_started_again_is_not_heard_yet(graph, recorder):
    graph.says(**{HEARD: graph.words(OLD)})
    with pytest.raises(WaitTimeoutError, match="a recorder of /action"):
        recorder.wait_until_there(["action"], 1.0)
    graph.says(**{HEARD: graph.words(OLD, LEARNER)})
    recorder.wait_until_there(["action"], 1.0)


def test_a_recorder_that_the_publisher_has_not_met_does_not_hear_it(graph, recorder):
    graph.says(**{HEARD: graph.words(LEARNER)})
    graph.listeners = {"/action": [OLD]}
    with pytest.raises(WaitTimeoutError):
        recorder.wait_until_there(["action"], 1.0)


def test_in_mid_run_a_recorder_that_is_gone_ends_nothing(graph, recorder):
    told = []
    graph.says(**{HEARD: graph.words(LEARNER)})
    recorder.wait_until_there(["action"], 1.0)
    graph.says(**{HEARD: ""})
    recorder.wait_if_there(1.0, told.append)
    assert told == ["going on without a recorder of /action (is it running?)"]


def test_episodes_that_went_down_with_their_learner_are_not_there(graph, recorder):
    recorder.require(40)  # nothing is known
    graph.says(**{SETTLED: "38"})
    recorder.require(20)
    with pytest.raises(UnrecordedError, match=r"has not got all of episodes 1…40"):
        recorder.require(40)
