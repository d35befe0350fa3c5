"""Statistics as LeRobot datasets carry them, for policies to normalise with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
LEVELS = np.arange(256)


def column_stats(values: np.ndarray) -> dict[str, list]:
    """Statistics of a (N,) or (N, D) column, entry by entry."""
    rows = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    quantiles = np.quantile(rows, list(QUANTILES.values()), axis=0)
    stats: dict[str, Any] = {
        "min": rows.min(axis=0),
        "max": rows.max(axis=0),
        "mean": rows.mean(axis=0),
        "std": rows.std(axis=0),
        "count": np.array([len(rows)]),
        **dict(zip(QUANTILES, quantiles, strict=True)),
    }
    return {name: value.tolist() for name, value in stats.items()}


def histogram(images: np.ndarray) -> np.ndarray:
    """How often each level occurs in each channel, (3, 256), of (N, H, W, 3) uint8."""
    return np.stack(
        [np.bincount(images[..., channel].ravel(), minlength=256) for channel in range(3)]
    )


def image_stats(counts: np.ndarray, frames: int) -> dict[str, list]:
    """Exact statistics from a `histogram`: colours in 0…1, each channel of shape (1, 1)."""
    stats: dict[str, Any] = {"count": [frames]}
    channels = [_channel_stats(count) for count in counts]
    for name in channels[0]:
        stats[name] = [[[float(channel[name])]] for channel in channels]
    return stats


def _channel_stats(count: np.ndarray) -> dict[str, float]:
    share, present = count / count.sum(), np.flatnonzero(count)
    mean = float(share @ LEVELS)
    reached = np.cumsum(share)
    values = {
        "min": present[0],
        "max": present[-1],
        "mean": mean,
        "std": np.sqrt(share @ (LEVELS - mean) ** 2),
    }
    for name, quantile in QUANTILES.items():
        values[name] = np.searchsorted(reached, quantile - 1e-12)
    return {name: float(value) / 255.0 for name, value in values.items()}


def flattened(stats: dict[str, dict[str, list]]) -> dict[str, Sequence]:
    """Statistics as columns of the table of episodes."""
    return {
        f"stats/{feature}/{name}": value
        for feature, values in stats.items()
        for name, value in values.items()
    }
