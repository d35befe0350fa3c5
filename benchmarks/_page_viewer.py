"""A viewer of the operator's page: reads all that it says, and notes when a link was turned.

Prints a JSON line for each time: nanoseconds, then the link's orientation as w, x, y, z.
"""

from __future__ import annotations

import json
import sys
import time

import msgspec
import viser
import zstandard
from websockets.sync.client import connect
from websockets.typing import Subprotocol

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


def main() -> None:
    """Read until the page is gone."""
    url, link = sys.argv[1:]
    protocol = Subprotocol(f"viser-v{viser.__version__}")
    decompress = zstandard.ZstdDecompressor().decompress
    with connect(url, subprotocols=[protocol], compression=None, max_size=None) as page:
        page.send(msgspec.msgpack.encode(CAMERA))
        for data in page:
            now_ns = time.time_ns()
            assert isinstance(data, bytes)
            size = int.from_bytes(data[8:16], "little")
            for message in msgspec.msgpack.decode(decompress(data[16 : 16 + size]))["messages"]:
                if message["type"] == "SetOrientationMessage" and message["name"].endswith(link):
                    print(json.dumps([now_ns, *message["wxyz"]]), flush=True)


if __name__ == "__main__":
    main()
