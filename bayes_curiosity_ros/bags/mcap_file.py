"""MCAP files: https://mcap.dev/spec, profile ros2, laid out as rosbag2's storage plugin does.

The `mcap` package's own writer cannot be told to end a chunk, which is what makes a recording
survive a crash, and its reader needs the footer that a crashed file lacks. So the records that
are many (messages, chunks) are framed here, and its record classes do the rest.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Collection, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import lz4.frame
import zstandard
from mcap.data_stream import ReadDataStream, RecordBuilder
from mcap.exceptions import EndOfFile
from mcap.opcode import Opcode
from mcap.records import (
    Channel,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)

from bayes_curiosity_ros import __version__
from bayes_curiosity_ros.bags.definitions import Definition
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.metadata import Topic, qos_of_yaml
from bayes_curiosity_ros.bags.storage import Contents, Record

MAGIC = b"\x89MCAP0\r\n"
CHUNK_BYTES = 768 * 1024  # rosbag2's
ABOUT = "bayes_curiosity"
COMPRESSIONS = ("none", "zstd")

_MESSAGE = struct.Struct("<BQHIQQ")
_MESSAGE_FIELDS = struct.Struct("<HIQQ")
_RECORD = struct.Struct("<BQ")
_CHUNK = struct.Struct("<QQQI")


class McapWriter:
    """One MCAP file. Chunks end by size or on `flush`; each is then readable on its own.

    Args:
        path: must not exist.
        about: the run's description, written first so that a crashed file has it.
        compression: "none" or "zstd", of whole chunks.
    """

    def __init__(self, path: Path, about: Mapping[str, str], compression: str = "none") -> None:
        self._file = path.open("xb", buffering=0)
        self._offset = 0
        self._compressor = zstandard.ZstdCompressor(level=1) if compression == "zstd" else None
        self._schemas: dict[str, Schema] = {}
        self._channels: dict[str, Channel] = {}
        self._counts: dict[int, int] = {}
        self._metadata: list[MetadataIndex] = []
        self._chunks: list[ChunkIndex] = []
        self._start_ns, self._end_ns = 0, 0
        self._begin_chunk()
        self._append(MAGIC)
        self._append(_bytes(Header("ros2", f"bayes_curiosity_ros {__version__}")))
        self._append_metadata(ABOUT, about)

    @property
    def size_bytes(self) -> int:
        """On disk and waiting in the open chunk."""
        return self._offset + self._chunk_size

    def add_topic(self, topic: Topic) -> None:
        """Declare a topic; its messages may follow."""
        schema = self._schemas.get(topic.type_name)
        if schema is None:
            text = topic.definition.text
            encoding = "ros2msg" if text else "unknown"
            schema = Schema(len(self._schemas) + 1, text.encode(), encoding, topic.type_name)
            self._schemas[topic.type_name] = schema
            self._push(_bytes(schema))
        metadata = {
            "offered_qos_profiles": topic.qos_yaml,
            "topic_type_hash": topic.definition.type_hash,
        }
        channel = Channel(len(self._channels) + 1, topic.name, "cdr", metadata, schema.id)
        self._channels[topic.name] = channel
        self._counts[channel.id] = 0
        self._push(_bytes(channel))

    def write(self, record: Record) -> None:
        """Add a message to the open chunk."""
        channel = self._channels[record.topic].id
        time, data = record.received_ns, record.data
        self._index.setdefault(channel, []).append((time, self._chunk_size))
        header = _MESSAGE.pack(
            Opcode.MESSAGE,
            _MESSAGE_FIELDS.size + len(data),
            channel,
            self._counts[channel] & 0xFFFFFFFF,
            time,
            record.sent_ns,
        )
        self._push(header)
        self._push(data)
        self._counts[channel] += 1
        if self._chunk_size >= CHUNK_BYTES:
            self._end_chunk()

    def flush(self) -> None:
        """End the chunk and wait for the disk."""
        self._end_chunk()
        os.fdatasync(self._file.fileno())

    def close(self, serialized_metadata: str) -> None:
        """Write rosbag2's metadata record, the summary and the footer."""
        self._end_chunk()
        self._append_metadata("rosbag2", {"serialized_metadata": serialized_metadata})
        self._append(_bytes(DataEnd(0)))
        self._append(self._summary())
        os.fsync(self._file.fileno())
        self._file.close()

    def _begin_chunk(self) -> None:
        self._parts: list[bytes] = []
        self._chunk_size = 0
        self._index: dict[int, list[tuple[int, int]]] = {}

    def _push(self, data: bytes) -> None:
        self._parts.append(data)
        self._chunk_size += len(data)

    def _end_chunk(self) -> None:
        if not self._parts:
            return
        data = b"".join(self._parts)
        times = [time for entries in self._index.values() for time, _ in entries]
        start, end = min(times, default=0), max(times, default=0)
        if times:
            self._start_ns = min(self._start_ns or start, start)
            self._end_ns = max(self._end_ns, end)
        stored = self._compressor.compress(data) if self._compressor else data
        name = "zstd" if self._compressor else ""
        body = b"".join(
            (
                _CHUNK.pack(start, end, len(data), zlib.crc32(data)),
                _text(name),
                struct.pack("<Q", len(stored)),
                stored,
            )
        )
        offset, length = self._offset, _RECORD.size + len(body)
        offsets, indexes = self._message_indexes(offset + length)
        # One write, so that a kill leaves the chunk whole or absent.
        self._append(_RECORD.pack(Opcode.CHUNK, len(body)) + body + indexes)
        self._chunks.append(
            ChunkIndex(
                chunk_length=length,
                chunk_start_offset=offset,
                compression=name,
                compressed_size=len(stored),
                message_end_time=end,
                message_index_length=len(indexes),
                message_index_offsets=offsets,
                message_start_time=start,
                uncompressed_size=len(data),
            )
        )
        self._begin_chunk()

    def _message_indexes(self, at: int) -> tuple[dict[int, int], bytes]:
        offsets, parts = {}, []
        for channel, entries in self._index.items():
            offsets[channel] = at
            flat = [number for entry in entries for number in entry]
            body = struct.pack(f"<HI{len(flat)}Q", channel, 8 * len(flat), *flat)
            parts.append(_RECORD.pack(Opcode.MESSAGE_INDEX, len(body)) + body)
            at += len(parts[-1])
        return offsets, b"".join(parts)

    def _append_metadata(self, name: str, values: Mapping[str, str]) -> None:
        data = _bytes(Metadata(name, dict(values)))
        self._metadata.append(MetadataIndex(self._offset, len(data), name))
        self._append(data)

    def _summary(self) -> bytes:
        statistics = Statistics(
            attachment_count=0,
            channel_count=len(self._channels),
            channel_message_counts=self._counts,
            chunk_count=len(self._chunks),
            message_count=sum(self._counts.values()),
            message_end_time=self._end_ns,
            message_start_time=self._start_ns,
            metadata_count=len(self._metadata),
            schema_count=len(self._schemas),
        )
        start, summary, offsets = self._offset, b"", b""
        for opcode, records in (
            (Opcode.SCHEMA, [*self._schemas.values()]),
            (Opcode.CHANNEL, [*self._channels.values()]),
            (Opcode.STATISTICS, [statistics]),
            (Opcode.CHUNK_INDEX, self._chunks),
            (Opcode.METADATA_INDEX, self._metadata),
        ):
            group = b"".join(_bytes(record) for record in records)
            if group:
                offsets += _bytes(SummaryOffset(opcode, start + len(summary), len(group)))
            summary += group
        offset_start = start + len(summary)
        summary += offsets
        footer = _bytes(Footer(start, offset_start, 0))
        crc = zlib.crc32(summary + footer[:-4])  # the spec: up to, not including, the CRC itself
        return summary + footer[:-4] + struct.pack("<I", crc) + MAGIC

    def _append(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            written = self._file.write(view)
            view = view[written:]
        self._offset += len(data)


class McapReader:
    """Goes through an MCAP file from its start; needs no footer, and says what is lost."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.contents = Contents({}, {}, [])
        self._schemas: dict[int, Schema] = {}
        self._topics: dict[int, str] = {}
        self._finished = False
        self._types: Collection[str] | None = None

    def records(self, types: Collection[str] | None = None) -> Iterator[Record]:
        """Every message that can be read, in the file's order."""
        self._finished, self._types = False, types
        with self._path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise BagError(f"{self._path} is not an MCAP file: its first bytes are others")
            size = self._path.stat().st_size
            while not self._finished:
                yield from self._record(file, size)

    def _record(self, file: Any, size: int) -> Iterator[Record]:
        at = file.tell()
        head = file.read(_RECORD.size)
        if len(head) < _RECORD.size:
            self._lose(
                f"{self._path.name} ends at byte {at} without a footer: its recorder was stopped "
                "hard; what came in its last second may be missing"
            )
            return
        opcode, length = _RECORD.unpack(head)
        missing = file.tell() + length - size
        if missing > 0:
            yield from self._partial(opcode, file.read(), at, missing)
            return
        body = file.read(length)
        if opcode in (Opcode.DATA_END, Opcode.FOOTER):
            self._finished = True  # what follows is a summary of what was read
            return
        try:
            if opcode == Opcode.CHUNK:
                yield from self._chunk(body, at)
            else:
                yield from self._small(opcode, body)
        except (struct.error, UnicodeDecodeError, EndOfFile) as error:
            self.contents.losses.append(
                f"{self._path.name}: the record at byte {at} is damaged ({error!r})"
            )

    def _partial(self, opcode: int, body: bytes, at: int, missing: int) -> Iterator[Record]:
        self._lose(
            f"{self._path.name} is cut off in the record at byte {at}: {missing} bytes are missing"
        )
        if opcode == Opcode.CHUNK and len(body) > _CHUNK.size + 12:
            _, _, compression, data = _chunk_parts(body)
            if not compression:
                yield from self._inner(data)

    def _chunk(self, body: bytes, at: int) -> Iterator[Record]:
        size, crc, compression, stored = _chunk_parts(body)
        try:
            data = _decompress(compression, stored, size)
        except (zstandard.ZstdError, RuntimeError, MemoryError) as error:
            self.contents.losses.append(
                f"{self._path.name}: the {compression} chunk at byte {at} is damaged ({error}); "
                f"{size} bytes of messages are lost"
            )
            return
        if crc and zlib.crc32(data) != crc:
            self.contents.losses.append(
                f"{self._path.name}: the chunk at byte {at} is damaged (its checksum differs); "
                f"{size} bytes of messages are lost"
            )
            return
        yield from self._inner(data)

    def _inner(self, data: bytes) -> Iterator[Record]:
        """Records of a chunk, as far as they are whole."""
        at, end, topics = 0, len(data), self._topics
        while at + _RECORD.size <= end:
            opcode, length = _RECORD.unpack_from(data, at)
            at += _RECORD.size
            if at + length > end:
                return
            if opcode == Opcode.MESSAGE:
                channel, _, received, sent = _MESSAGE_FIELDS.unpack_from(data, at)
                topic = topics.get(channel)
                if topic:
                    payload = data[at + _MESSAGE_FIELDS.size : at + length]
                    yield Record(topic, received, sent, payload)
                elif topic is not None:
                    self.contents.skipped += 1
            else:
                yield from self._small(opcode, data[at : at + length])
            at += length

    def _small(self, opcode: int, body: bytes) -> Iterator[Record]:
        stream = ReadDataStream(BytesIO(body))
        if opcode == Opcode.SCHEMA:
            schema = Schema.read(stream)
            self._schemas[schema.id] = schema
        elif opcode == Opcode.CHANNEL:
            self._declare(Channel.read(stream))
        elif opcode == Opcode.METADATA:
            metadata = Metadata.read(stream)
            if metadata.name == ABOUT:
                self.contents.about = metadata.metadata
        elif opcode == Opcode.MESSAGE:
            channel, _, received, sent = _MESSAGE_FIELDS.unpack_from(body)
            topic = self._topics.get(channel)
            if topic:
                yield Record(topic, received, sent, body[_MESSAGE_FIELDS.size :])
            elif topic is not None:
                self.contents.skipped += 1

    def _declare(self, channel: Channel) -> None:
        schema = self._schemas.get(channel.schema_id)
        if schema is None or channel.message_encoding != "cdr":
            self._lose_topic(channel)
            return
        text = schema.data.decode("utf-8", "replace") if schema.encoding == "ros2msg" else ""
        definition = Definition(schema.name, text, channel.metadata.get("topic_type_hash", ""))
        qos = qos_of_yaml(channel.metadata.get("offered_qos_profiles", ""))
        wanted = self._types is None or schema.name in self._types
        self._topics[channel.id] = channel.topic if wanted else ""
        self.contents.topics[channel.topic] = Topic(channel.topic, definition, qos)

    def _lose_topic(self, channel: Channel) -> None:
        sentence = (
            f"{self._path.name}: topic {channel.topic} is encoded as "
            f"{channel.message_encoding!r}, not as ROS 2 messages; left out"
        )
        if sentence not in self.contents.losses:
            self.contents.losses.append(sentence)

    def _lose(self, sentence: str) -> None:
        self.contents.losses.append(sentence)
        self._finished = True


def _bytes(record: Any) -> bytes:
    builder = RecordBuilder()
    record.write(builder)
    return bytes(builder.end())  # type: ignore[no-untyped-call]


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<I", len(data)) + data


def _chunk_parts(body: bytes) -> tuple[int, int, str, bytes]:
    """Uncompressed size, CRC, compression, and as much of the data as there is."""
    _, _, size, crc = _CHUNK.unpack_from(body)
    (length,) = struct.unpack_from("<I", body, _CHUNK.size)
    at = _CHUNK.size + 4
    compression = body[at : at + length].decode("ascii", "replace")
    return size, crc, compression, body[at + length + 8 :]


def _decompress(compression: str, stored: bytes, size: int) -> bytes:
    if compression == "":
        return stored
    if compression == "zstd":
        return zstandard.ZstdDecompressor().decompress(stored, max_output_size=size)
    if compression == "lz4":
        return bytes(lz4.frame.decompress(stored))
    raise RuntimeError(f"unknown compression {compression!r}")
