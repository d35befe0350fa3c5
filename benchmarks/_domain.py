"""A ROS domain for one benchmark."""

from __future__ import annotations

import os


def private_domain() -> None:
    """Keep this process and those that it starts to themselves, on this machine."""
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ["ROS_DOMAIN_ID"] = str(1 + os.getpid() % 100)
