"""The order of the tests, a ROS domain for each worker, and the fixtures that many files use."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from support.domains import hold_domain
from support.processes import Start, others_in_domain, started_processes
from support.waiting import until

DOMAIN, HELD = hold_domain()
os.environ.update(
    ROS_DOMAIN_ID=str(DOMAIN),
    ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST",
)
# Small networks gain nothing from more threads, and lose much where cores are few.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Files that keep a worker busy for the longest time.
LONGEST = {"test_docs.py", "test_jaco_grasp.py", "test_recorder.py"}
# Whoever asks for one of these starts nodes.
NODE_FIXTURES = {"background", "nodes", "shell", "start"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the files that start nodes to the end, the longest first among them.

    What fails quickly fails first, and no worker is left alone with a long file.
    """
    with_nodes = {item.path for item in items if NODE_FIXTURES & set(_fixtures(item))}
    items.sort(key=lambda item: (item.path in with_nodes, item.path.name not in LONGEST))


def _fixtures(item: pytest.Item) -> list[str]:
    return getattr(item, "fixturenames", [])


@pytest.fixture(scope="module", autouse=True)
def _alone() -> None:
    """No node of an earlier file is on the graph any more: it would answer for ours."""
    assert until(lambda: not others_in_domain()), f"left behind: {others_in_domain()}"


@pytest.fixture
def start() -> Iterator[Start]:
    """Function that starts a node's module and returns its process; all end with the test."""
    with started_processes() as start:
        yield start


@pytest.fixture
def background():
    """Node of the test's own, spinning in a thread."""
    from bayes_curiosity_ros.nodes.background import BackgroundNode

    with BackgroundNode("tester") as node:
        yield node
