"""From observations to tensors: what does not fit is named, never guessed at."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from bayes_curiosity_ros.errors import InputError

DEPTH_CHANNEL = 3


def finite_rows(name: str, rows: np.ndarray, width: int) -> np.ndarray:
    """`rows` as (N, width) float32, if it has that shape and is finite."""
    if rows.ndim != 2 or rows.shape[1] != width:
        raise InputError(f"{name} has shape {rows.shape}; expected (count, {width})")
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        raise InputError(f"{name}[{row}][{column}] = {rows[row, column]}; values must be finite")
    return np.ascontiguousarray(rows, dtype=np.float32)


def check_images(images: np.ndarray | None, shape: tuple[int, int, int] | None) -> None:
    """Images where they are expected, none where not, of the right shape, type and values."""
    if images is None or shape is None:
        if images is not None:
            raise InputError("images were given, but image_shape = None: vectors alone")
        if shape is not None:
            raise InputError(f"images are missing; expected (count, {', '.join(map(str, shape))})")
        return
    if images.shape[1:] != shape:
        raise InputError(f"images have shape {images.shape[1:]}; expected channels first, {shape}")
    if images.dtype == np.uint8:
        return
    if not np.issubdtype(images.dtype, np.floating):
        raise InputError(f"images are {images.dtype}; use uint8 or floats")
    if not np.isfinite(images).all():
        raise InputError("images hold a value that is not finite; depth without a return is 0")


def unit_images(images: np.ndarray, max_depth_m: float) -> Tensor:
    """Checked images as float32 in 0..1, depth in units of `max_depth_m`."""
    if images.dtype == np.uint8:
        return torch.from_numpy(np.ascontiguousarray(images)).to(torch.float32).div_(255.0)
    unit = torch.from_numpy(images.astype(np.float32))
    unit[:, DEPTH_CHANNEL:].div_(max_depth_m).clamp_(0.0, 1.0)
    return unit
