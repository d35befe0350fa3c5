"""The one place that knows viser's inside: who connects, and whether a browser is still there.

viser tells its users neither where a browser came from nor when it fell silent. Its websocket
server does; where its parts are not those that we know, no page is served.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

import viser
from websockets.exceptions import ConnectionClosed

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.monitor.access import Access, Visit

LARGEST = 1 << 16  # bytes of one message of a browser; a press of a button has some hundred
POLICY_VIOLATION, TRY_AGAIN_LATER = 1008, 1013


class Server(viser.ViserServer):
    """viser's server without its tunnel: no button of a browser puts this page on the internet."""

    def request_share_url(self, verbose: bool = True) -> str | None:
        return None


class Gate:
    """Lets browsers in or not, before they are sent anything.

    Args:
        server: where browsers connect.
        access: who may watch.
        most: most browsers at the same time.

    Raises:
        ConfigError: this viser is another than those we know.
    """

    def __init__(self, server: Server, access: Access, most: int) -> None:
        self._access, self._most = access, most
        self._heard_s: dict[int, float] = {}
        try:
            sockets: Any = server._websock_server
            self._connections: dict[int, Any] = sockets._live_connections
            self._loop: asyncio.AbstractEventLoop = server.get_event_loop()
            # Ours comes first: viser's own would begin to serve whoever it is.
            sockets._client_connect_cb.insert(0, self._enter)
            sockets.on_client_disconnect(self._leave)
            for connection in list(self._connections.values()):  # came before there was a gate
                closing = connection.close(TRY_AGAIN_LATER, "not open yet")
                asyncio.run_coroutine_threadsafe(closing, self._loop)
        except AttributeError as error:
            raise ConfigError(
                f"this viser ({viser.__version__}) is not one whose connections can be checked "
                f"({error}); install one with: pip install 'viser>=1.1.1,<1.2'"
            ) from error

    @property
    def viewers(self) -> int:
        """How many browsers are connected."""
        return len(self._connections)

    def ping(self, viewer: int) -> None:
        """Ask a browser whether it is still there; `heard_s` tells."""
        asyncio.run_coroutine_threadsafe(self._ping(viewer), self._loop)

    def heard_s(self, viewer: int) -> float:
        """When a browser answered last, by the monotonic clock."""
        return self._heard_s.get(viewer, 0.0)

    async def _enter(self, client: Any) -> None:
        connection = self._connections[client.client_id]
        connection.protocol.max_message_size = connection.protocol.max_size = LARGEST
        if len(self._connections) > self._most:
            await connection.close(TRY_AGAIN_LATER, f"{self._most} viewers are here already")
        # Nothing may be raised here: viser would keep a place for the connection for ever.
        elif not self._access.admit(client.client_id, visit_of(connection)):
            await connection.close(POLICY_VIOLATION, "not from this page; see docs/operator.md")

    async def _leave(self, client: Any) -> None:
        self._access.forget(client.client_id)
        self._heard_s.pop(client.client_id, None)

    async def _ping(self, viewer: int) -> None:
        connection = self._connections.get(viewer)
        if connection is None:
            return
        with contextlib.suppress(ConnectionClosed):
            await (await connection.ping())
            self._heard_s[viewer] = time.monotonic()


def visit_of(connection: Any) -> Visit:
    """How a browser came here, by its connection."""
    headers = connection.request.headers
    host, origin = headers.get_all("Host"), headers.get_all("Origin")
    return Visit(
        address=str(connection.remote_address[0]),
        host=host[0] if len(host) == 1 else "",
        origin=" ".join(origin),
    )
