"""From observations to arrays and tensors: what does not fit is named, never guessed at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from bayes_curiosity_ros.errors import ConfigError, ImageError, LengthError, NotFiniteError

DEPTH_CHANNEL = 3
MAX_ABS_VALUE = 1e6
MIN_IMAGE_SIDE = 16  # pixels


def image_shape_of(sizes: Sequence[int] | None) -> tuple[int, int, int] | None:
    """A shape of images from a configuration; None for none.

    Raises:
        ConfigError: not three numbers, or a side is too short for the convolutions.
    """
    if sizes is None:
        return None
    if len(sizes) != 3 or min(sizes[1:]) < MIN_IMAGE_SIDE:
        raise ConfigError(
            f"image_shape = {tuple(sizes)}; expected (channels, height, width) with sides of at "
            f"least {MIN_IMAGE_SIDE} pixels"
        )
    channels, height, width = sizes
    return channels, height, width


def finite_rows(name: str, rows: np.ndarray, width: int) -> np.ndarray:
    """A float32 copy of `rows`, if it is (N, width) and within ±MAX_ABS_VALUE."""
    if rows.ndim != 2 or rows.shape[1] != width:
        raise LengthError(f"{name} has shape {rows.shape}; expected (count, {width})")
    flat = rows.ravel()
    # One pass, and NaN fails it. Where the sum of squares is too large, look at each value.
    if not flat.dot(flat) <= MAX_ABS_VALUE**2:
        within = np.abs(rows) <= MAX_ABS_VALUE
        if not within.all():
            row, column = np.argwhere(~within)[0]
            raise NotFiniteError(
                f"{name}[{row}][{column}] = {rows[row, column]}; values must be finite and "
                f"within ±{MAX_ABS_VALUE:g}"
            )
    return np.array(rows, dtype=np.float32, order="C")


def checked_images(images: np.ndarray | None, shape: tuple[int, int, int] | None) -> Tensor | None:
    """Images where they are expected, none where not, of the right shape, type and values."""
    if images is None or shape is None:
        if images is not None:
            raise ImageError("images were given, but image_shape = None: vectors alone")
        if shape is not None:
            raise ImageError(f"images are missing; expected {shape} for each observation")
        return None
    if images.shape[1:] != shape:
        raise ImageError(f"images have shape {images.shape[1:]}; expected channels-first {shape}")
    if images.dtype == np.uint8:
        return torch.from_numpy(np.ascontiguousarray(images))
    if not np.issubdtype(images.dtype, np.floating):
        raise ImageError(f"images are {images.dtype}; use uint8 or floats")
    tensor = torch.from_numpy(np.ascontiguousarray(images, dtype=np.float32))
    if not torch.isfinite(tensor.sum()):  # one pass; a finite image's sum is finite
        raise NotFiniteError("images hold a value that is not finite; depth without a return is 0")
    return tensor


def unit_images(images: Tensor, max_depth_m: float) -> Tensor:
    """Checked images as float32 in 0..1, depth in units of `max_depth_m`.

    Floats are rounded to the 256 levels that stored bytes have: a frame looks the same, bit for
    bit, whether it was demonstrated, simulated in process or sent by a camera.
    """
    if images.dtype == torch.uint8:
        return images.to(torch.float32).div_(255.0)
    unit = images.clone()
    unit[:, DEPTH_CHANNEL:].div_(max_depth_m)
    return unit.clamp_(0.0, 1.0).mul_(255.0).round_().div_(255.0)


def undrawn(kind: type[nn.Module], *sizes: int, **options: int) -> nn.Module:
    """A layer whose weights were not drawn: torch's own draw uses the global generator."""
    return nn.utils.skip_init(kind, *sizes, **options)  # type: ignore[no-untyped-call]
