"""Where the page is served, and to whom."""

from __future__ import annotations

import os
from dataclasses import dataclass
from ipaddress import ip_address

from bayes_curiosity_ros.configuration.settings import secret
from bayes_curiosity_ros.environment import WEB_TOKEN
from bayes_curiosity_ros.errors import ConfigError

SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class MonitorConfig:
    """Parameters of the monitor node.

    Attributes:
        robot: file in config/robots/, or a path.
        web_host: address at which the page is served; any but a loopback address needs a token.
        web_port: port of the page; 0 for any that is free.
        viewers: most browsers that may watch at the same time.
        token: what a viewer who is not on this machine gives to use the buttons; better left
            empty: then the environment variable BAYES_CURIOSITY_WEB_TOKEN counts.
    """

    robot: str = "jaco.yaml"
    web_host: str = "127.0.0.1"
    web_port: int = 8080
    viewers: int = 16
    token: str = secret()

    def __post_init__(self) -> None:
        if not 0 <= self.web_port <= 65535:
            raise ConfigError(f"web_port = {self.web_port}; it must be in 0 … 65535")
        if not 1 <= self.viewers <= 1000:
            raise ConfigError(f"viewers = {self.viewers}; it must be in 1 … 1000")
        token = self.given_token
        if token and len(token) < SHORTEST_TOKEN:
            raise ConfigError(
                f"the token has {len(token)} characters, at least {SHORTEST_TOKEN} are needed; "
                f"make one with: openssl rand -hex 16"
            )
        if not token and not is_loopback(self.web_host):
            raise ConfigError(
                f"web_host = {self.web_host!r} is open to other machines, which needs a token; "
                f"set {WEB_TOKEN} in the environment, or leave web_host at 127.0.0.1"
            )

    @property
    def given_token(self) -> str:
        """The token of the parameter file, else that of the environment; empty where none is."""
        return self.token or os.environ.get(WEB_TOKEN, "")


def is_loopback(host: str) -> bool:
    """Whether an address or name of a host means this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
