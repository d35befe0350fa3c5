"""Two machines: an arm in one network namespace, whoever drives it in another."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.waiting import WAIT_S

SETUP = """
set -e
ip link set lo up
unshare --net sleep 300 & other=$!
until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
ip link add v0 type veth peer name v1
ip link set v1 netns $other
ip addr add 10.77.0.1/24 dev v0
ip link set v0 up multicast on
nsenter --net=/proc/$other/ns/net ip link set lo up
nsenter --net=/proc/$other/ns/net ip addr add 10.77.0.2/24 dev v1
nsenter --net=/proc/$other/ns/net ip link set v1 up multicast on
{python} -m bayes_curiosity_ros.nodes.arm_node & arm=$!
code=0
nsenter --net=/proc/$other/ns/net {python} {driver} || code=$?
kill $arm $other
wait $arm || true
exit $code
"""
PRIVATE = ("unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
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


def may_make_networks() -> bool:
    probe = ["unshare", "--net", "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1"]
    try:
        return subprocess.run(probe, capture_output=True, timeout=WAIT_S).returncode == 0
    except OSError:
        return False


@pytest.mark.skipif(not may_make_networks(), reason="may not make network namespaces here")
def test_an_arm_on_another_machine_is_found_and_obeys(tmp_path: Path):
    driver = tmp_path / "driver.py"
    driver.write_text(DRIVER.replace("{wait_s}", str(WAIT_S)))
    script = SETUP.replace("{python}", sys.executable).replace("{driver}", str(driver))
    root = str(Path(__file__).parents[2])
    environment = os.environ | {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
    environment["PYTHONPATH"] = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*PRIVATE, "bash", "-c", script],
        env=environment,
        text=True,
        capture_output=True,
        timeout=3 * WAIT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "heard from afar" in done.stdout
