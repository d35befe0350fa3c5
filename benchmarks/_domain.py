"""A ROS domain for one benchmark."""

from __future__ import annotations

import os
import socket

from bayes_curiosity_ros.nodes.loopback import bind_to_loopback
from support.domains import hold_domain

_held: list[socket.socket] = []


def private_domain() -> None:
    """Keep this process and those that it starts to themselves, on this machine."""
    domain, held = hold_domain()
    _held.append(held)
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ["ROS_DOMAIN_ID"] = str(domain)
    bind_to_loopback()
