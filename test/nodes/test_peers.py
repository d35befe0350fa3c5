"""Who is behind services and topics, on a real graph."""

import pytest
from std_msgs.msg import String
from std_srvs.srv import Trigger

from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.nodes.peers import Peers
from support.waiting import wait_for


@pytest.fixture
def peers(background):
    return Peers(background.node, ["peer/first", "peer/last"], ["peer/news"])


def serve(node, *names):
    for name in names:
        node.create_service(Trigger, name, lambda request, response: response)


def test_one_is_whole_with_all_that_it_offers(peers, background):
    serve(background.node, "peer/first", "peer/last")
    wait_for(lambda: peers.changed, "services")
    assert not peers.whole
    background.node.create_publisher(String, "peer/news", 10)
    wait_for(lambda: peers.whole, "all of it")


def test_who_only_publishes_is_no_peer(peers, background):
    """Whoever publishes a reward of ours must not look like another curiosity node."""
    serve(background.node, "peer/first", "peer/last")
    background.node.create_publisher(String, "peer/news", 10)
    wait_for(lambda: peers.whole, "all of it")
    peers.meet()
    with BackgroundNode("stranger") as stranger:
        stranger.node.create_publisher(String, "peer/news", 10)
        heard = background.node.count_publishers
        wait_for(lambda: heard("peer/news") == 2, "stranger")
        assert peers.whole
        assert not peers.changed
