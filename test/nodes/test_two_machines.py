"""Two machines: an arm in one network namespace, whoever wants to drive it in another."""

from pathlib import Path

import pytest

from support.networks import ADDRESS, may_make_networks, on_two_machines
from support.waiting import WAIT_S

pytestmark = pytest.mark.skipif(
    not may_make_networks(), reason="may not make network namespaces here"
)

DRIVER = """
from bayes_curiosity_interfaces.srv import ResetEpisode
from bayes_curiosity_ros.nodes.background import BackgroundNode

with BackgroundNode("far_away") as node:
    request = ResetEpisode.Request(episode=1, seed=3, operator_confirmed=True)
    answer = node.call(ResetEpisode, "arm/reset_episode", request, timeout_s={wait_s})
assert answer.status.code == 0, answer.status.message
assert len(answer.state.positions) >= 6
print("heard from afar")
"""
# Waits at the arm's namespace for its sockets; then asks every port, and as a ROS node.
STRANGER = """
import contextlib, os, select, socket, subprocess, time

def here(*words):
    command = ["nsenter", f"--net=/proc/{os.getppid()}/ns/net", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout

deadline = time.monotonic() + {wait_s}
while len(sockets := here("ss", "-Hlun").splitlines()) < 4:
    assert time.monotonic() < deadline, "the arm has opened no sockets"
    time.sleep(0.1)
time.sleep(1.0)
addresses = {line.split()[3] for line in here("ss", "-Hlun").splitlines()}
assert all(address.startswith("127.0.0.1:") for address in addresses), addresses
assert not here("ss", "-Hltn")

asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asking.setblocking(False)
for port in range(1, 65536):
    with contextlib.suppress(OSError):
        asking.sendto(b"RTPS", ("{address}", port))
assert not select.select([asking], [], [], 1.0)[0], asking.recvfrom(2048)
for port in range(1, 65536):
    with socket.socket() as calling, contextlib.suppress(ConnectionRefusedError):
        calling.settimeout({wait_s})
        calling.connect(("{address}", port))
        raise SystemExit(f"port {port} answers")

import rclpy
rclpy.init()
node = rclpy.create_node("stranger")
time.sleep(3.0)
assert node.get_node_names() == ["stranger"], node.get_node_names()
print("nobody there")
"""


def program(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "program.py"
    file.write_text(text.replace("{wait_s}", str(WAIT_S)).replace("{address}", ADDRESS))
    return file


def test_an_arm_on_another_machine_is_found_and_obeys(tmp_path: Path):
    printed = on_two_machines(
        "bayes_curiosity_ros.nodes.arm_node",
        program(tmp_path, DRIVER),
        {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"},
    )
    assert "heard from afar" in printed


def test_nothing_answers_another_machine_by_default(tmp_path: Path):
    """The stranger's node knows the address, and looks for nodes there on the ports of ROS."""
    stranger = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET", "ROS_STATIC_PEERS": ADDRESS}
    lines = [f"import os; os.environ.update({stranger})"]
    lines += [
        "for name in ('RTPS', 'DDS'): os.environ.pop(f'FAST{name}_DEFAULT_PROFILES_FILE', 0)"
    ]
    printed = on_two_machines(
        "bayes_curiosity_ros.nodes.arm_node",
        program(tmp_path, "\n".join([*lines, STRANGER])),
        {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"},
    )
    assert "nobody there" in printed
