"""Viewers of the operator's page without a browser: websockets, polite and hostile."""

from __future__ import annotations

from socket import create_connection
from typing import Any

import msgspec
import numpy as np
import viser
import zstandard
from websockets.sync.client import ClientConnection, connect

PROTOCOL = f"viser-v{viser.__version__}"
CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": (1.0, 0.0, 0.0, 0.0),
    "position": (1.0, 1.0, 1.0),
    "fov": 0.9,
    "near": 0.01,
    "far": 100.0,
    "image_height": 600,
    "image_width": 800,
    "look_at": (0.0, 0.0, 0.0),
    "up_direction": (0.0, 0.0, 1.0),
}


def open_viewer(port: int, name: str = "127.0.0.1", **options: Any) -> ClientConnection:
    """A viewer's connection, as its browser would open it by this name of the page's host."""
    return connect(
        f"ws://{name}:{port}",
        sock=create_connection(("127.0.0.1", port)),
        subprotocols=[PROTOCOL],
        compression=None,
        max_size=None,
        **options,
    )


class PoliteViewer:
    """A viewer who reads what the page says and presses buttons.

    Args:
        port: port of the page.
        options: options of the connection, such as its origin.
    """

    def __init__(self, port: int, **options: Any) -> None:
        self.socket = open_viewer(port, **options)
        self.buttons: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.sliders: dict[str, str] = {}
        self.notes: list[tuple[str, str]] = []
        self.gizmos: list[dict[str, str]] = []
        self.send(CAMERA)

    def send(self, message: dict[str, Any]) -> None:
        """Say something."""
        self.socket.send(msgspec.msgpack.encode(message))

    def read(self, timeout_s: float) -> list[dict[str, Any]]:
        """What the page said next.

        Raises:
            TimeoutError: nothing.
        """
        messages = decoded(self.socket.recv(timeout_s))
        for message in messages:
            self._note(message)
        return messages

    def until(self, fits, timeout_s: float) -> None:
        """Read until something is so."""
        while not fits():
            self.read(timeout_s)

    def press(self, label: str) -> None:
        """Press a button."""
        self.send(
            {
                "type": "GuiUpdateMessage",
                "uuid": self.buttons[label],
                "updates": {"value": True},
            }
        )

    def type(self, label: str, words: str) -> None:
        """Type into a field."""
        update = {"type": "GuiUpdateMessage", "uuid": self.texts[label]}
        self.send(update | {"updates": {"value": words}})

    def slide(self, label: str, value: int) -> None:
        """Move a slider."""
        update = {"type": "GuiUpdateMessage", "uuid": self.sliders[label]}
        self.send(update | {"updates": {"value": value}})

    def close(self) -> None:
        """Go."""
        self.socket.close()

    def _note(self, message: dict[str, Any]) -> None:
        kind = message["type"]
        if kind == "GuiButtonMessage":
            self.buttons[message["props"]["label"]] = message["uuid"]
        elif kind == "GuiTextMessage":
            self.texts[message["props"]["label"]] = message["uuid"]
        elif kind == "GuiSliderMessage":
            self.sliders[message["props"]["label"]] = message["uuid"]
        elif kind == "NotificationShowMessage":
            self.notes.append((message["props"]["title"], message["props"]["body"]))
        elif kind == "TransformControlsMessage":
            self.gizmos.append({name: message[name] for name in ("name", "owner")})


def decoded(data: bytes | str) -> list[dict[str, Any]]:
    """The messages of a frame that viser sent."""
    assert isinstance(data, bytes)
    size = int.from_bytes(data[8:16], "little")
    plain = zstandard.ZstdDecompressor().decompress(data[16 : 16 + size])
    return list(msgspec.msgpack.decode(plain)["messages"])


def malformed(rng: np.random.Generator) -> bytes | str:
    """A message that no browser would send."""
    kind = int(rng.integers(6))
    noise = rng.bytes(int(rng.integers(1, 200)))
    if kind == 0:
        return noise
    if kind == 1:
        return "text where bytes are expected"
    if kind == 2:
        return msgspec.msgpack.encode({"type": "NoSuchMessage", "value": noise})
    if kind == 3:
        return msgspec.msgpack.encode({"type": "GuiUpdateMessage", "uuid": "x", "updates": 7})
    if kind == 4:
        return msgspec.msgpack.encode(CAMERA | {"wxyz": "north", "fov": float("nan")})
    return msgspec.msgpack.encode({"type": "TransformControlsUpdateMessage", "name": "/target"})
