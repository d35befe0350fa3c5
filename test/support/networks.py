"""Two machines in one: two network namespaces with a cable between them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from support.waiting import WAIT_S

ROOT = Path(__file__).parents[2]
# This machine's address on the cable; the other's ends in 2.
ADDRESS = "10.77.0.1"
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
{here} & here=$!
code=0
nsenter --net=/proc/$other/ns/net {there} || code=$?
kill $here $other
wait $here || true
exit $code
"""
PRIVATE = ("unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")


def may_make_networks() -> bool:
    """Whether this process has the right to make network namespaces."""
    probe = ["unshare", "--net", "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1"]
    try:
        return subprocess.run(probe, capture_output=True, timeout=WAIT_S).returncode == 0
    except OSError:
        return False


def on_two_machines(here: str, there: Path, environment: Mapping[str, str]) -> str:
    """Run a module here and a program there until that ends well; returns what both printed."""
    script = SETUP.replace("{here}", f"{sys.executable} -m {here}")
    script = script.replace("{there}", f"{sys.executable} {there}")
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*PRIVATE, "bash", "-c", script],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        text=True,
        capture_output=True,
        timeout=3 * WAIT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
