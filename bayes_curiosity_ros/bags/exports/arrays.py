"""Arrays of an episode that NPZ and Parquet files hold."""

from __future__ import annotations

import numpy as np

from bayes_curiosity_ros.bags.episode import Episode

ARRAYS = (
    "steps", "stamps_s", "vectors", "color", "depth", "driven", "actions", "gripper", "executed",
    "positions", "objects", "variance", "curiosity", "reward",
)  # fmt: skip


def arrays_of(episode: Episode) -> dict[str, np.ndarray]:
    """The arrays that the episode has, by name."""
    arrays = {name: getattr(episode, name) for name in ARRAYS}
    return {name: values for name, values in arrays.items() if values is not None}
