"""MCAP files: https://mcap.dev/spec, profile ros2, laid out as rosbag2's storage plugin does.

The `mcap` package writes them and reads their records. Its stream reader gives up at the first
record that is cut off or damaged, and cannot say where that was; so the reader here finds where
each record begins and ends by itself, and reads on behind a damaged one.
"""

from __future__ import annotations

import os
import struct
import sys
import tempfile
import threading
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from mcap.data_stream import ReadDataStream, RecordBuilder
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, ChunkIndex, McapRecord, Metadata, Schema
from mcap.stream_reader import StreamReader, get_chunk_data_stream
from mcap.writer import MCAP0_MAGIC, CompressionType, Writer
from zstandard import ZstdError

from bayes_curiosity_ros import __version__
from bayes_curiosity_ros.bags.checksums import KEY, opened, sealed
from bayes_curiosity_ros.bags.definitions import Definition
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.metadata import Topic, qos_of_yaml
from bayes_curiosity_ros.bags.storage import Contents, Record

CHUNK_BYTES = 768 * 1024  # rosbag2's
ABOUT = "bayes_curiosity"
COMPRESSIONS = {"none": CompressionType.NONE, "zstd": CompressionType.ZSTD}

_HEAD = struct.Struct("<BQ")  # of every record: opcode, length of what follows
_MESSAGE = struct.Struct("<BQHIQQ")  # the same, then channel, sequence, log and publish time
_DECLARATIONS = (Opcode.SCHEMA, Opcode.CHANNEL, Opcode.METADATA)
_DATA_END = struct.Struct("<I")  # checksum of all before it; what follows is a summary of it
# What the mcap package and its decompressors raise on bytes that are not what they should be.
_DAMAGE = (
    McapError, ZstdError, struct.error, ValueError, OverflowError, MemoryError, RuntimeError,
    BagError,
)  # fmt: skip


class McapWriter:
    """One MCAP file. Chunks end by size or on `flush`; each is then readable on its own.

    Args:
        path: must not exist.
        about: the run's description, written first so that a crashed file has it.
        compression: one of COMPRESSIONS, of whole chunks.
    """

    def __init__(self, path: Path, about: Mapping[str, str], compression: str = "none") -> None:
        # A buffer for a whole chunk: it goes to disk in one write, so that a kill leaves it
        # whole or absent.
        self._file = path.open("xb", buffering=2 * CHUNK_BYTES)
        # Chunks end here and not in the package, so that we know how much waits in one.
        self._writer: Any = Writer(
            self._file, sys.maxsize, COMPRESSIONS[compression], enable_data_crcs=True
        )
        # The package has no other way to give it a place of ours.
        vars(self._writer)["_Writer__chunk_indices"] = _ChunkIndexes(path.parent)
        self._disk = _Disk(self._file.fileno())
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self._sequences: Counter[str] = Counter()
        self._waiting = 0
        self._writer.start("ros2", f"bayes_curiosity_ros {__version__}")
        self._writer.add_metadata(ABOUT, sealed(about))
        self._end_chunk()

    @property
    def size_bytes(self) -> int:
        """Bytes on disk and waiting in the open chunk."""
        return self._file.tell() + self._waiting

    def add_topic(self, topic: Topic) -> None:
        """Declare a topic; its messages may follow."""
        text, name = topic.definition.text, topic.type_name
        if name not in self._schemas:
            encoding = "ros2msg" if text else "unknown"
            self._schemas[name] = self._writer.register_schema(name, encoding, text.encode())
        metadata = {
            "offered_qos_profiles": topic.qos_yaml,
            "topic_type_hash": topic.definition.type_hash,
        }
        self._channels[topic.name] = self._writer.register_channel(
            topic.name, "cdr", self._schemas[name], metadata
        )
        self._waiting += len(text) + len(topic.qos_yaml)

    def write(self, record: Record) -> None:
        """Add a message to the open chunk."""
        topic, received_ns, sent_ns, data = record
        sequence = self._sequences[topic]
        self._sequences[topic] = (sequence + 1) & 0xFFFFFFFF
        self._writer.add_message(self._channels[topic], received_ns, data, sent_ns, sequence)
        self._waiting += _MESSAGE.size + len(data)
        if self._waiting >= CHUNK_BYTES:
            self._end_chunk()

    def flush(self) -> None:
        """End the chunk and hand it to the system, which outlives us; the disk has it soon."""
        self._end_chunk()
        self._file.flush()
        self._disk.want()

    def close(self, serialized_metadata: str) -> None:
        """Write rosbag2's metadata record, the summary and the footer."""
        self._end_chunk()
        self._disk.close()
        self._writer.add_metadata("rosbag2", {"serialized_metadata": serialized_metadata})
        self._writer.finish()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def _end_chunk(self) -> None:
        self._writer.flush()
        self._waiting = 0


class _Disk:
    """Waits for the disk in a thread: what comes meanwhile would fill the writer's memory.

    Args:
        file: number of the open file.
    """

    def __init__(self, file: int) -> None:
        self._file = file
        self._wanted, self._closing = threading.Event(), False
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._run, name="disk", daemon=True)
        self._thread.start()

    def want(self) -> None:
        """Have all that was written so far on the disk, sometime soon.

        Raises:
            OSError: it could not be, last time.
        """
        if self._error is not None:
            raise self._error
        self._wanted.set()

    def close(self) -> None:
        """Wait no more; raises as `want` does."""
        self._closing = True
        self.want()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing:
            self._wanted.wait()
            self._wanted.clear()
            try:
                os.fdatasync(self._file)
                # Nobody reads it soon. A bag that filled the system's cache of files would slow
                # down whoever writes, and with that fill our memory.
                os.posix_fadvise(self._file, 0, 0, os.POSIX_FADV_DONTNEED)
            except OSError as error:
                self._error = error
                return


