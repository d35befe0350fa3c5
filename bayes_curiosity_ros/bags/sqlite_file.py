"""SQLite files, laid out as rosbag2's storage plugin does (database schema 4)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from bayes_curiosity_ros.bags.definitions import Definition
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.metadata import VERSION, Topic, qos_of_yaml
from bayes_curiosity_ros.bags.storage import Contents, Record

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
# Not one of rosbag2's tables, which ignores it: what a crashed bag says about its run.
_ABOUT = "CREATE TABLE bayes_curiosity(about TEXT NOT NULL)"


class SqliteWriter:
    """One SQLite file; what `flush` committed outlives the process."""

    def __init__(self, path: Path, about: Mapping[str, str]) -> None:
        if path.exists():
            raise FileExistsError(str(path))
        self._database = sqlite3.connect(path, check_same_thread=False)
        self._database.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;")
        self._database.executescript(_TABLES)
        self._database.execute(_ABOUT)
        self._database.execute("INSERT INTO bayes_curiosity VALUES (?)", [json.dumps({**about})])
        self._database.execute("INSERT INTO schema VALUES (?, ?)", [SCHEMA_VERSION, "jazzy"])
        self._database.commit()
        self._topics: dict[str, int] = {}
        self._types: set[str] = set()
        self._written = 0

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

    def write(self, record: Record) -> None:
        """Add a message to the open transaction."""
        self._database.execute(
            "INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)",
            [self._topics[record.topic], record.received_ns, record.data],
        )
        self._written += len(record.data)

    def flush(self) -> None:
        """Commit."""
        self._database.commit()

    def close(self, serialized_metadata: str) -> None:
        """Add rosbag2's metadata and leave a single file."""
        self._database.execute(
            "INSERT INTO metadata(metadata_version, metadata) VALUES (?, ?)",
            [VERSION, serialized_metadata],
        )
        self._database.commit()
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
            names = self._declare(database)
            rows = database.execute("SELECT topic_id, timestamp, data FROM messages ORDER BY id")
            for topic, time, data in rows:
                name = names.get(topic)
                if name is None:
                    continue
                if types is None or self.contents.topics[name].type_name in types:
                    yield Record(name, time, time, data)
                else:
                    self.contents.skipped += 1
        except sqlite3.DatabaseError as error:
            if not self.contents.topics:
                raise BagError(f"{self._path} is not a bag's sqlite3 file: {error}") from error
            self.contents.losses.append(f"{self._path.name} is damaged: {error}")
        finally:
            database.close()

    def _declare(self, database: sqlite3.Connection) -> dict[int, str]:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        if "topics" not in tables:
            raise BagError(f"{self._path} is not a bag's sqlite3 file: it has no table of topics")
        if "bayes_curiosity" in tables:
            rows = database.execute("SELECT about FROM bayes_curiosity").fetchall()
            self.contents.about = json.loads(rows[0][0]) if rows else {}
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
