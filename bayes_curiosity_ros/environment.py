"""The environment of nodes: which machines they talk to, and with which process they end."""

from __future__ import annotations

import ctypes
import signal
import sys
from collections.abc import MutableMapping

# Set by whoever starts nodes and may be killed: its end then counts as SIGTERM to them.
DIE_WITH_PARENT = "BAYES_CURIOSITY_DIE_WITH_PARENT"
PR_SET_PDEATHSIG = 1


def stay_on_this_machine(environment: MutableMapping[str, str]) -> None:
    """Keep traffic on this machine, unless the environment says otherwise."""
    environment.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")


def die_with_parent() -> None:
    """However this process's parent ends, the kernel then ends this one in order."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
