"""Colour and depth of the images that drivers send: raw in any usual encoding, or compressed.

What cv_bridge would do, less its faults: docs/real_arm.md says which. The message types are not
imported.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from bayes_curiosity_ros.errors import ImageError
from bayes_curiosity_ros.robot.cameras.images import load_opencv
from bayes_curiosity_ros.robot.cameras.pixels import pixel_rows

MILLIMETRES = 1e-3
# OpenCV's conversion, and bytes per pixel. It names a Bayer pattern by its second row, ROS by its
# first.
COLORS = {
    "rgb8": ("", 3),
    "bgr8": ("COLOR_BGR2RGB", 3),
    "rgba8": ("COLOR_RGBA2RGB", 4),
    "bgra8": ("COLOR_BGRA2RGB", 4),
    "mono8": ("COLOR_GRAY2RGB", 1),
    "bayer_rggb8": ("COLOR_BayerBG2RGB", 1),
    "bayer_bggr8": ("COLOR_BayerRG2RGB", 1),
    "bayer_gbrg8": ("COLOR_BayerGR2RGB", 1),
    "bayer_grbg8": ("COLOR_BayerGB2RGB", 1),
    "yuv422": ("COLOR_YUV2RGB_UYVY", 2),
    "yuv422_yuy2": ("COLOR_YUV2RGB_YUY2", 2),
}
DEPTHS = {"16UC1": "u2", "mono16": "u2", "32FC1": "f4"}
# image_transport's compressed depth begins with its format and two numbers for 32FC1.
DEPTH_HEADER = struct.Struct("<iff")


def rgb_of(image: Any) -> np.ndarray:
    """(H, W, 3) uint8 RGB of a sensor_msgs/Image."""
    if image.encoding not in COLORS:
        raise _unknown("colour", image.encoding, COLORS)
    conversion, count = COLORS[image.encoding]
    rows = pixel_rows(image, np.dtype(np.uint8), count)
    pixels = rows.reshape(image.height, image.width, count)
    if not conversion:
        return pixels
    cv2 = load_opencv()
    return np.asarray(cv2.cvtColor(pixels, getattr(cv2, conversion)))


def metres_of(image: Any) -> np.ndarray:
    """(H, W) float32 in [m] of a sensor_msgs/Image; whole numbers are millimetres (REP 118)."""
    if image.encoding not in DEPTHS:
        raise _unknown("depth", image.encoding, DEPTHS)
    order = ">" if image.is_bigendian else "<"
    return _metres(pixel_rows(image, np.dtype(order + DEPTHS[image.encoding]), 1))


def rgb_of_compressed(message: Any) -> np.ndarray:
    """(H, W, 3) uint8 RGB of a sensor_msgs/CompressedImage with JPEG or PNG."""
    cv2 = load_opencv()
    pixels = _decoded(message, message.data, cv2.IMREAD_COLOR)
    return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB))


def metres_of_compressed(message: Any) -> np.ndarray:
    """(H, W) float32 in [m] of image_transport's compressedDepth with PNG; NaN where unknown."""
    if len(message.data) <= DEPTH_HEADER.size or "rvl" in message.format.lower():
        raise ImageError(
            f"depth has format {message.format!r} and {len(message.data)} bytes; expected "
            "compressedDepth with PNG (compressed_depth.format: png in the driver)"
        )
    _, scale, offset = DEPTH_HEADER.unpack_from(bytes(message.data[: DEPTH_HEADER.size]))
    body = message.data[DEPTH_HEADER.size :]
    pixels = _decoded(message, body, load_opencv().IMREAD_UNCHANGED)
    if not message.format.startswith("32FC1"):
        return _metres(pixels)
    inverse = pixels.astype(np.float32)
    with np.errstate(divide="ignore"):
        return np.where(pixels > 0, np.float32(scale) / (inverse - np.float32(offset)), np.nan)


def _metres(pixels: np.ndarray) -> np.ndarray:
    if pixels.dtype.kind == "u":
        return pixels.astype(np.float32) * np.float32(MILLIMETRES)
    return pixels.astype(np.float32, copy=False)


def _decoded(message: Any, data: Any, flags: int) -> np.ndarray:
    pixels = load_opencv().imdecode(np.frombuffer(data, dtype=np.uint8), flags)
    if pixels is None:
        raise ImageError(
            f"an image of format {message.format!r} and {len(message.data)} bytes is damaged"
        )
    return np.asarray(pixels)


def _unknown(kind: str, encoding: str, known: Any) -> ImageError:
    return ImageError(f"{kind} has encoding {encoding!r}; expected one of {', '.join(known)}")
