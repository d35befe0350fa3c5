"""SQLite files, laid out as rosbag2's storage plugin does (database schema 4).

SQLite notices little damage by itself. So a table of ours has a checksum of every block of
messages, of about half a second each, and one of all topics.
"""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import reduce
from itertools import groupby
from pathlib import Path

from bayes_curiosity_ros.bags.checksums import FORMAT, opened, sealed
from bayes_curiosity_ros.bags.definitions import Definition
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.metadata import VERSION, Topic, qos_of_yaml
from bayes_curiosity_ros.bags.storage import Contents, Record
from bayes_curiosity_ros.spans import span

SCHEMA_VERSION = 4
_TABLES = """
CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);
CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL,
    metadata TEXT NOT NULL);
CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
    serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL,
    type_description_hash TEXT NOT NULL);
CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL,
    encoding TEXT NOT NULL, encoded_message_definition TEXT NOT NULL,
    type_description_hash TEXT NOT NULL);
CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL,
    timestamp INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX timestamp_idx ON messages (timestamp ASC);
"""
# Not rosbag2's tables, which ignores them: what a crashed bag says about its run, and checksums of
# messages up to a last one; that of the topics has 0 there.
_OURS = """
CREATE TABLE bayes_curiosity(about TEXT NOT NULL);
CREATE TABLE bayes_curiosity_checksums(last INTEGER PRIMARY KEY, crc INTEGER NOT NULL);
"""
_TOPICS = 0
_NO_BLOCK = 2**63  # messages behind the last checksum
_BLOCK_BYTES = 768 * 1024
_ROW = struct.Struct("<qqq")  # id, topic, time: before a message's bytes in a checksum
_Row = tuple[int, int, int, bytes]
# What damaged columns are not: numbers, texts and bytes where they should be.
_DAMAGE = (TypeError, ValueError, AttributeError, KeyError, struct.error)


class SqliteWriter:
    """One SQLite file; what `flush` committed outlives the process."""

    def __init__(self, path: Path, about: Mapping[str, str]) -> None:
        if path.exists():
            raise FileExistsError(str(path))
        self._database = sqlite3.connect(path, check_same_thread=False)
        self._database.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;")
        self._database.executescript(_TABLES)
        self._database.executescript(_OURS)
        self._database.execute(
            "INSERT INTO bayes_curiosity VALUES (?)", [json.dumps(sealed(about))]
        )
        self._database.execute("INSERT INTO schema VALUES (?, ?)", [SCHEMA_VERSION, "jazzy"])
        self._topics: dict[str, int] = {}
        self._types: set[str] = set()
        self._written = self._count = 0
        self._block_bytes = self._block_crc = 0
        self._seal_topics()
        self._database.commit()

    @property
    def size_bytes(self) -> int:
        """Bytes of all messages so far."""
        return self._written

    def add_topic(self, topic: Topic) -> None:
        """Declare a topic; its messages may follow."""
        definition = topic.definition
        cursor = self._database.execute(
            "INSERT INTO topics(name, type, serialization_format, offered_qos_profiles, "
            "type_description_hash) VALUES (?, ?, 'cdr', ?, ?)",
            [topic.name, topic.type_name, topic.qos_yaml, definition.type_hash],
        )
        self._topics[topic.name] = int(cursor.lastrowid or 0)
        if topic.type_name not in self._types:
            self._types.add(topic.type_name)
            encoding = "ros2msg" if definition.text else "unknown"
            self._database.execute(
                "INSERT INTO message_definitions(topic_type, encoding, "
                "encoded_message_definition, type_description_hash) VALUES (?, ?, ?, ?)",
                [topic.type_name, encoding, definition.text, definition.type_hash],
            )
        self._seal_topics()

    def write(self, record: Record) -> None:
        """Add a message to the open transaction."""
        self._count += 1
        row = self._count, self._topics[record.topic], record.received_ns, record.data
        self._database.execute("INSERT INTO messages VALUES (?, ?, ?, ?)", row)
        self._block_crc = _crc(self._block_crc, row)
        self._block_bytes += _ROW.size + len(record.data)
        self._written += len(record.data)
        if self._block_bytes >= _BLOCK_BYTES:
            self._end_block()

    def flush(self) -> None:
        """End the block and commit."""
        self._end_block()
        self._database.commit()

    def _end_block(self) -> None:
        if self._block_bytes:
            self._seal(self._count, self._block_crc)
            self._block_bytes = self._block_crc = 0

    def _seal_topics(self) -> None:
        self._seal(_TOPICS, _crc_of_topics(self._database))

    def _seal(self, last: int, crc: int) -> None:
        self._database.execute(
            "INSERT OR REPLACE INTO bayes_curiosity_checksums VALUES (?, ?)", [last, crc]
        )

    def close(self, serialized_metadata: str) -> None:
        """Add rosbag2's metadata and leave a single file."""
        self._database.execute(
            "INSERT INTO metadata(metadata_version, metadata) VALUES (?, ?)",
            [VERSION, serialized_metadata],
        )
        self.flush()
        self._database.execute("PRAGMA journal_mode=DELETE")
        self._database.close()


