"""The environment of a node's process: whom it talks to, with how many threads, how it ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import MutableMapping
from pathlib import Path

# ROS traffic stays on this machine unless the user says otherwise.
DISCOVERY_RANGE = ("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
# Set by launch files to their process id: `ros2 launch` that gets SIGTERM leaves its nodes behind,
# the arm moving.
DIE_WITH_PARENT = "BAYES_CURIOSITY_DIE_WITH_PARENT"
PR_SET_PDEATHSIG = 1
SIGNALS = (signal.SIGINT, signal.SIGTERM)
# launch passes Ctrl-C on within this time in [s], and waits for longer.
PASSED_ON_S = 2.0
NODES = "bayes_curiosity_ros.nodes."
PROGRAMS = "bayes-curiosity-"


def stay_on_this_machine(environment: MutableMapping[str, str] = os.environ) -> None:
    """Keep ROS traffic on this machine, unless the environment says otherwise already.

    To be called before `rclpy.init` by whatever starts a node.
    """
    environment.setdefault(*DISCOVERY_RANGE)


def node_environment() -> dict[str, str]:
    """The environment for a node in a process of its own; its networks are small: one thread."""
    environment = dict(os.environ)
    stay_on_this_machine(environment)
    environment.setdefault("OMP_NUM_THREADS", "1")
    return environment


def launched() -> dict[str, str]:
    """What a launch file adds to a node's environment, so that the node ends with it."""
    return {DIE_WITH_PARENT: str(os.getpid())}


def is_node() -> bool:
    """Whether this process was started to be a node, by `python -m` or by a program of ours."""
    if sys.argv[0] == "-m":  # while Python looks for the module
        return any(word.startswith(NODES) for word in sys.orig_argv)
    return Path(sys.argv[0]).name.startswith(PROGRAMS)


def end_quietly_on_signals() -> None:
    """Let SIGINT and SIGTERM end this process with code 0, until a node handles them.

    A node imports for seconds; nothing has begun then that needs an orderly end, and a traceback
    tells nobody anything. resource/node.sh holds the signals back until here.
    """
    for number in SIGNALS:
        signal.signal(number, _end_quietly)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def _end_quietly(number: int, frame: object) -> None:
    """End, under launch on the second SIGINT only, or after a while.

    Ctrl-C reaches launch and its nodes alike. launch passes it on all the same, and reports a
    node that is gone by then as dead.
    """
    if number == signal.SIGINT and DIE_WITH_PARENT in os.environ:
        signal.signal(number, lambda *_: os._exit(0))
        time.sleep(PASSED_ON_S)
    os._exit(0)


def end_with_starter() -> None:
    """End with the process that a launch file named, even if it has ended already.

    A node imports for seconds before it can listen to anything; called before and after that.
    """
    starter = os.environ.get(DIE_WITH_PARENT)
    if starter:
        die_with_parent()
        if sys.platform == "linux" and not Path("/proc", starter).exists():
            os.kill(os.getpid(), signal.SIGTERM)


def die_with_parent() -> None:
    """Have the kernel send this process SIGTERM when its parent ends, however that ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
