"""Episodes as a Parquet file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bayes_curiosity_ros.bags.episode import Episode
from bayes_curiosity_ros.bags.exports.arrays import arrays_of
from bayes_curiosity_ros.bags.exports.registry import EXPORTS, Exported, ExportSource


@EXPORTS.register("parquet", output="file with a row per step", needs=("pyarrow",))
def export_parquet(path: Path, source: ExportSource) -> Exported:
    """Write one file, a row per step, images as bytes; it gets the suffix .parquet."""
    import pyarrow as arrow
    from pyarrow import parquet

    path = path.with_suffix(".parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    writer, count = None, 0
    try:
        for episode in source.episodes:
            count += 1
            table = arrow.table(_columns(episode)).replace_schema_metadata(dict(source.about))
            writer = writer or parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
    return Exported(path, count)


def _columns(episode: Episode) -> dict[str, Any]:
    rows = len(episode)
    columns: dict[str, Any] = {
        "episode": np.full(rows, episode.id, dtype=np.int64),
        "outcome": [episode.outcome] * rows,
    }
    for name, values in arrays_of(episode).items():
        if name in ("color", "depth"):
            columns[name] = [np.ascontiguousarray(image).tobytes() for image in values]
            columns[f"{name}_shape"] = [list(values.shape[1:])] * rows
        else:
            columns[name] = values if values.ndim == 1 else list(values)
    return columns
