"""Frames of a LeRobot dataset: an observation that was acted on, with its action."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from PIL import Image

from bayes_curiosity_ros.bags.episode import Episode
from bayes_curiosity_ros.bags.errors import BagError

COLOR = "observation.images.color"
# Not under "observation": policies would take it for a vector of joint angles.
DEPTH = "depth"
# As LeRobot's own recordings of people who correct a policy have it.
INTERVENTION = "complementary_info.is_intervention"
AXES = ("x", "y", "z")
Columns = Mapping[str, np.ndarray]


def frames(episode: Episode, fps: int, index: int, first: int) -> dict[str, np.ndarray]:
    """The columns of an episode.

    Args:
        fps: control steps per second.
        index: index of the episode in the dataset.
        first: number of frames that the dataset has before.
    """
    count = len(episode) - 1
    numbers = np.arange(count)
    columns: dict[str, np.ndarray] = {
        "observation.state": episode.vectors[:count].astype(np.float32),
        "action": np.column_stack([episode.actions, episode.gripper])[:count].astype(np.float32),
        "next.done": numbers == count - 1,
        "next.success": (numbers == count - 1) & (episode.outcome == "success"),
    }
    columns[INTERVENTION] = episode.driven[:count]
    if np.isfinite(episode.reward).all():
        columns["next.intrinsic_reward"] = episode.reward[1:].astype(np.float32)
    if episode.color is not None and episode.depth is not None:
        columns[COLOR], columns[DEPTH] = episode.color[:count], episode.depth[:count]
    columns["timestamp"] = (numbers / fps).astype(np.float32)
    columns["frame_index"] = numbers
    columns["episode_index"] = np.full(count, index)
    columns["index"] = first + numbers
    columns["task_index"] = np.zeros(count, dtype=np.int64)
    return columns


def frame_rate(episode: Episode) -> int:
    """Control steps per second, from the stamps.

    Raises:
        BagError: they do not say.
    """
    period_s = float(np.median(np.diff(episode.stamps_s)))
    if not 0.001 <= period_s <= 1.0:
        raise BagError(
            f"episode {episode.id} has a step every {period_s:.3g} s by its stamps; LeRobot wants "
            "a whole number of frames per second: give --fps"
        )
    return round(1.0 / period_s)


def features_of(columns: Columns) -> dict[str, dict[str, Any]]:
    """What `meta/info.json` says of the columns."""
    joints = columns["action"].shape[1] - 1
    names = {
        "observation.state": _state_names(joints, columns["observation.state"].shape[1]),
        "action": [*(f"joint_{i + 1}.delta" for i in range(joints)), "gripper"],
        COLOR: ["height", "width", "channels"],
        DEPTH: ["height", "width"],
    }
    return {
        name: {
            "dtype": "image" if name == COLOR else values.dtype.name,
            "shape": list(values.shape[1:]) or [1],
            "names": names.get(name),
        }
        for name, values in columns.items()
    }


def table_of(columns: Columns, features: Mapping[str, Mapping[str, Any]]) -> Any:
    """A pyarrow table that says what its columns are, images included."""
    import pyarrow as arrow

    arrays = {name: _arrow_column(name, values) for name, values in columns.items()}
    kinds = {name: _kind(feature) for name, feature in features.items()}
    words = json.dumps({"info": {"features": kinds}})
    return arrow.table(arrays).replace_schema_metadata({"huggingface": words})


def _state_names(joints: int, size: int) -> list[str]:
    """Our observations are joint angles, then where the object is if they know it."""
    rest = size - joints
    objects = [f"object.{axis}" for axis in AXES] if rest == len(AXES) else []
    others = objects or [f"value_{i + 1}" for i in range(rest)]
    return [*(f"joint_{i + 1}" for i in range(min(joints, size))), *others]


def _arrow_column(name: str, values: np.ndarray) -> Any:
    import pyarrow as arrow

    if name == COLOR:
        kind = arrow.struct({"bytes": arrow.binary(), "path": arrow.string()})
        return arrow.array([{"bytes": _png(image), "path": None} for image in values], kind)
    if values.ndim == 1:
        return arrow.array(values)
    kind = arrow.from_numpy_dtype(values.dtype)
    if name == DEPTH:
        return arrow.array(values.tolist(), arrow.list_(arrow.list_(kind)))
    return arrow.FixedSizeListArray.from_arrays(arrow.array(values.ravel()), values.shape[1])


def _kind(feature: Mapping[str, Any]) -> dict[str, Any]:
    """A column as the `datasets` library describes it."""
    shape, value = feature["shape"], {"dtype": feature["dtype"], "_type": "Value"}
    if feature["dtype"] == "image":
        return {"_type": "Image"}
    if len(shape) == 2:
        return {"shape": shape, "dtype": feature["dtype"], "_type": "Array2D"}
    if shape == [1]:
        return value
    return {"feature": value, "length": shape[0], "_type": "List"}


def _png(image: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return file.getvalue()
