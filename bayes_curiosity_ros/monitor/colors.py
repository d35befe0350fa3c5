"""From numbers to colours, and from depth to a picture."""

from __future__ import annotations

import matplotlib
import numpy as np

# What is known is dark, but for the background; what the robot would find new is bright.
SCALE = matplotlib.colormaps["inferno"](np.linspace(0.14, 1.0, 256))[:, :3]
DEPTHS = matplotlib.colormaps["viridis"](np.linspace(1.0, 0.0, 256))[:, :3]


def colors_of(values: np.ndarray, highest: float) -> np.ndarray:
    """(N, 3) uint8 colours of values from 0, dark, to `highest`, bright."""
    share = np.clip(np.nan_to_num(values) / max(highest, 1e-12), 0.0, 1.0)
    return _look_up(SCALE, share)


def depth_picture(depth: np.ndarray, farthest_m: float) -> np.ndarray:
    """(H, W, 3) uint8: near is bright, and what is not known as far as can be."""
    known = np.where(np.isfinite(depth), depth, farthest_m)
    return _look_up(DEPTHS, np.clip(known / max(farthest_m, 1e-12), 0.0, 1.0))


def _look_up(scale: np.ndarray, share: np.ndarray) -> np.ndarray:
    picture: np.ndarray = (255 * scale[(255 * share).astype(int)]).astype(np.uint8)
    return picture
