"""The SROS2 policy is in step with the nodes: each may do what it does, and little more."""

import importlib
import signal
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import rclpy
from rclpy.node import Node

from bayes_curiosity_ros.bringup.table import NodeSpec, nodes
from bayes_curiosity_ros.bringup.up import command_of
from bayes_curiosity_ros.environment import SIGNALS
from bayes_curiosity_ros.nodes.loopback import bind_to_loopback
from bayes_curiosity_ros.nodes.run import Ending
from bayes_curiosity_ros.resources import shared

ENCLAVE = "/bayes_curiosity"
RULES = ("publish", "subscribe", "reply", "request")
SIMULATED = {"task": "visual_reach", "record": "true", "enclave": ENCLAVE}
SIMULATED |= {"web": "true", "web_port": "0"}
DRIVEN = SIMULATED | {"demonstrations": "1"}
REAL = {"arm": "kortex", "robot_ip": "127.0.0.1", "record": "true", "enclave": ENCLAVE}


def allowed() -> dict[str, dict[str, set[str]]]:
    """Whole names that each enclave may publish, subscribe to, answer and call."""
    policy = ElementTree.parse(shared("security", "policy.xml")).getroot()
    assert (policy.tag, policy.get("version")) == ("policy", "0.2.0")
    return {enclave.get("path", ""): _rules(enclave) for enclave in policy.iter("enclave")}


def _rules(enclave: ElementTree.Element) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {rule: set() for rule in RULES}
    for profile in enclave.iter("profile"):
        for group in profile:
            assert group.tag in {"topics", "services"}
            for rule, qualifier in group.attrib.items():
                assert qualifier == "ALLOW"
                found[rule] |= {_whole(profile, name.text or "") for name in group}
    return found


def _whole(profile: ElementTree.Element, name: str) -> str:
    if name.startswith("~"):
        return f"/{profile.get('node')}{name[1:]}"
    return name if name.startswith("/") else f"/{name}"


POLICY = allowed()


def used_by(node: Node) -> dict[str, set[str]]:
    """The same for what a node has opened."""
    return {
        "publish": {publisher.topic_name for publisher in node.publishers},
        "subscribe": {subscription.topic_name for subscription in node.subscriptions},
        "reply": {node.resolve_service_name(service.srv_name) for service in node.services},
        "request": {node.resolve_service_name(client.srv_name) for client in node.clients},
    }


def make(spec: NodeSpec) -> Node:
    """The node of a row of the table."""
    module = importlib.import_module(spec.module)
    kind = getattr(module, f"{spec.name.title()}Node")
    return kind(Ending()) if spec.name in {"drive", "learner"} else kind()


@pytest.fixture
def ros(tmp_path, monkeypatch):
    """Function that starts ROS with a node's own command line."""
    monkeypatch.chdir(tmp_path)
    bind_to_loopback()
    handlers = {number: signal.getsignal(number) for number in SIGNALS}  # a learner takes them

    def start(spec: NodeSpec) -> None:
        rclpy.init(args=command_of(spec)[2:])

    yield start
    rclpy.try_shutdown()
    for number, handler in handlers.items():
        signal.signal(number, handler)


def specs() -> list[NodeSpec]:
    """Every node of the bringup; those that differ with a real arm, both ways."""
    real = [spec for spec in nodes(REAL) if spec.name in {"camera", "detector"}]
    driven = [spec for spec in nodes(DRIVEN) if spec.name == "drive"]
    return [*nodes(SIMULATED), *driven, *real]


@pytest.mark.parametrize("spec", specs(), ids=lambda spec: spec.name)
def test_a_node_may_do_what_it_does(ros, spec):
    ros(spec)
    node = make(spec)
    used = used_by(node)
    node.destroy_node()
    missing = {rule: used[rule] - POLICY[spec.enclave][rule] for rule in RULES}
    assert not any(missing.values()), missing


def test_every_node_may_tell_what_it_rejected():
    assert all("/diagnostics" in POLICY[spec.enclave]["publish"] for spec in specs())


def test_every_node_has_an_enclave_and_every_enclave_a_node_but_for_the_operator():
    assert set(POLICY) == {spec.enclave for spec in specs()} | {f"{ENCLAVE}/operator"}


def test_no_comment_stands_where_sros2_takes_it_for_an_enclave():
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    tree = ElementTree.parse(shared("security", "policy.xml"), parser)
    for kind, inside in (
        ("enclaves", "enclave"),
        ("enclave", "profiles"),
        ("profiles", "profile"),
    ):
        assert {child.tag for parent in tree.iter(kind) for child in parent} == {inside}


def test_only_what_runs_episodes_publishes_actions():
    assert {path for path, may in POLICY.items() if "/action" in may["publish"]} == {
        f"{ENCLAVE}/learner",
        f"{ENCLAVE}/drive",
    }


def test_only_the_person_at_the_arm_takes_it_over():
    for name, rule in (("take", "request"), ("give", "request"), ("target", "publish")):
        who = {path for path, may in POLICY.items() if f"/operator/{name}" in may[rule]}
        assert who == {f"{ENCLAVE}/operator", f"{ENCLAVE}/monitor"}


def test_every_service_is_called_by_known_nodes_alone():
    """The arm is driven by the learner, stopped by the operator too; parameters are only read."""
    callers: dict[str, set[str]] = {}
    for path, may in POLICY.items():
        for name in may["request"]:
            callers.setdefault(name, set()).add(Path(path).name)
    assert callers["/arm/reset_episode"] == {"drive", "learner"}
    assert callers["/arm/release"] == {"monitor", "operator"}
    assert set().union(*callers.values()) == {"drive", "learner", "monitor", "operator"}
    assert not any("set_parameters" in name or "change_state" in name for name in callers)


def test_nobody_may_call_or_hear_what_nobody_offers():
    drivers = {
        name for may in POLICY.values() for name in may["subscribe"] if "/camera/camera/" in name
    }
    drivers |= {"/joy", "/replay/status"}
    published = set().union(*(may["publish"] for may in POLICY.values())) | drivers
    answered = set().union(*(may["reply"] for may in POLICY.values()))
    for path, may in POLICY.items():
        assert may["subscribe"] <= published, path
        assert may["request"] <= answered, path
        assert not any("*" in name for rule in RULES for name in may[rule])


def test_nodes_have_enclaves_only_where_they_are_asked_for():
    assert not any("--enclave" in command_of(spec) for spec in nodes({}))
    arm = command_of(nodes({"enclave": ENCLAVE})[0])
    assert arm[arm.index("--enclave") + 1] == f"{ENCLAVE}/arm"
