"""Who decodes a driver's raw images: cv_bridge, where it can, or this package."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sensor_msgs.msg import Image

from bayes_curiosity_ros.errors import BayesCuriosityError, ImageError
from bayes_curiosity_ros.robot.cameras.camera import CameraError
from bayes_curiosity_ros.robot.cameras.encodings import (
    metres_of,
    metres_of_pixels,
    require_depth,
    rgb_of,
)

DECODERS = ("auto", "cv_bridge", "builtin")
INSTALL = "install it (apt install ros-$ROS_DISTRO-cv-bridge), or set topics.decoder to builtin"
# Two rows of two pixels and two bytes that mean nothing. A cv_bridge that reads these as we do
# reads all that it knows; that of PyPI's wheel does not.
PROBES = (
    Image(height=2, width=2, encoding="rgb8", step=8, data=array("B", range(16))),
    Image(height=2, width=2, encoding="16UC1", step=6, data=array("B", range(12))),
)


@dataclass(frozen=True)
class Decoder:
    """Reads raw images.

    Attributes:
        name: who it is, for the log.
        rgb: (H, W, 3) uint8 RGB of a sensor_msgs/Image.
        metres: (H, W) float32 in [m] of a sensor_msgs/Image.
    """

    name: str
    rgb: Callable[[Any], np.ndarray]
    metres: Callable[[Any], np.ndarray]


BUILTIN = Decoder("our own decoder", rgb_of, metres_of)


def make_decoder(wanted: str) -> Decoder:
    """The decoder of this name, one of DECODERS; `auto` is cv_bridge where it works, else ours.

    Raises:
        CameraError: cv_bridge was asked for and does not work here.
    """
    if wanted == "builtin":
        return BUILTIN
    try:
        bridge = cv_bridge_decoder()
        _probe(bridge)
    # A cv_bridge for another NumPy fails in whatever way a compiled module can.
    except Exception as error:
        if wanted == "cv_bridge":
            raise CameraError(f"cv_bridge does not work here: {error}; {INSTALL}") from error
        return Decoder(f"{BUILTIN.name} (cv_bridge: {error})", BUILTIN.rgb, BUILTIN.metres)
    return bridge if wanted == "cv_bridge" else _with_ours(bridge)


def cv_bridge_decoder() -> Decoder:
    """Whatever cv_bridge is installed, and only that."""
    from cv_bridge import CvBridge

    read = CvBridge().imgmsg_to_cv2

    def pixels(image: Any, encoding: str) -> np.ndarray:
        try:
            return np.asarray(read(image, encoding))
        except (RuntimeError, TypeError, ValueError, KeyError) as error:
            raise ImageError(
                f"cv_bridge cannot read encoding {image.encoding!r}: {error}; "
                "topics.decoder: auto or builtin may"
            ) from error

    def metres(image: Any) -> np.ndarray:
        require_depth(image)
        return metres_of_pixels(pixels(image, "passthrough"))

    return Decoder("cv_bridge", lambda image: pixels(image, "rgb8"), metres)


def _probe(decoder: Decoder) -> None:
    color, depth = PROBES
    if not np.array_equal(decoder.rgb(color), BUILTIN.rgb(color)):
        raise CameraError("it misreads rows with padding")
    if not np.array_equal(decoder.metres(depth), BUILTIN.metres(depth)):
        raise CameraError("it misreads 16UC1")


def _with_ours(bridge: Decoder) -> Decoder:
    """A decoder that reads with ours what cv_bridge refuses, such as 8UC3, yuyv or nv21."""

    def either(theirs: Callable[[Any], Any], ours: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def read(image: Any) -> np.ndarray:
            try:
                return np.asarray(theirs(image))
            except BayesCuriosityError:
                return np.asarray(ours(image))

        return read

    return Decoder(
        f"{bridge.name}, and {BUILTIN.name} for what it does not know",
        either(bridge.rgb, BUILTIN.rgb),
        either(bridge.metres, BUILTIN.metres),
    )
