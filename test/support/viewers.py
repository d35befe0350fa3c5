"""Viewers of the operator's page without a browser: websockets, polite and hostile."""

from __future__ import annotations

from contextlib import suppress
from socket import create_connection
from typing import Any

import msgspec
import numpy as np

from benchmarks._page_viewer import CAMERA, decoded, open_viewer


def answers(port: int) -> bool:
    """Whether somebody listens."""
    with suppress(OSError), create_connection(("127.0.0.1", port), 1.0):
        return True
    return False


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
        self.words: list[str] = []
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
        elif kind == "GuiUpdateMessage":
            self.words.append(str(message["updates"]))
        elif kind == "NotificationShowMessage":
            self.notes.append((message["props"]["title"], message["props"]["body"]))
        elif kind == "TransformControlsMessage":
            self.gizmos.append({name: message[name] for name in ("name", "owner")})


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
