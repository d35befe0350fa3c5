"""A bag being written: a folder of files and, at its end, `metadata.yaml`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.mcap_file import COMPRESSIONS, McapWriter
from bayes_curiosity_ros.bags.metadata import (
    FILE_NAME,
    KEY,
    BagMetadata,
    FileInfo,
    Topic,
    dump,
)
from bayes_curiosity_ros.bags.peek import STEP_TYPES, episode_and_step
from bayes_curiosity_ros.bags.sqlite_file import SqliteWriter
from bayes_curiosity_ros.bags.storage import Record, StorageWriter
from bayes_curiosity_ros.errors import ConfigError, unknown_name
from bayes_curiosity_ros.files import write_atomically

EXTENSIONS = {"mcap": ".mcap", "sqlite3": ".db3"}


@dataclass(frozen=True)
class BagConfig:
    """How a bag is laid out.

    Attributes:
        storage: mcap or sqlite3.
        compression: zstd compresses MCAP chunks, images included, without loss; none does not.
        max_file_mb: begin a new file beyond this size in [MB]; 0 for never.
        max_file_s: begin a new file after this time in [s]; 0 for never.
    """

    storage: str = "mcap"
    compression: str = "none"
    max_file_mb: float = 0.0
    max_file_s: float = 0.0

    def __post_init__(self) -> None:
        if self.storage not in EXTENSIONS:
            raise unknown_name("storage", self.storage, EXTENSIONS)
        if self.compression not in COMPRESSIONS:
            raise unknown_name("compression", self.compression, COMPRESSIONS)
        if self.compression != "none" and self.storage != "mcap":
            raise ConfigError(f"compression = {self.compression!r} needs storage = 'mcap'")
        for name in ("max_file_mb", "max_file_s"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ConfigError(f"{name} = {getattr(self, name)}; it must be finite and ≥ 0")


class BagWriter:
    """Writes messages as they come; a bag that is never closed can still be read.

    Args:
        path: the bag's folder; must not exist.
        config: its layout.
        about: strings by name that describe the run (task, seed, model id, …): in every file
            from its start, and in the metadata as rosbag2's `custom_data`.

    Raises:
        BagError: the folder exists or cannot be made.
    """

    def __init__(
        self, path: Path, config: BagConfig | None = None, about: Mapping[str, str] | None = None
    ) -> None:
        self.path = path
        self.config = config or BagConfig()
        self.metadata = BagMetadata(self.config.storage, custom=dict(about or {}))
        self._episodes: dict[int, list[int]] = {}
        self._step_topics: set[str] = set()
        self._counts: Counter[str] = Counter()
        try:
            path.mkdir(parents=True)
            self._storage = self._open()
        except FileExistsError:
            raise BagError(f"{path} exists already; bags are never overwritten") from None
        except OSError as error:
            raise BagError(f"cannot make a bag at {path}: {error.strerror}") from error

    @property
    def topics(self) -> set[str]:
        """Names that were declared."""
        return set(self.metadata.topics)

    @property
    def episodes(self) -> int:
        """Episodes seen so far."""
        return len(self._episodes)

    def add_topic(self, topic: Topic) -> None:
        """Declare a topic; needed before its first message."""
        self.metadata.topics[topic.name] = (topic, 0)
        if topic.type_name in STEP_TYPES:
            self._step_topics.add(topic.name)
        self._storage.add_topic(topic)

    def write(self, record: Record) -> None:
        """Take in one message."""
        if self._is_full(record.received_ns):
            self._roll_over()
        self._storage.write(record)
        self._counts[record.topic] += 1
        self.metadata.files[-1].count(record.received_ns)
        if record.topic in self._step_topics:
            self._index(record)

    def flush(self) -> None:
        """Put on disk what was written, so that it outlives this process."""
        self._storage.flush()

    def close(self, remarks: Mapping[str, str] | None = None) -> None:
        """Finish the file, then write `metadata.yaml`: with it, the bag is complete.

        Args:
            remarks: more for `custom_data`, such as how many messages were dropped.
        """
        self.metadata.custom |= dict(remarks or {})
        self.metadata.custom["episodes"] = json.dumps(
            [[episode, *entry] for episode, entry in self._episodes.items()]
        )
        self._storage.close(self._described())
        text = dump({KEY: self.metadata.as_dict()})
        write_atomically(self.path / FILE_NAME, text.encode())

    def _open(self) -> StorageWriter:
        number, kind = len(self.metadata.files), self.config.storage
        name = f"{self.path.name}_{number}{EXTENSIONS[kind]}"
        about = self.metadata.custom
        storage: StorageWriter
        if kind == "mcap":
            storage = McapWriter(self.path / name, about, self.config.compression)
        else:
            storage = SqliteWriter(self.path / name, about)
        self.metadata.files.append(FileInfo(name))
        for topic, _ in self.metadata.topics.values():
            storage.add_topic(topic)
        return storage

    def _is_full(self, now_ns: int) -> bool:
        file, config = self.metadata.files[-1], self.config
        if file.message_count == 0:
            return False
        too_large = 0 < config.max_file_mb * 1e6 <= self._storage.size_bytes
        too_long = 0 < config.max_file_s * 1e9 <= now_ns - file.start_ns
        return too_large or too_long

    def _roll_over(self) -> None:
        self._storage.close(self._described())
        self._storage = self._open()

    def _described(self) -> str:
        """The metadata as of now."""
        self.metadata.topics = {
            name: (topic, self._counts[name]) for name, (topic, _) in self.metadata.topics.items()
        }
        return dump(self.metadata.as_dict())

    def _index(self, record: Record) -> None:
        """Remember when each episode began and ended, and how many messages it has."""
        episode, _ = episode_and_step(record.data)
        entry = self._episodes.setdefault(episode, [record.received_ns, 0, 0])
        entry[1] = record.received_ns
        entry[2] += 1
