"""Colour and depth of the images that drivers send: raw in any usual encoding, or compressed.

The message types are not imported.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from bayes_curiosity_ros.errors import ImageError
from bayes_curiosity_ros.robot.cameras.images import load_opencv
from bayes_curiosity_ros.robot.cameras.pixels import pixel_rows

MILLIMETRES = 1e-3
# OpenCV's conversion, and numbers per pixel. It names a Bayer pattern by its second row, ROS by
# its first.
NAMED = {
    "rgb8": ("", 3),
    "bgr8": ("COLOR_BGR2RGB", 3),
    "rgba8": ("COLOR_RGBA2RGB", 4),
    "bgra8": ("COLOR_BGRA2RGB", 4),
    "mono8": ("COLOR_GRAY2RGB", 1),
    "bayer_rggb8": ("COLOR_BayerBG2RGB", 1),
    "bayer_bggr8": ("COLOR_BayerRG2RGB", 1),
    "bayer_gbrg8": ("COLOR_BayerGR2RGB", 1),
    "bayer_grbg8": ("COLOR_BayerGB2RGB", 1),
}
UYVY, YUYV = ("COLOR_YUV2RGB_UYVY", 2), ("COLOR_YUV2RGB_YUY2", 2)
# The same channels in 16 bits; OpenCV's own types, whose colours are in its order; YUV 4:2:2 by
# its names since Jazzy and before.
PACKED = {
    **NAMED,
    **{name.removesuffix("8") + "16": packing for name, packing in NAMED.items()},
    "8UC1": NAMED["mono8"],
    "8UC3": NAMED["bgr8"],
    "8UC4": NAMED["bgra8"],
    "uyvy": UYVY,
    "yuyv": YUYV,
    "yuv422": UYVY,
    "yuv422_yuy2": YUYV,
}
# Rows of brightness, then of colour; how many of all for one of brightness, as a fraction.
PLANAR = {"nv21": (3, 2), "nv24": (3, 1)}
COLORS = (*PACKED, *PLANAR)
DEPTHS = {"16UC1": "u2", "mono16": "u2", "32FC1": "f4"}
# image_transport's compressed depth begins with its format and two numbers for 32FC1.
DEPTH_HEADER = struct.Struct("<iff")


def rgb_of(image: Any) -> np.ndarray:
    """(H, W, 3) uint8 RGB of a sensor_msgs/Image."""
    if image.encoding in PLANAR:
        return _rgb_of_planes(image)
    if image.encoding not in PACKED:
        raise _unknown("colour", image.encoding, COLORS)
    conversion, count = PACKED[image.encoding]
    sixteen = image.encoding.endswith("16")
    rows = pixel_rows(image, _dtype(image, "u2" if sixteen else "u1"), count)
    pixels: np.ndarray = rows.reshape(image.height, image.width, count)
    if conversion:
        cv2 = load_opencv()
        native = pixels.astype(pixels.dtype.newbyteorder("="), copy=False)
        pixels = np.asarray(cv2.cvtColor(native, getattr(cv2, conversion)))
    return _eight_bits(pixels) if sixteen else pixels


def metres_of(image: Any) -> np.ndarray:
    """(H, W) float32 in [m] of a sensor_msgs/Image; whole numbers are millimetres (REP 118)."""
    require_depth(image)
    return metres_of_pixels(pixel_rows(image, _dtype(image, DEPTHS[image.encoding]), 1))


def require_depth(image: Any) -> None:
    """Refuse an image that is not one of depths."""
    if image.encoding not in DEPTHS:
        raise _unknown("depth", image.encoding, DEPTHS)


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
        return metres_of_pixels(pixels)
    inverse = pixels.astype(np.float32)
    with np.errstate(divide="ignore"):
        return np.where(pixels > 0, np.float32(scale) / (inverse - np.float32(offset)), np.nan)


def _rgb_of_planes(image: Any) -> np.ndarray:
    """RGB of a plane of brightness and one of pairs of colours."""
    cv2, height, width, rows = load_opencv(), image.height, image.width, _plane_rows(image)
    if image.encoding == "nv21":
        planes = np.ascontiguousarray(rows[:, :width])
        return np.asarray(cv2.cvtColor(planes, cv2.COLOR_YUV2RGB_NV21))
    colors = rows[height:].reshape(height, -1)[:, : 2 * width].reshape(height, width, 2)
    bright = rows[:height, :width]
    # OpenCV has no NV24. Every pixel twice, as 4:2:2, has the same colour.
    twice = np.stack([colors[..., 0], bright, colors[..., 1], bright], axis=-1)
    pixels = cv2.cvtColor(twice.reshape(height, 2 * width, 2), cv2.COLOR_YUV2RGB_UYVY)
    return np.ascontiguousarray(pixels[:, ::2])


def _plane_rows(image: Any) -> np.ndarray:
    """Rows of both planes. Drivers do not agree on their `step`; the number of bytes says it."""
    over, under = PLANAR[image.encoding]
    stride, rest = divmod(len(image.data) * under, max(image.height * over, 1))
    odd = image.height % under or image.width % under
    if rest or odd or stride < image.width:
        raise ImageError(
            f"image of {image.height} × {image.width} {image.encoding} pixels has "
            f"{len(image.data)} bytes; expected height × width × {over / under}, rows padded or "
            f"not, and multiples of {under} pixels"
        )
    return np.frombuffer(image.data, dtype=np.uint8).reshape(-1, stride)


def _dtype(image: Any, kind: str) -> np.dtype:
    return np.dtype((">" if image.is_bigendian else "<") + kind)


def _eight_bits(pixels: np.ndarray) -> np.ndarray:
    """The nearest of 256 shades."""
    return ((pixels.astype(np.uint32) + 128) // 257).astype(np.uint8)


def metres_of_pixels(pixels: np.ndarray) -> np.ndarray:
    """float32 in [m] of depths; whole numbers are millimetres."""
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