class SqliteReader:
    """Goes through a file of any rosbag2 since it knew sqlite3."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.contents = Contents({}, {}, [])

    def records(self, types: Collection[str] | None = None) -> Iterator[Record]:
        """Every message, oldest first."""
        database = sqlite3.connect(f"{self._path.resolve().as_uri()}?mode=ro", uri=True)
        try:
            database.execute("BEGIN")  # one moment of a file that grows
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
            blocks = self._checksums(database, tables)
            names = self._declare(database, tables)
            rows: Iterable[_Row] = database.execute("SELECT * FROM messages ORDER BY id")
            for _, topic, time, data in self._verified(rows, blocks) if blocks else rows:
                name = names.get(topic)
                if name is None:
                    continue
                if types is None or self.contents.topics[name].type_name in types:
                    yield Record(name, int(time), int(time), bytes(data))
                else:
                    self.contents.skipped += 1
        except (sqlite3.DatabaseError, *_DAMAGE) as error:
            if not self.contents.topics:
                raise BagError(f"{self._path} is not a bag's sqlite3 file: {error}") from error
            self.contents.losses.append(f"{self._path.name} is damaged: {error}")
        finally:
            database.close()

    def _checksums(self, database: sqlite3.Connection, tables: set[str]) -> dict[int, int]:
        """Checksums by the last message that they are of; none in a file of another program.

        Raises:
            BagError: they should be there, or the topics' one does not fit.
        """
        ours = "bayes_curiosity" in tables
        if ours:
            rows = database.execute("SELECT about FROM bayes_curiosity").fetchall()
            about = json.loads(rows[0][0]) if rows else {}
            self.contents.about = opened(about, self._path.name)
        if "bayes_curiosity_checksums" not in tables:
            if self.contents.about.get("format") == FORMAT:
                raise BagError(f"{self._path} is damaged: it has no checksums")
            return {}
        blocks = dict(database.execute("SELECT last, crc FROM bayes_curiosity_checksums"))
        if not ours or blocks.pop(_TOPICS, None) != _crc_of_topics(database):
            raise BagError(f"{self._path} is damaged: the checksum of its topics does not fit")
        self.contents.checked = True
        return blocks

    def _verified(self, rows: Iterable[_Row], blocks: Mapping[int, int]) -> Iterator[_Row]:
        """The messages of every block whose checksum fits."""
        ends, missing = [*sorted(blocks), _NO_BLOCK], set(blocks)
        for end, group in groupby(rows, lambda row: ends[bisect_left(ends, row[0])]):
            block = list(group)
            if reduce(_crc, block, 0) == blocks.get(end):
                yield from block
            else:
                self._lose(block[0][0], block[-1][0])
            missing.discard(end)
        for end in sorted(missing):
            self._lose(end, end)

    def _lose(self, first: int, last: int) -> None:
        self.contents.losses.append(
            f"{self._path.name} is damaged: the checksum of messages {span(first, last)} does not "
            "fit; they are left out"
        )

    def _declare(self, database: sqlite3.Connection, tables: set[str]) -> dict[int, str]:
        if "topics" not in tables:
            raise BagError(f"{self._path} is not a bag's sqlite3 file: it has no table of topics")
        texts = self._definitions(database, tables)
        names = {}
        database.row_factory = sqlite3.Row
        for row in database.execute("SELECT * FROM topics"):
            keys = row.keys()
            qos = row["offered_qos_profiles"] if "offered_qos_profiles" in keys else ""
            digest = row["type_description_hash"] if "type_description_hash" in keys else ""
            definition = Definition(row["type"], texts.get(row["type"], ""), digest)
            self.contents.topics[row["name"]] = Topic(row["name"], definition, qos_of_yaml(qos))
            names[row["id"]] = row["name"]
        database.row_factory = None
        return names

    def _definitions(self, database: sqlite3.Connection, tables: set[str]) -> dict[str, str]:
        if "message_definitions" not in tables:
            return {}
        return dict(
            database.execute(
                "SELECT topic_type, encoded_message_definition FROM message_definitions "
                "WHERE encoding = 'ros2msg'"
            ).fetchall()
        )


def _crc(crc: int, row: _Row) -> int:
    """Checksum of rows of messages, from that of all but the last."""
    number, topic, time, data = row
    return zlib.crc32(data, zlib.crc32(_ROW.pack(number, topic, time), crc))


def _crc_of_topics(database: sqlite3.Connection) -> int:
    """Checksum of all that is said of topics and their types."""
    crc = 0
    for table in ("schema", "topics", "message_definitions"):
        for row in database.execute(f"SELECT * FROM {table} ORDER BY 1"):
            crc = zlib.crc32(repr(row).encode(), crc)
    return crc
