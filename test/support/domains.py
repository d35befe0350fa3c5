"""A ROS domain for this process alone: test runs and their workers do not hear each other."""

from __future__ import annotations

import socket

# DDS takes the ports 7400 + 250 · domain + 0 and 1, and from 10 on two for each participant: at
# most 120 participants, and no port of another domain. Beyond domain 100 the ports are those that
# Linux gives to anybody.
FIRST_PORT, PORTS_PER_DOMAIN, UNUSED_PORT = 7400, 250, 5
DOMAINS = range(100, 0, -1)  # people choose small ones for themselves


def hold_domain() -> tuple[int, socket.socket]:
    """Find a domain that no other test process of this machine holds.

    It is ours as long as the returned socket is open: at the latest until this process ends.
    """
    for domain in DOMAINS:
        held = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        port = FIRST_PORT + PORTS_PER_DOMAIN * domain + UNUSED_PORT
        try:
            held.bind(("127.0.0.1", port))
        except OSError:
            held.close()
            continue
        return domain, held
    raise RuntimeError(f"all ROS domains from {DOMAINS[-1]} to {DOMAINS[0]} are taken")
