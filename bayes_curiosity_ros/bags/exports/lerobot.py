"""Episodes as a LeRobot dataset, version 3.0, written with pyarrow alone.

Images are PNG in the table, depth is a column of its own: both without loss. Only whole episodes
go in.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from bayes_curiosity_ros.bags.episode import Episode
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.exports.lerobot_frames import (
    COLOR,
    DEPTH,
    Columns,
    features_of,
    frame_rate,
    frames,
    table_of,
)
from bayes_curiosity_ros.bags.exports.lerobot_stats import (
    column_stats,
    flattened,
    histogram,
    image_stats,
)
from bayes_curiosity_ros.bags.exports.registry import EXPORTS, Exported, ExportSource

VERSION = "v3.0"
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
EPISODES_PATH = "meta/episodes/chunk-000/file-000.parquet"
MAX_FILE_MB, FILES_PER_CHUNK = 100, 1000


@EXPORTS.register("lerobot", output="folder of a LeRobot dataset", needs=("pyarrow",))
def export_lerobot(folder: Path, source: ExportSource) -> Exported:
    """Write a dataset; the bag's task becomes the dataset's.

    Raises:
        BagError: the folder exists, no episode is whole, or nobody knows the frame rate.
    """
    if folder.exists():
        raise BagError(f"{folder} exists already; datasets are never overwritten")
    dataset = _Dataset(folder, source.about.get("task") or "unknown", source.fps)
    try:
        for episode in source.episodes:
            dataset.add(episode)
    finally:
        dataset.close()
    if not dataset.episodes:
        raise BagError(f"nothing to export: {'; '.join(dataset.left_out) or 'no episode'}")
    dataset.write_metadata()
    return Exported(folder, len(dataset.episodes), tuple(dataset.left_out))


class _Dataset:
    """A dataset under way: frames go to disk at once, what describes them stays in memory.

    Attributes:
        episodes: a row of the table of episodes for each one taken in.
        frames: number of frames taken in.
        left_out: sentences on episodes that were not taken in.
    """

    def __init__(self, folder: Path, task: str, fps: int) -> None:
        from pyarrow import parquet

        self._parquet = parquet
        self._folder = folder
        self._task = task
        self._fps = fps
        self._features: dict[str, dict[str, Any]] = {}
        self._columns: dict[str, list[np.ndarray]] = {}
        self._histogram = np.zeros((3, 256), dtype=np.int64)
        self._file = 0
        self._writer: Any = None
        self.episodes: list[dict[str, Any]] = []
        self.frames = 0
        self.left_out: list[str] = []

    def add(self, episode: Episode) -> None:
        """Take in an episode, or say why not."""
        if episode.faults or len(episode) < 2 or episode.actions.shape[1] == 0:
            self._leave_out(episode, "; ".join(episode.faults) or "it has no action")
            return
        self._fps = self._fps or frame_rate(episode)
        columns = frames(episode, self._fps, len(self.episodes), self.frames)
        features = features_of(columns)
        self._features = self._features or features
        if features != self._features:
            self._leave_out(episode, "it has other columns or shapes than those before")
            return
        self._describe(episode, len(columns["index"]), self._remember(columns))
        self._write(columns)

    def close(self) -> None:
        """Finish the file under way."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def write_metadata(self) -> None:
        """All that is in `meta/`."""
        import pyarrow as arrow

        meta, table = self._folder / "meta", arrow.Table.from_pylist(self.episodes)
        (self._folder / EPISODES_PATH).parent.mkdir(parents=True)
        self._parquet.write_table(table, self._folder / EPISODES_PATH)
        self._parquet.write_table(_tasks(self._task), meta / "tasks.parquet")
        stats = {name: column_stats(np.concatenate(c)) for name, c in self._columns.items()}
        if COLOR in self._features:
            stats[COLOR] = image_stats(self._histogram, self.frames)
        (meta / "stats.json").write_text(json.dumps(stats, indent=4))
        (meta / "info.json").write_text(json.dumps(self._info(), indent=4))

    def _leave_out(self, episode: Episode, reason: str) -> None:
        self.left_out.append(f"episode {episode.id} is left out: {reason}")

    def _remember(self, columns: Columns) -> dict[str, dict[str, list]]:
        """Keep what the dataset's statistics need; the episode's own are returned."""
        stats = {}
        for name, values in columns.items():
            if name == COLOR:
                counts = histogram(values)
                self._histogram += counts
                stats[name] = image_stats(counts, len(values))
            elif name != DEPTH:  # nobody normalises with a mean per pixel
                self._columns.setdefault(name, []).append(values)
                stats[name] = column_stats(values)
        return stats

    def _describe(self, episode: Episode, count: int, stats: dict[str, dict[str, list]]) -> None:
        chunk, file = divmod(self._file, FILES_PER_CHUNK)
        self.episodes.append(
            {
                "episode_index": len(self.episodes),
                "tasks": [self._task],
                "length": count,
                "data/chunk_index": chunk,
                "data/file_index": file,
                "dataset_from_index": self.frames,
                "dataset_to_index": self.frames + count,
                "meta/episodes/chunk_index": 0,
                "meta/episodes/file_index": 0,
                "recorded_episode": episode.id,
                "outcome": episode.outcome,
                **flattened(stats),
            }
        )
        self.frames += count

    def _write(self, columns: Columns) -> None:
        """One row group per episode, a new file when one is full."""
        chunk, file = divmod(self._file, FILES_PER_CHUNK)
        path = self._folder / DATA_PATH.format(chunk_index=chunk, file_index=file)
        path.parent.mkdir(parents=True, exist_ok=True)
        table = table_of(columns, self._features)
        self._writer = self._writer or self._parquet.ParquetWriter(path, table.schema)
        self._writer.write_table(table)
        if path.stat().st_size > MAX_FILE_MB * 1024**2:
            self.close()
            self._file += 1

    def _info(self) -> dict[str, Any]:
        return {
            "codebase_version": VERSION,
            "robot_type": "bayes_curiosity_ros",
            "total_episodes": len(self.episodes),
            "total_frames": self.frames,
            "total_tasks": 1,
            "chunks_size": FILES_PER_CHUNK,
            "data_files_size_in_mb": MAX_FILE_MB,
            "video_files_size_in_mb": MAX_FILE_MB,
            "fps": self._fps,
            "splits": {"train": f"0:{len(self.episodes)}"},
            "data_path": DATA_PATH,
            "video_path": None,
            "features": self._features,
        }


def _tasks(task: str) -> Any:
    """The table of tasks, which its readers load with pandas, the task as index."""
    import pyarrow as arrow

    kinds = {"task_index": ("int64", "int64"), "task": ("unicode", "object")}
    described = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": [
            {
                "name": name,
                "field_name": name,
                "pandas_type": kind,
                "numpy_type": numpy_kind,
                "metadata": None,
            }
            for name, (kind, numpy_kind) in kinds.items()
        ],
        "pandas_version": "2.0.0",
    }
    table = arrow.table({"task_index": [0], "task": [task]})
    return table.replace_schema_metadata({"pandas": json.dumps(described)})
