"""Real nodes in processes of their own, which end with the test that started them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from support.waiting import WAIT_S

GRACE_S = 10.0  # for a node to leave the graph in order


class Start(Protocol):
    """Starts a node's module, or any other, and returns its process."""

    def __call__(
        self, module: str, *arguments: str, cwd: Path | None = None
    ) -> subprocess.Popen[str]: ...


def die_with_parent() -> None:
    """Ask the kernel to end this process when the test's process ends, however it ends."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


@contextmanager
def started_processes() -> Iterator[Start]:
    """Give a function that starts a module; what still runs at the end is ended."""
    processes: list[subprocess.Popen[str]] = []

    def start(module: str, *arguments: str, cwd: Path | None = None) -> subprocess.Popen[str]:
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

    try:
        yield start
    finally:
        _end(processes)


def _end(processes: list[subprocess.Popen[str]]) -> None:
    """End what still runs, in order if it can be: a node that is killed haunts the graph.

    Others go on counting its topics and services until its lease is over, the next test's too.
    """
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + GRACE_S
    for process in processes:
        try:
            process.communicate(timeout=max(deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate(timeout=WAIT_S)


def others_in_domain() -> list[str]:
    """Command lines of other processes of ours that are in this process's ROS domain."""
    domain = f"ROS_DOMAIN_ID={os.environ['ROS_DOMAIN_ID']}".encode()
    lines = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            runs_node = "bayes_curiosity_ros" in line or "support.drivers" in line
            if runs_node and domain in (folder / "environ").read_bytes().split(b"\0"):
                lines.append(line)
    return lines


def output_of(process: subprocess.Popen[str]) -> str:
    """Wait until the process has ended, and return all that it printed."""
    return process.communicate(timeout=WAIT_S)[0]


def stopped(process: subprocess.Popen[str], sent: signal.Signals = signal.SIGINT) -> str:
    """Send a signal, by default Ctrl-C, and return all that the process printed."""
    process.send_signal(sent)
    return output_of(process)
