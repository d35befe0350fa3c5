"""A bag being written: a folder of files and, at its end, `metadata.yaml`."""

from __future__ import annotations

import json
import tempfile
from array import array
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from bayes_curiosity_ros.bags.checksums import FORMAT, KEY, seal_text
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.ledger import BEFORE, Ledgers, Verdict
from bayes_curiosity_ros.bags.mcap_file import COMPRESSIONS, McapWriter
from bayes_curiosity_ros.bags.metadata import (
    FILE_NAME,
    BagMetadata,
    FileInfo,
    Topic,
    document,
    dump,
)
from bayes_curiosity_ros.bags.peek import STEP_TYPES, UNREADABLE, episode_and_step
from bayes_curiosity_ros.bags.sqlite_file import SqliteWriter
from bayes_curiosity_ros.bags.storage import Record, StorageWriter
from bayes_curiosity_ros.errors import ConfigError, unknown_name
from bayes_curiosity_ros.files import write_atomically

EXTENSIONS = {"mcap": ".mcap", "sqlite3": ".db3"}
ROW = 4  # numbers that an episode has in the index
OPEN_ROWS = 64  # episodes whose messages may still come


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

    Attributes:
        ledger: what the bag has of every episode, and what it lacks.

    Raises:
        BagError: the folder exists or cannot be made.
    """

    def __init__(
        self, path: Path, config: BagConfig | None = None, about: Mapping[str, str] | None = None
    ) -> None:
        self.path = path
        self.config = config or BagConfig()
        self.metadata = BagMetadata(self.config.storage, custom=dict(about or {}, format=FORMAT))
        self.ledger = Ledgers(self.metadata.custom.get(BEFORE, ""))
        self._step_topics: set[str] = set()
        self._counts: Counter[str] = Counter()
        try:
            path.mkdir(parents=True)
            self._episodes = EpisodeIndex(path)
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
        self.ledger.add_topic(topic)
        self._storage.add_topic(topic)

    def write(self, record: Record) -> None:
        """Take in one message."""
        if self._is_full(record.received_ns):
            self._roll_over()
        self._storage.write(record)
        self._counts[record.topic] += 1
        self.metadata.files[-1].count(record.received_ns)
        self.ledger.take(record)
        if record.topic in self._step_topics:
            with suppress(*UNREADABLE):
                self._episodes.count(episode_and_step(record.data)[0], record.received_ns)

    def flush(self) -> None:
        """Put on disk what was written, so that it outlives this process."""
        self._storage.flush()

    def close(
        self, remarks: Mapping[str, str] | None = None, lacking: Collection[str] = ()
    ) -> Verdict:
        """Finish the file, then write `metadata.yaml`: with it, the bag is closed.

        Args:
            remarks: more for `custom_data`, such as how many messages were dropped.
            lacking: what is missing besides what the bag knows itself, in sentences.
        """
        verdict = self.ledger.close()
        verdict = replace(verdict, lacking=(*verdict.lacking, *lacking))
        self.metadata.custom |= {
            **(remarks or {}),
            "episodes": json.dumps(self._episodes.rows()),
            "complete": str(verdict.complete).lower(),
            "lacking": json.dumps(verdict.lacking),
        }
        self._storage.close(self._described())
        self.metadata.custom[KEY] = ""
        text = seal_text(document(self.metadata))
        write_atomically(self.path / FILE_NAME, text.encode())
        return verdict

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


class EpisodeIndex:
    """When each episode began and ended, and how many messages it has.

    Rows of all but the newest few episodes wait in a nameless file: memory does not grow.

    Args:
        folder: folder of that file.
    """

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._newest: dict[int, array[int]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def count(self, episode: int, time_ns: int) -> None:
        """Account for one message; one that comes very late has a row of its own."""
        row = self._newest.get(episode)
        if row is None:
            row = self._newest[episode] = array("Q", (episode, time_ns, time_ns, 0))
            self._count += 1
            if len(self._newest) > OPEN_ROWS:
                self._file.write(self._newest.pop(next(iter(self._newest))))
        row[2] = time_ns
        row[3] += 1

    def rows(self) -> list[list[int]]:
        """Id, first and last time in [ns], messages."""
        self._file.seek(0)
        rows = array("Q", self._file.read())
        for row in self._newest.values():
            rows += row
        return [rows[at : at + ROW].tolist() for at in range(0, len(rows), ROW)]
