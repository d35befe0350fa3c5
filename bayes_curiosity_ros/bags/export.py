"""Episodes as NPZ and Parquet files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bayes_curiosity_ros.bags.episode import Episode
from bayes_curiosity_ros.bags.errors import BagError

ARRAYS = (
    "steps", "stamps_s", "vectors", "color", "depth", "actions", "gripper", "executed",
    "positions", "objects", "variance", "curiosity", "reward",
)  # fmt: skip
FORMATS = ("npz", "parquet", "lerobot")


def export_npz(folder: Path, episodes: Iterable[Episode], about: Mapping[str, str]) -> int:
    """One file per episode, arrays by name; how many."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for episode in episodes:
        count += 1
        arrays: dict[str, Any] = {
            name: getattr(episode, name) for name in ARRAYS if getattr(episode, name) is not None
        }
        notes = {**about, **description(episode)}
        path = folder / f"episode_{episode.id:06d}.npz"
        np.savez_compressed(path, about=np.array(json.dumps(notes)), **arrays)
    return count


def export_parquet(path: Path, episodes: Iterable[Episode], about: Mapping[str, str]) -> int:
    """One file, a row per step, images as bytes; how many episodes.

    Raises:
        BagError: pyarrow is not installed.
    """
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError as error:
        raise BagError("Parquet needs pyarrow: pip install pyarrow") from error
    path.parent.mkdir(parents=True, exist_ok=True)
    writer, count = None, 0
    try:
        for episode in episodes:
            count += 1
            table = arrow.table(_columns(episode)).replace_schema_metadata(dict(about))
            writer = writer or parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
    return count


def description(episode: Episode) -> dict[str, Any]:
    """What an episode is besides its arrays."""
    return {
        "episode": episode.id,
        "outcome": episode.outcome,
        "extrinsic_return": episode.extrinsic_return,
        "faults": list(episode.faults),
    }


def _columns(episode: Episode) -> dict[str, Any]:
    rows = len(episode)
    columns: dict[str, Any] = {
        "episode": np.full(rows, episode.id, dtype=np.int64),
        "outcome": [episode.outcome] * rows,
    }
    for name in ARRAYS:
        values = getattr(episode, name)
        if values is None:
            continue
        if name in ("color", "depth"):
            columns[name] = [np.ascontiguousarray(image).tobytes() for image in values]
            columns[f"{name}_shape"] = [list(values.shape[1:])] * rows
        else:
            columns[name] = values if values.ndim == 1 else list(values)
    return columns
