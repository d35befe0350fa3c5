"""A learner's claim on a node, where a stranger of the same name answers sooner."""

from __future__ import annotations

import time
from functools import partial
from types import SimpleNamespace

import pytest
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from bayes_curiosity_interfaces.srv import Claim
from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.nodes.claims import NodeClaim, claimed, serve_claims
from bayes_curiosity_ros.nodes.episode_runner import EpisodeRunner
from bayes_curiosity_ros.nodes.peers import Peers
from bayes_curiosity_ros.nodes.waiter import Waiter
from bayes_curiosity_ros.runs import NOBODY, Tenancy
from support.waiting import WAIT_S, wait_for

RUN = 7
LATE_S = 0.1


@pytest.fixture
def learner():
    """Node and waiter of a learner."""
    context = Context()
    rclpy.init(context=context)
    node = Node("learner", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    yield SimpleNamespace(node=node, waiter=Waiter(executor, SimpleNamespace(wanted="")))
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown(context=context)


@pytest.fixture
def stranger():
    """What a stranger of the same name works for, who answers at once."""
    tenancy = Tenancy("curiosity", 20.0, time.monotonic)
    with BackgroundNode("stranger") as other:
        serve_claims(other.node, "curiosity", tenancy, lambda: None)
        yield tenancy


@pytest.mark.parametrize("there", [True, False])
def test_a_node_is_regained_from_among_strangers_who_answer_sooner(
    learner, background, stranger, there
):
    """Where ours is there it is kept; where it is gone, the one that is there now is taken."""
    ours = Tenancy("curiosity", 20.0, time.monotonic)
    ours.take(RUN)

    def answer(request, response):
        time.sleep(LATE_S)
        return partial(claimed, ours, lambda: None)(request, response)

    if there:
        background.node.create_service(Claim, "curiosity/claim", answer)
    claim = NodeClaim(learner.node, learner.waiter, "curiosity", RUN)
    # Where requests go, which is what peers are known by: replies may be heard of sooner.
    request = f"rq{learner.node.resolve_service_name('curiosity/claim')}Request"
    readers = partial(learner.node.get_subscriptions_info_by_topic, request, True)
    wait_for(lambda: len(readers()) == 1 + there, "nodes")
    peers = Peers(learner.node, ["curiosity/claim"])
    peers.meet()
    claim.regain(WAIT_S, peers)
    assert stranger.run == (NOBODY if there else RUN)


@pytest.mark.parametrize("moved", [True, False])
def test_who_has_moved_no_arm_stops_none(moved):
    """Every arm of the domain hears a stop, those of other runs too."""
    said = []
    runner = SimpleNamespace(
        arm=SimpleNamespace(claim=SimpleNamespace(held=True), moved=moved),
        _stops=SimpleNamespace(publish=said.append),
        get_name=lambda: "learner",
    )
    EpisodeRunner.stop_arm(runner, "an error")
    assert [each.data for each in said] == ["learner: an error"] * moved
