"""Whatever comes to the page's port, a run beside it is bit for bit the one without a page."""

from __future__ import annotations

import contextlib
import socket
import time

import numpy as np
from websockets.exceptions import WebSocketException

from bayes_curiosity_ros.bringup.up import port_of_page
from bayes_curiosity_ros.learning.episode_log import LOG
from benchmarks._page_viewer import open_viewer
from support.processes import output_of
from support.viewers import answers, malformed
from support.waiting import WAIT_S, wait_for

UP = ("up", "--scratch", "--dynamics", "kinematic", "--seed", "5", "--timesteps", "2500")
MESSAGES, CONNECTIONS = 1000, 100
# Messages that are sent in one connection, if it is not closed before.
TOGETHER = 25
LONGEST_S = 2 * WAIT_S


def harass(port: int) -> tuple[int, int]:
    """Send malformed messages, open and drop connections; how many of each."""
    rng, sent, opened = np.random.default_rng(0), 0, 0
    deadline = time.monotonic() + LONGEST_S
    while sent < MESSAGES and time.monotonic() < deadline:
        with (
            contextlib.suppress(OSError, WebSocketException),
            open_viewer(port, open_timeout=10.0, close_timeout=0.1) as viewer,
        ):
            for _ in range(TOGETHER):
                viewer.send(malformed(rng))
                sent += 1
    crowd = []
    while opened < CONNECTIONS and time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            crowd.append(socket.create_connection(("127.0.0.1", port), 10.0))
            crowd[-1].sendall(rng.bytes(50) if opened % 2 else b"GET / HTTP/1.1\r\n")
            opened += 1
    for connection in crowd:
        connection.close()
    return sent, opened


def test_a_run_with_a_hostile_viewer_is_that_without_a_page(start, tmp_path):
    output_of(start("bayes_curiosity_ros.cli", *UP, "--output", str(tmp_path / "alone")))
    port = port_of_page("127.0.0.1", 0)
    words = (*UP, "--web", "--web-port", str(port), "--output", str(tmp_path / "watched"))
    process = start("bayes_curiosity_ros.cli", *words)
    wait_for(lambda: process.poll() is not None or answers(port), "page")
    sent, opened = harass(port)
    noticed = process.poll()
    said = output_of(process)
    assert process.returncode == 0, said
    assert (sent >= MESSAGES, opened) == (True, CONNECTIONS)
    assert noticed is None, "the run was over before its page was harassed"
    alone, watched = (tmp_path / name / LOG for name in ("alone", "watched"))
    assert watched.read_bytes() == alone.read_bytes()
