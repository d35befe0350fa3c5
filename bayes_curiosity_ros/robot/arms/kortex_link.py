"""One connection to a Kortex arm with a session on it; all of it is closed however it ends."""

from __future__ import annotations

import contextlib
import os
import socket
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from bayes_curiosity_ros.configuration.settings import require_positive
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.arms.arm import ArmError
from bayes_curiosity_ros.robot.arms.kortex_calls import KortexCalls

PASSWORD_VARIABLE = "KORTEX_PASSWORD"
SESSION_TIMEOUT_MS = 10_000
CLOSE_S = 0.2


@dataclass(frozen=True)
class LinkConfig:
    """Where an arm is, and how a silent connection is treated.

    Attributes:
        ip: network address of the arm.
        port: port of its TCP interface.
        username: user of the arm's web application.
        password: his password.
        inactivity_s: the arm itself stops what a session set in motion when it has heard nothing
            of it for so long.
    """

    ip: str
    port: int
    username: str
    password: str = field(repr=False)
    inactivity_s: float

    def __post_init__(self) -> None:
        require_positive(self, "inactivity_s")

    @staticmethod
    def checked(
        ip: str, port: int, username: str, password: str, inactivity_s: float
    ) -> LinkConfig:
        """The same, with a password from the environment where none is given.

        Raises:
            ConfigError: no address or no password.
        """
        password = password or os.environ.get(PASSWORD_VARIABLE, "")
        if not ip:
            raise ConfigError("kortex.ip is empty; give robot_ip:=…")
        if not password:
            raise ConfigError(f"no password: set {PASSWORD_VARIABLE} in the environment")
        return LinkConfig(ip, port, username, password, inactivity_s)


class KortexLink:
    """A connection, a session and the clients on it.

    Args:
        api: the vendor's modules.
        calls: how to call the arm.
        config: where it is.
        timeout_s: longest wait for the connection, and for the session.

    Attributes:
        base: the vendor's BaseClient.
        cyclic: the vendor's BaseCyclicClient.

    Raises:
        ArmError: no connection or no session; nothing is left open.
    """

    def __init__(
        self, api: SimpleNamespace, calls: KortexCalls, config: LinkConfig, timeout_s: float
    ) -> None:
        self._api, self._calls, self._config = api, calls, config
        self._timeout_s = timeout_s
        self._transport: Any = None
        self._session: Any = None
        try:
            router = self._connect()
            self._begin_session(router)
        except BaseException:
            self.close()
            raise
        self.base = api.base.BaseClient(router)
        self.cyclic = api.cyclic.BaseCyclicClient(router)

    def close(self) -> None:
        """End the session, and the connection; never raises, as either may be gone."""
        if self._session is not None:
            with contextlib.suppress(ArmError):
                self._calls(self._session.CloseSession, timeout_s=CLOSE_S)
        if self._transport is not None:
            with contextlib.suppress(Exception):
                self._transport.disconnect()
        self._session = self._transport = None

    def _connect(self) -> Any:
        where = (self._config.ip, self._config.port)
        try:
            # The vendor's own connect may wait for minutes where nobody answers.
            socket.create_connection(where, self._timeout_s).close()
            transport = self._api.transport.TCPTransport()
            router = self._api.router.RouterClient(transport, _report)
            transport.connect(*where)
        except OSError as error:
            raise ArmError(
                f"no connection to {where[0]}:{where[1]} ({error}); is the arm on, and this "
                "computer in its network?"
            ) from error
        self._transport = transport
        return router

    def _begin_session(self, router: Any) -> None:
        info = self._api.session_messages.CreateSessionInfo()
        info.username, info.password = self._config.username, self._config.password
        info.session_inactivity_timeout = SESSION_TIMEOUT_MS
        info.connection_inactivity_timeout = round(1000 * self._config.inactivity_s)
        self._session = self._api.sessions.SessionManager(router)
        self._calls(self._session.CreateSession, info, timeout_s=self._timeout_s)


def _report(error: Any) -> None:
    """The transport lost its other end; the next call says so."""
