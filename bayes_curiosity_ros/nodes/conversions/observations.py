"""Between observation messages and arrays; no simulator is imported on the way."""

from __future__ import annotations

import array
import math

import numpy as np
from builtin_interfaces.msg import Time

from bayes_curiosity_interfaces.msg import Observation, ObservationBatch
from bayes_curiosity_ros.curiosity.data import Observations, rgbd_images
from bayes_curiosity_ros.errors import EmptyBatchError, ImageError, LengthError
from bayes_curiosity_ros.nodes.conversions.pixels import color_pixels, depth_pixels
from bayes_curiosity_ros.nodes.conversions.values import doubles
from bayes_curiosity_ros.nodes.wire import fresh


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


def message_of_vector(episode: int, step: int, stamp: Time, vector: np.ndarray) -> Observation:
    """One step's observation, (D,), without images."""
    message = fresh(Observation)
    message.header.stamp = stamp
    message.episode, message.step = episode, step
    message.vector = doubles(vector)
    return message


def observation_of_message(message: Observation) -> Observations:
    """A batch of one."""
    vectors = np.array(message.vector, dtype=np.float64)[None]
    if not message.color.data and not message.depth.data:
        return Observations(vectors)
    color, depth = color_pixels(message.color), depth_pixels(message.depth)
    if color.shape[:2] != depth.shape:
        raise ImageError(f"colour is {color.shape[:2]} pixels, depth {depth.shape}; align them")
    return Observations(vectors, rgbd_images(color[None], depth[None]))


def _images_of_batch(batch: ObservationBatch) -> np.ndarray | None:
    shape = (batch.count, batch.image_height, batch.image_width)
    pixels = math.prod(shape)  # of Python's integers, which do not wrap
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
    return rgbd_images(color, np.frombuffer(batch.depth, dtype=np.float32).reshape(shape))
