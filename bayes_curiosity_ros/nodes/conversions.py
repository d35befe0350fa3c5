"""Between messages and arrays; the only place that does it."""

from __future__ import annotations

import array

import numpy as np
from sensor_msgs.msg import Image

from bayes_curiosity_interfaces.msg import Observation, ObservationBatch
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.errors import EmptyBatchError, ImageError, LengthError


def observations_of_batch(batch: ObservationBatch) -> Observations:
    """Arrays of a flat batch, vectors without a copy; sizes that do not fit are rejected."""
    if batch.count == 0:
        raise EmptyBatchError("count = 0; send at least one observation")
    vectors = np.frombuffer(batch.vectors, dtype=np.float64)
    if len(vectors) % batch.count:
        raise LengthError(f"{len(vectors)} vector values do not divide into {batch.count} rows")
    return Observations(vectors.reshape(batch.count, -1), _images_of_batch(batch))


def batch_of_observations(observations: Observations) -> ObservationBatch:
    """A flat batch; images are channels-first RGBD floats, colours in 0..1, depth in [m]."""
    batch = ObservationBatch(count=len(observations), vectors=doubles(observations.vectors))
    if observations.images is not None:
        batch.image_height, batch.image_width = observations.images.shape[2:]
        color = np.rint(observations.images[:, :3] * 255.0).clip(0, 255).astype(np.uint8)
        batch.color = array.array("B", color.transpose(0, 2, 3, 1).tobytes())
        batch.depth = array.array("f", observations.images[:, 3].astype(np.float32).tobytes())
    return batch


def observation_of_message(message: Observation) -> Observations:
    """A batch of one."""
    vectors = np.array(message.vector, dtype=np.float64)[None]
    if not message.color.data and not message.depth.data:
        return Observations(vectors)
    color, depth = _color_pixels(message.color), _depth_pixels(message.depth)
    if color.shape[:2] != depth.shape:
        raise ImageError(f"colour is {color.shape[:2]} pixels, depth {depth.shape}; align them")
    return Observations(vectors, _rgbd(color[None], depth[None]))


def doubles(values: np.ndarray) -> array.array:
    """A float64[] field's value; a list would cost a check per number."""
    return array.array("d", np.ascontiguousarray(values, dtype=np.float64).tobytes())


def _images_of_batch(batch: ObservationBatch) -> np.ndarray | None:
    shape = (batch.count, batch.image_height, batch.image_width)
    pixels = int(np.prod(shape, dtype=np.int64))
    for name, values, expected in (
        ("color", batch.color, 3 * pixels),
        ("depth", batch.depth, pixels),
    ):
        if len(values) != expected:
            raise ImageError(
                f"{name} has {len(values)} values; {shape[0]} images of {shape[1]} × {shape[2]} "
                f"pixels need {expected}"
            )
    if pixels == 0:
        return None
    color = np.frombuffer(batch.color, dtype=np.uint8).reshape(*shape, 3)
    return _rgbd(color, np.frombuffer(batch.depth, dtype=np.float32).reshape(shape))


def _rgbd(color: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Channels-first float32: colours in 0..1, depth in [m]."""
    images = np.empty((len(color), 4, *color.shape[1:3]), dtype=np.float32)
    np.multiply(color.transpose(0, 3, 1, 2), np.float32(1.0 / 255.0), out=images[:, :3])
    images[:, 3] = depth
    return images


def _color_pixels(image: Image) -> np.ndarray:
    _require_encoding("colour", image, "rgb8")
    return _rows(image, np.dtype(np.uint8), 3).reshape(image.height, image.width, 3)


def _depth_pixels(image: Image) -> np.ndarray:
    _require_encoding("depth", image, "32FC1")
    order = ">" if image.is_bigendian else "<"
    return _rows(image, np.dtype(f"{order}f4"), 1)


def _require_encoding(name: str, image: Image, encoding: str) -> None:
    if image.encoding != encoding:
        raise ImageError(f"{name} image has encoding {image.encoding!r}; expected {encoding!r}")


def _rows(image: Image, dtype: np.dtype, channels: int) -> np.ndarray:
    """(height, width × channels), row padding removed."""
    used = image.width * channels * dtype.itemsize
    if image.step < used or len(image.data) != image.height * image.step:
        raise ImageError(
            f"image of {image.height} × {image.width} {image.encoding} pixels has step "
            f"{image.step} and {len(image.data)} bytes; expected step ≥ {used} and height × step"
        )
    rows = np.frombuffer(image.data, dtype=np.uint8).reshape(image.height, image.step)
    return np.ascontiguousarray(rows[:, :used]).view(dtype)
