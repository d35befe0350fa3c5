"""The environment of a node's process: whom it talks to, with how many threads, how it ends."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, MutableMapping
from pathlib import Path

# ROS traffic stays on this machine unless the user says otherwise.
DISCOVERY_RANGE = ("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
# Set by launch files to their process id: `ros2 launch` that gets SIGTERM leaves its nodes behind,
# the arm moving.
DIE_WITH_PARENT = "BAYES_CURIOSITY_DIE_WITH_PARENT"
# The operator's page takes its token from here; no other node may read it.
WEB_TOKEN = "BAYES_CURIOSITY_WEB_TOKEN"
PR_SET_PDEATHSIG = 1
SIGNALS = (signal.SIGINT, signal.SIGTERM)
LAST_PRIORITY = 1  # of SCHED_RR, behind all others
# launch passes Ctrl-C on within this time in [s], and waits for longer.
PASSED_ON_S = 2.0
NODES = "bayes_curiosity_ros.nodes."
PROGRAMS = "bayes-curiosity-"


def stay_on_this_machine(environment: MutableMapping[str, str] = os.environ) -> None:
    """Keep ROS traffic on this machine, unless the environment says otherwise already.

    To be called before `rclpy.init` by whatever starts a node.
    """
    environment.setdefault(*DISCOVERY_RANGE)


def have_a_log_folder() -> None:
    """Let ROS log to a temporary folder where there is no home to log in; it would not start."""
    if "ROS_LOG_DIR" in os.environ or "ROS_HOME" in os.environ:
        return
    try:
        folder = Path(os.environ["HOME"], ".ros", "log")
        folder.mkdir(parents=True, exist_ok=True)
        usable = os.access(folder, os.W_OK)
    except (KeyError, OSError):
        usable = False
    if not usable:
        os.environ["ROS_LOG_DIR"] = tempfile.mkdtemp(prefix="ros_log_")


def come_first(priority: int, behind: Iterable[int] = ()) -> None:
    """Have the threads of this process, and those that they start, run as soon as they want to.

    Their policy is SCHED_RR: whatever is scheduled as usual waits. What they do has to be
    short, or to leave a core to others.

    Args:
        priority: among such threads of all processes, 1 to 99.
        behind: native ids of threads that come after all such, and before what is scheduled as
            usual: they can hold Python's lock, and would keep it while other work runs.

    Raises:
        PermissionError: the system does not let this user.
    """
    last = set(behind)
    for name in os.listdir("/proc/self/task"):
        own = LAST_PRIORITY if int(name) in last else priority
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            os.sched_setscheduler(int(name), os.SCHED_RR, os.sched_param(own))


def node_environment(withheld: Iterable[str] = ()) -> dict[str, str]:
    """The environment for a node in a process of its own; its networks are small: one thread.

    Args:
        withheld: variables that are none of its business.
    """
    have_a_log_folder()
    hidden = set(withheld)
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    stay_on_this_machine(environment)
    environment.setdefault("OMP_NUM_THREADS", "1")
    return environment


def launched(withheld: Iterable[str] = ()) -> dict[str, str]:
    """What a launch file adds to a node's environment, so that the node ends with it.

    Args:
        withheld: variables that are none of the node's business; launch cannot remove them, so
            they are empty.
    """
    return {DIE_WITH_PARENT: str(os.getpid()), **dict.fromkeys(withheld, "")}


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
