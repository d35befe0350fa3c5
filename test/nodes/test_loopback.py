"""Nodes listen on the loopback interface alone, and are heard by others of this machine."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from rclpy.duration import Duration

from bayes_curiosity_interfaces.msg import Action
from bayes_curiosity_ros.environment import DISCOVERY_RANGE
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.nodes import loopback
from bayes_curiosity_ros.nodes.loopback import (
    FIRST_PORT,
    PORTS_PER_DOMAIN,
    PROFILE_VARIABLES,
    bind_to_loopback,
    require_loopback,
)
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS
from bayes_curiosity_ros.resources import shared
from support.processes import stopped
from support.waiting import WAIT_S, until, wait_for

RANGE, TRANSPORTS = DISCOVERY_RANGE[0], "FASTDDS_BUILTIN_TRANSPORTS"
BOUND = {
    "FASTRTPS_DEFAULT_PROFILES_FILE": str(shared("config/dds", "loopback.xml")),
    "FASTDDS_DEFAULT_PROFILES_FILE": str(shared("config/dds", "loopback_3.xml")),
    "RMW_FASTRTPS_USE_QOS_FROM_XML": "1",
    RANGE: "SYSTEM_DEFAULT",
}
# A node of somebody else's: it calls the arm, and hears it.
FOREIGN = """
import rclpy
from std_srvs.srv import Trigger
from bayes_curiosity_interfaces.msg import ArmStatus
rclpy.init()
node, heard = rclpy.create_node("foreign"), []
node.create_subscription(ArmStatus, "arm/status", heard.append, 10)
client = node.create_client(Trigger, "arm/stop")
assert client.wait_for_service({wait_s})
answer = client.call_async(Trigger.Request())
rclpy.spin_until_future_complete(node, answer, timeout_sec={wait_s})
assert answer.result().success
while not any(status.state == ArmStatus.STOPPED for status in heard):
    rclpy.spin_once(node, timeout_sec={wait_s})
print("heard and obeyed")
"""


@pytest.mark.parametrize("inherited", [{}, {RANGE: "LOCALHOST"}, BOUND])
def test_a_node_that_stays_here_is_bound_to_loopback(inherited):
    environment = dict(inherited)
    bind_to_loopback(environment)
    assert environment == BOUND


@pytest.mark.parametrize(
    "wish",
    [
        {RANGE: "SUBNET"},
        {RANGE: "OFF"},
        {RANGE: "LOCALHOST", "ROS_STATIC_PEERS": "192.0.2.7"},
        {RANGE: "LOCALHOST", "ROS_DISCOVERY_SERVER": "192.0.2.7:11811"},
        {RANGE: "LOCALHOST", "ROS_LOCALHOST_ONLY": "1"},
    ],
)
def test_other_plans_for_discovery_are_left_alone_but_without_shared_memory(wish):
    environment = dict(wish)
    bind_to_loopback(environment)
    assert environment == {**wish, TRANSPORTS: "UDPv4"}


@pytest.mark.parametrize(
    "wish",
    [
        {RANGE: "LOCALHOST", "FASTRTPS_DEFAULT_PROFILES_FILE": "mine.xml"},
        {RANGE: "LOCALHOST", "FASTDDS_DEFAULT_PROFILES_FILE": "mine.xml"},
        {RANGE: "SUBNET", "FASTDDS_DEFAULT_PROFILES_FILE": "mine.xml"},
        {RANGE: "SUBNET", TRANSPORTS: "LARGE_DATA"},
    ],
)
def test_a_profile_or_transports_of_the_users_own_are_left_alone(wish):
    environment = dict(wish)
    bind_to_loopback(environment)
    assert environment == wish


def test_another_range_counts_more_than_a_profile_inherited_from_us():
    environment = {**BOUND, RANGE: "SUBNET"}
    bind_to_loopback(environment)
    assert environment == {RANGE: "SUBNET", TRANSPORTS: "UDPv4"}


def test_another_middleware_is_left_to_its_own_localhost(monkeypatch):
    monkeypatch.setattr(loopback, "get_rmw_implementation_identifier", lambda: "rmw_other_cpp")
    environment: dict[str, str] = {}
    bind_to_loopback(environment)
    assert environment == {RANGE: "LOCALHOST"}


def test_a_node_that_listens_elsewhere_in_spite_of_the_profile_is_refused(monkeypatch):
    for name, value in BOUND.items():
        monkeypatch.setenv(name, value)
    require_loopback()
    last = FIRST_PORT + PORTS_PER_DOMAIN * (int(os.environ["ROS_DOMAIN_ID"]) + 1) - 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("0.0.0.0", last))
        with pytest.raises(ConfigError, match=rf"listening on 0\.0\.0\.0:{last} in spite of"):
            require_loopback()


def test_each_version_of_fast_dds_has_its_own_spelling_of_one_profile():
    second, third = (shared("config/dds", f"loopback{end}.xml").read_text() for end in ("", "_3"))
    assert second.replace("heartbeatPeriod", "heartbeat_period") == third != second


def test_a_reader_says_soon_what_it_has(start, background):
    """So nothing is kept for long to be sent again; Fast DDS's own period is 3 s."""
    start("bayes_curiosity_ros.nodes.arm_node")
    actions = background.node.create_publisher(Action, "action", EPISODE_QOS)
    wait_for(lambda: actions.get_subscription_count() == 1, "arm")

    def acknowledged() -> bool:
        for _ in range(10):
            actions.publish(Action())
        return actions.wait_for_all_acked(Duration(seconds=1.5))

    assert until(acknowledged)


def addresses(pid: int) -> set[str]:
    """Addresses and ports, in hexadecimal, of a process's UDP sockets."""
    links = {os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()}
    lines = Path(f"/proc/{pid}/net/udp").read_text().splitlines()[1:]
    return {words[1] for words in map(str.split, lines) if f"socket:[{words[9]}]" in links}


def test_sockets_of_a_node_are_on_loopback_and_foreign_nodes_here_still_find_it(
    start, monkeypatch
):
    monkeypatch.setenv(RANGE, "LOCALHOST")
    arm = start("bayes_curiosity_ros.nodes.arm_node")
    foreign = subprocess.run(
        [sys.executable, "-c", FOREIGN.replace("{wait_s}", str(WAIT_S))],
        env={k: v for k, v in os.environ.items() if k not in PROFILE_VARIABLES},
        capture_output=True,
        text=True,
        timeout=3 * WAIT_S,
    )
    assert "heard and obeyed" in foreign.stdout, foreign.stderr
    assert until(lambda: len(addresses(arm.pid)) >= 3)
    assert {address.split(":")[0] for address in addresses(arm.pid)} == {"0100007F"}
    stopped(arm)
