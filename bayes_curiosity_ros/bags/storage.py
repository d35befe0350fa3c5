"""What every kind of file in a bag offers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from bayes_curiosity_ros.bags.metadata import Topic


class Record(NamedTuple):
    """One message as its publisher serialised it.

    Attributes:
        topic: name.
        received_ns: when the recorder got it; bags are ordered by this.
        sent_ns: when it was published; equal to `received_ns` where the storage does not say.
        data: CDR bytes, encapsulation header included.
    """

    topic: str
    received_ns: int
    sent_ns: int
    data: bytes


class StorageWriter(Protocol):
    """One file being written."""

    @property
    def size_bytes(self) -> int: ...

    def add_topic(self, topic: Topic) -> None: ...

    def write(self, record: Record) -> None: ...

    def flush(self) -> None:
        """Put on disk what was written, so that it outlives this process."""
        ...

    def close(self, serialized_metadata: str) -> None: ...


@dataclass
class Contents:
    """What is known of a file once it has been gone through.

    Attributes:
        topics: by name, with definitions.
        about: the run's own description; see `writer.BagWriter`.
        losses: sentences, one per thing that could not be read.
        skipped: messages of topics that nobody asked for.
        checked: whether it has checksums.
    """

    topics: dict[str, Topic]
    about: Mapping[str, str]
    losses: list[str]
    skipped: int = 0
    checked: bool = False


class StorageReader(Protocol):
    """One file being read; `contents` fills as `records` goes on."""

    contents: Contents

    def records(self, types: Collection[str] | None = None) -> Iterator[Record]:
        """Every message that can be read, of these types where they are given."""
        ...
