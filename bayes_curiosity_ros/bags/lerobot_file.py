"""Reading back LeRobot datasets that `bag export --format lerobot` wrote."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from bayes_curiosity_ros.bags.episode import Episode
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.exports.lerobot import VERSION
from bayes_curiosity_ros.bags.exports.lerobot_frames import COLOR, DEPTH, INTERVENTION

INFO = "meta/info.json"
NEEDED = ("observation.state", "action", "episode_index", "next.success", INTERVENTION)
ENDED = ("success", "failure")  # for good; a time limit is none


def is_lerobot(path: Path) -> bool:
    """Whether a folder is a LeRobot dataset."""
    return (path / INFO).is_file()


def read_lerobot(folder: Path) -> Iterator[Episode]:
    """The episodes of a dataset, as those of a bag; what a dataset does not have is NaN.

    A dataset has no observation after the last action. Of an episode that ended for good, where
    nothing follows, the last one stands in for it; of others, the last action is left out.

    Raises:
        BagError: it is none that we wrote, or damaged.
    """
    try:
        from pyarrow import ArrowException, parquet
    except ModuleNotFoundError as error:
        raise BagError(
            f"{folder}: a LeRobot dataset needs pyarrow: pip install pyarrow"
        ) from error
    try:
        _require_ours(folder, json.loads((folder / INFO).read_text()))
        told = parquet.read_table(folder / "meta/episodes").to_pylist()
        ids = {row["episode_index"]: row for row in told}
        for file in sorted(folder.glob("data/*/*.parquet")):
            table = parquet.read_table(file)
            indexes = table["episode_index"].to_numpy()
            for index in np.unique(indexes):
                rows = np.flatnonzero(indexes == index)
                yield _episode(ids[int(index)], table.slice(rows[0], len(rows)))
    except (OSError, ValueError, KeyError, TypeError, ArrowException) as error:
        raise BagError(f"{folder} is no LeRobot dataset that can be read: {error}") from error


def _require_ours(folder: Path, info: dict[str, Any]) -> None:
    missing = [name for name in NEEDED if name not in info["features"]]
    if info["codebase_version"] != VERSION or missing:
        raise BagError(
            f"{folder} is a dataset of version {info['codebase_version']} without "
            f"{', '.join(missing) or 'nothing'}; only those of `bag export --format lerobot` "
            f"({VERSION}) can be read"
        )


def _episode(told: dict[str, Any], table: Any) -> Episode:
    """One episode, with a last row that was not acted on."""
    outcome, count = str(told["outcome"]), table.num_rows
    rows = [*range(count), count - 1] if outcome in ENDED else list(range(count))
    vectors = _numbers(table, "observation.state")[rows]
    actions = np.full((len(rows), _numbers(table, "action").shape[1]), np.nan)
    actions[:-1] = _numbers(table, "action")[: len(rows) - 1]
    driven = np.zeros(len(rows), dtype=bool)
    driven[:-1] = table[INTERVENTION].to_numpy()[: len(rows) - 1]
    unknown = np.full(len(rows), np.nan)
    color, depth = _images(table, rows)
    return Episode(
        id=int(told["recorded_episode"]),
        steps=np.arange(len(rows)),
        stamps_s=table["timestamp"].to_numpy()[rows].astype(float),
        vectors=vectors,
        color=color,
        depth=depth,
        driven=driven,
        actions=actions[:, :-1],
        gripper=actions[:, -1],
        executed=np.full((len(rows), actions.shape[1] - 1), np.nan),
        positions=np.full((len(rows), 0), np.nan),
        objects=np.full((len(rows), 3), np.nan),
        variance=unknown,
        curiosity=unknown,
        reward=unknown,
        outcome=outcome,
        extrinsic_return=float("nan"),
        faults=(),
    )


def _numbers(table: Any, name: str) -> np.ndarray:
    """A column of vectors: (N, D) float64."""
    return np.array(table[name].to_pylist(), dtype=np.float64)


def _images(table: Any, rows: list[int]) -> tuple[np.ndarray | None, np.ndarray | None]:
    if COLOR not in table.column_names or DEPTH not in table.column_names:
        return None, None
    images = [_pixels(each["bytes"]) for each in table[COLOR].to_pylist()]
    depth = np.array(table[DEPTH].to_pylist(), dtype=np.float32)
    return np.stack(images)[rows], depth[rows]


def _pixels(png: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image.convert("RGB"))
