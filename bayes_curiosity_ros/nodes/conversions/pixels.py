"""Pixels of images on our own topics, which have one encoding each."""

from __future__ import annotations

import numpy as np
from sensor_msgs.msg import Image

from bayes_curiosity_ros.errors import ImageError
from bayes_curiosity_ros.robot.cameras.pixels import pixel_rows


def color_pixels(image: Image) -> np.ndarray:
    """(H, W, 3) uint8 of an rgb8 image."""
    _require_encoding("colour", image, "rgb8")
    return pixel_rows(image, np.dtype(np.uint8), 3).reshape(image.height, image.width, 3)


def depth_pixels(image: Image) -> np.ndarray:
    """(H, W) float32 in [m] of a 32FC1 image."""
    _require_encoding("depth", image, "32FC1")
    order = ">" if image.is_bigendian else "<"
    return pixel_rows(image, np.dtype(f"{order}f4"), 1)


def _require_encoding(name: str, image: Image, encoding: str) -> None:
    if image.encoding != encoding:
        raise ImageError(f"{name} image has encoding {image.encoding!r}; expected {encoding!r}")