class _ChunkIndexes:
    """What the summary says of chunks, in a nameless file until it is written.

    The package keeps a list of them: 0.9 kB of memory for a chunk of seven topics, two a second.
    """

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115

    def append(self, index: ChunkIndex) -> None:
        builder: Any = RecordBuilder()
        index.write(builder)
        self._file.write(builder.end())

    def __iter__(self) -> Iterator[_ChunkIndexes]:
        yield self  # which writes all of them

    def write(self, builder: RecordBuilder) -> None:
        self._file.seek(0)
        builder.write(self._file.read())
        self._file.close()


class McapReader:
    """Goes through an MCAP file from its start; needs no footer, and says what is lost."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.contents = Contents({}, {}, [])
        self._schemas: dict[int, Schema] = {}
        self._topics: dict[int, str] = {}  # by channel; "" where nobody asked for it
        self._types: Collection[str] | None = None

    def records(self, types: Collection[str] | None = None) -> Iterator[Record]:
        """Every message that can be read, in the file's order."""
        self._types = types
        for at, data, missing in self._framed():
            try:
                chunk = data[0] == Opcode.CHUNK
                yield from self._messages(_unpacked(data, missing > 0) if chunk else data)
            except _DAMAGE as error:
                if not missing:
                    self._lose(
                        f"is damaged in the record at byte {at} ({type(error).__name__}: "
                        f"{error}); its {len(data)} bytes are lost"
                    )

    def _framed(self) -> Iterator[tuple[int, bytes, int]]:
        """Where each record begins, its bytes, and how many of them are missing at the end."""
        size = self._path.stat().st_size  # a damaged length asks for more memory than there is
        with self._path.open("rb") as file:
            if file.read(len(MCAP0_MAGIC)) != MCAP0_MAGIC:
                raise BagError(f"{self._path} is not an MCAP file: its first bytes are others")
            at, crc = file.tell(), zlib.crc32(MCAP0_MAGIC)
            while len(head := file.read(_HEAD.size)) == _HEAD.size:
                opcode, length = _HEAD.unpack(head)
                body = file.read(min(length, size))
                missing = length - len(body)
                if opcode == Opcode.DATA_END and length == _DATA_END.size and not missing:
                    self._compare(crc, _DATA_END.unpack(body)[0])
                    return
                crc = zlib.crc32(body, zlib.crc32(head, crc))
                yield at, head + body, missing
                if missing:
                    self._lose(
                        f"is cut off in the record at byte {at}: {missing} bytes are missing"
                    )
                    return
                at = file.tell()
        self._lose(
            f"ends at byte {at} without a footer: its recorder was stopped hard; what came in its "
            "last second may be missing"
        )

    def _compare(self, crc: int, wanted: int) -> None:
        """Compare the checksum of all that was read with what it should be; 0 stands for none."""
        self.contents.checked |= wanted != 0
        if wanted not in (0, crc) and not self.contents.losses:
            self._lose("is damaged: the checksum of the whole does not fit")

    def _messages(self, data: bytes) -> Iterator[Record]:
        """The messages among these records, as far as they are whole."""
        at, end, topics = 0, len(data), self._topics
        while at + _HEAD.size <= end:
            opcode, length = _HEAD.unpack_from(data, at)
            following = at + _HEAD.size + length
            if following > end:
                return
            if opcode == Opcode.MESSAGE:
                _, _, channel, _, received_ns, sent_ns = _MESSAGE.unpack_from(data, at)
                topic = topics.get(channel)
                if topic:
                    payload = data[at + _MESSAGE.size : following]
                    yield Record(topic, received_ns, sent_ns, payload)
                elif topic is not None:
                    self.contents.skipped += 1
            elif opcode in _DECLARATIONS:
                self._declare(_parsed(data[at:following]))
            at = following

    def _declare(self, record: McapRecord) -> None:
        if isinstance(record, Schema):
            self._schemas[record.id] = record
        elif isinstance(record, Channel):
            self._declare_topic(record)
        elif isinstance(record, Metadata) and record.name == ABOUT:
            self.contents.about = opened(record.metadata, self._path.name)
            self.contents.checked |= KEY in record.metadata

    def _declare_topic(self, channel: Channel) -> None:
        schema = self._schemas.get(channel.schema_id)
        if schema is None or channel.message_encoding != "cdr":
            self._lose(
                f"has topic {channel.topic} encoded as {channel.message_encoding!r}, not as "
                "ROS 2 messages; left out"
            )
            return
        text = schema.data.decode("utf-8", "replace") if schema.encoding == "ros2msg" else ""
        definition = Definition(schema.name, text, channel.metadata.get("topic_type_hash", ""))
        qos = qos_of_yaml(channel.metadata.get("offered_qos_profiles", ""))
        wanted = self._types is None or schema.name in self._types
        self._topics[channel.id] = channel.topic if wanted else ""
        self.contents.topics[channel.topic] = Topic(channel.topic, definition, qos)

    def _lose(self, what: str) -> None:
        sentence = f"{self._path.name} {what}"
        if sentence not in self.contents.losses:
            self.contents.losses.append(sentence)


def _parsed(data: bytes) -> McapRecord:
    """The one record that these bytes are."""
    return next(StreamReader(BytesIO(data), skip_magic=True).records)


def _unpacked(data: bytes, cut: bool) -> bytes:
    """The records in a chunk; of one that is cut off, as many as were not compressed."""
    chunk = Chunk.read(ReadDataStream(BytesIO(data[_HEAD.size :])))
    if cut:
        return b"" if chunk.compression else chunk.data
    stream, size = get_chunk_data_stream(chunk, validate_crc=True)
    return stream.read(size)
