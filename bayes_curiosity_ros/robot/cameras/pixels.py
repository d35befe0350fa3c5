"""The pixels of a ROS image message, whatever its padding; the message type is not imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayes_curiosity_ros.errors import ImageError


def pixel_rows(image: Any, dtype: np.dtype, channels: int) -> np.ndarray:
    """(height, width × channels) of a sensor_msgs/Image, row padding removed."""
    used = image.width * channels * dtype.itemsize
    if image.step < used or len(image.data) != image.height * image.step:
        raise ImageError(
            f"image of {image.height} × {image.width} {image.encoding} pixels has step "
            f"{image.step} and {len(image.data)} bytes; expected step ≥ {used} and height × step"
        )
    rows = np.frombuffer(image.data, dtype=np.uint8).reshape(image.height, image.step)
    return np.ascontiguousarray(rows[:, :used]).view(dtype)
