"""A viewer of the operator's page: reads all that it says, and notes when a link was turned.

Prints a JSON line for each time: nanoseconds, then the link's orientation as w, x, y, z.
"""

from __future__ import annotations

import json
import sys
import time
from socket import create_connection
from typing import Any

import msgspec
import viser
import zstandard
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

PROTOCOL = Subprotocol(f"viser-v{viser.__version__}")
# What a browser says first.
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


def decoded(data: bytes | str) -> list[dict[str, Any]]:
    """The messages of a frame that viser sent."""
    assert isinstance(data, bytes)
    size = int.from_bytes(data[8:16], "little")
    plain = zstandard.ZstdDecompressor().decompress(data[16 : 16 + size])
    return list(msgspec.msgpack.decode(plain)["messages"])


def main() -> None:
    """Read until the page is gone."""
    port, link = sys.argv[1:]
    with open_viewer(int(port)) as page:
        page.send(msgspec.msgpack.encode(CAMERA))
        for data in page:
            now_ns = time.time_ns()
            for message in decoded(data):
                if message["type"] == "SetOrientationMessage" and message["name"].endswith(link):
                    print(json.dumps([now_ns, *message["wxyz"]]), flush=True)


if __name__ == "__main__":
    main()
