"""Real nodes in processes of their own, on a ROS domain that nobody else uses."""

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest


def private_domain() -> str:
    """A ROS domain that no other test run on this machine holds, ours until this process ends."""
    for domain in range(1, 101):
        lock = open(Path(tempfile.gettempdir()) / f"ros_domain_{domain}.lock", "w")  # noqa: SIM115
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        LOCKS.append(lock)
        return str(domain)
    raise RuntimeError("all ROS domains from 1 to 100 are taken")


LOCKS: list = []
GRAPH = {
    "ROS_DOMAIN_ID": private_domain(),
    "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
    "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4",
}
os.environ.update(GRAPH)
# Small networks gain nothing from more threads, and lose much where cores are few.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def die_with_parent() -> None:
    """Ask the kernel to end this process when the test's process ends, however it ends."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


@pytest.fixture(scope="session")
def ends_with_us():
    """For processes that other helpers start: what to call in each before it runs."""
    return die_with_parent


@pytest.fixture
def start():
    """A function that starts a node's module and returns its process; all end with the test."""
    processes = []

    def run(module: str, *arguments: str, cwd=None) -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=cwd,
            preexec_fn=die_with_parent,
        )
        processes.append(process)
        return process

    yield run
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=10)


@pytest.fixture
def background():
    """A node of the test's own."""
    from bayes_curiosity_ros.nodes.background import BackgroundNode

    with BackgroundNode("tester") as node:
        yield node
