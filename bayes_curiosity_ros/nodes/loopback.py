"""Sockets of a node on the loopback interface alone, where ROS stays on this machine anyway.

With ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST nodes talk to nobody elsewhere, but Fast DDS listens
on every interface all the same. Our profile says the same as LOCALHOST, and where to listen.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from ipaddress import IPv4Address
from pathlib import Path

from rclpy.utilities import get_rmw_implementation_identifier

from bayes_curiosity_ros.environment import DISCOVERY_RANGE, stay_on_this_machine
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.resources import shared

FAST_DDS = "rmw_fastrtps_cpp"
# Jazzy's Fast DDS 2 knows the first variable, its successors the second, and each an element of
# the profile by a name of its own: what the files' names end with.
PROFILE_VARIABLES = {"FASTRTPS_DEFAULT_PROFILES_FILE": "", "FASTDDS_DEFAULT_PROFILES_FILE": "_3"}
# ROS sets how queues keep memory itself, unless it is told that a profile does.
ALL_OF_PROFILE = {"RMW_FASTRTPS_USE_QOS_FROM_XML": "1"}
# Whoever sets one of these has plans of their own for discovery.
OTHER_PLANS = (
    *PROFILE_VARIABLES,
    "ROS_STATIC_PEERS",
    "ROS_DISCOVERY_SERVER",
    "ROS_LOCALHOST_ONLY",
)
# Fast DDS's own word for no shared memory, where our profile is not there to say so: a node that
# was held up for a second might hear nobody any more (config/dds/loopback.xml).
UDP_ONLY = ("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
# ROS adds nothing to what a profile says.
AS_PROFILE_SAYS = "SYSTEM_DEFAULT"
FIRST_PORT, PORTS_PER_DOMAIN = 7400, 250


def bind_to_loopback(environment: MutableMapping[str, str] = os.environ) -> None:
    """Stay on this machine, on its loopback interface, unless the environment says otherwise.

    To be called before `rclpy.init`. Another range than LOCALHOST, peers, a discovery server, a
    profile of the user's own or another middleware: all is left as it is, but for shared memory,
    which is used only where the user has a profile, or names the transports.
    """
    stay_on_this_machine(environment)
    name, here = DISCOVERY_RANGE
    if _is_bound(environment) and environment[name] != AS_PROFILE_SAYS:
        # Of a process that started us, but for another range.
        for variable in (*PROFILE_VARIABLES, *ALL_OF_PROFILE):
            environment.pop(variable, None)
    plans = {each for each in OTHER_PLANS if environment.get(each, "0") not in ("", "0")}
    if get_rmw_implementation_identifier() != FAST_DDS:
        return
    if environment[name] == here and not plans:
        environment.update(_profiles())
        environment[name] = AS_PROFILE_SAYS
    elif not plans & set(PROFILE_VARIABLES):
        environment.setdefault(*UDP_ONLY)


def require_loopback() -> None:
    """See that the profile is in force, once there is a node.

    A Fast DDS that does not understand it would be open to the whole network.

    Raises:
        ConfigError: it is not; this process listens on another interface.
    """
    if _is_bound(os.environ) and (open_to := list(_open_to_others())):
        raise ConfigError(
            f"listening on {', '.join(open_to)} in spite of config/dds/: this Fast DDS "
            f"does not know its profiles; set {' or '.join(PROFILE_VARIABLES)} to a profile of "
            "your own"
        )


def _is_bound(environment: Mapping[str, str]) -> bool:
    """Whether the profile that counts is ours."""
    return _profiles().items() <= environment.items()


def _profiles() -> dict[str, str]:
    """Our profile by variable."""
    return ALL_OF_PROFILE | {
        variable: str(shared("config/dds", f"loopback{ending}.xml"))
        for variable, ending in PROFILE_VARIABLES.items()
    }


def _open_to_others() -> Iterator[str]:
    """Addresses beyond loopback on which this process listens at a port of its ROS domain."""
    if sys.platform != "linux":
        return
    first = FIRST_PORT + PORTS_PER_DOMAIN * int(os.environ.get("ROS_DOMAIN_ID") or 0)
    ports, own = range(first, first + PORTS_PER_DOMAIN), set(_own_sockets())
    for line in Path("/proc/self/net/udp").read_text().splitlines()[1:]:
        words = line.split()
        address, port = words[1].split(":")
        host, number = IPv4Address(bytes.fromhex(address)[::-1]), int(port, 16)
        if f"socket:[{words[9]}]" in own and number in ports and not host.is_loopback:
            yield f"{host}:{number}"


def _own_sockets() -> Iterator[str]:
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            yield os.readlink(link)
