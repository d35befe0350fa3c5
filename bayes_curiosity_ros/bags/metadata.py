"""`metadata.yaml` as rosbag2 of ROS 2 Jazzy writes it: version 9."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from bayes_curiosity_ros.bags.definitions import Definition
from bayes_curiosity_ros.bags.errors import BagError

VERSION = 9
FILE_NAME = "metadata.yaml"
KEY = "rosbag2_bagfile_information"
# libyaml, ten times as fast, where it is there.
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INFINITE = {"sec": 9223372036, "nsec": 854775807}


@dataclass(frozen=True)
class Qos:
    """Quality of service that a publisher offered; policies by their lower-case names."""

    history: str = "keep_last"
    depth: int = 1000
    reliability: str = "reliable"
    durability: str = "volatile"
    liveliness: str = "automatic"

    def as_dict(self) -> dict[str, Any]:
        """An entry of `offered_qos_profiles`."""
        return {
            "history": self.history,
            "depth": self.depth,
            "reliability": self.reliability,
            "durability": self.durability,
            "deadline": dict(_INFINITE),
            "lifespan": dict(_INFINITE),
            "liveliness": self.liveliness,
            "liveliness_lease_duration": dict(_INFINITE),
            "avoid_ros_namespace_conventions": False,
        }

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Qos:
        """What an entry of `offered_qos_profiles` says, in numbers (before version 9) or names."""
        return Qos(
            history=_name(values.get("history"), _HISTORY),
            depth=int(values.get("depth", 0)),
            reliability=_name(values.get("reliability"), _RELIABILITY),
            durability=_name(values.get("durability"), _DURABILITY),
        )


_HISTORY = ("system_default", "keep_last", "keep_all", "unknown")
_RELIABILITY = ("system_default", "reliable", "best_effort", "unknown")
_DURABILITY = ("system_default", "transient_local", "volatile", "unknown")


def _name(value: Any, names: Sequence[str]) -> str:
    if isinstance(value, int):
        return names[value] if 0 <= value < len(names) else "unknown"
    return str(value or "unknown")


@dataclass(frozen=True)
class Topic:
    """One topic of a bag."""

    name: str
    definition: Definition
    qos: tuple[Qos, ...] = ()

    @property
    def type_name(self) -> str:
        """Such as "sensor_msgs/msg/JointState"."""
        return self.definition.type_name

    @property
    def qos_yaml(self) -> str:
        """`offered_qos_profiles` as storages carry it."""
        return dump([profile.as_dict() for profile in self.qos]).strip()


def qos_of_yaml(text: str) -> tuple[Qos, ...]:
    """What `Topic.qos_yaml` gave, or an older rosbag2 wrote."""
    try:
        values = yaml.load(text, _LOADER) or []
        return tuple(Qos.from_dict(value) for value in values)
    except (yaml.YAMLError, AttributeError, TypeError, ValueError):
        return ()


@dataclass
class FileInfo:
    """One file of a bag; times in [ns]."""

    path: str
    start_ns: int = 0
    end_ns: int = 0
    message_count: int = 0

    def count(self, time_ns: int) -> None:
        """Account for one message."""
        if self.message_count == 0:
            self.start_ns = self.end_ns = time_ns
        self.start_ns = min(self.start_ns, time_ns)
        self.end_ns = max(self.end_ns, time_ns)
        self.message_count += 1


@dataclass
class BagMetadata:
    """All that `metadata.yaml` holds.

    Attributes:
        storage: "mcap" or "sqlite3".
        topics: with the number of messages of each.
        custom: rosbag2's `custom_data`: strings by name.
    """

    storage: str
    files: list[FileInfo] = field(default_factory=list)
    topics: dict[str, tuple[Topic, int]] = field(default_factory=dict)
    custom: dict[str, str] = field(default_factory=dict)
    ros_distro: str = "jazzy"

    @property
    def message_count(self) -> int:
        """Number of messages in all files."""
        return sum(file.message_count for file in self.files)

    @property
    def start_ns(self) -> int:
        """Time of the first message in [ns]."""
        return min((file.start_ns for file in self.files if file.message_count), default=0)

    @property
    def end_ns(self) -> int:
        """Time of the last message in [ns]."""
        return max((file.end_ns for file in self.files if file.message_count), default=0)

    def as_dict(self) -> dict[str, Any]:
        """rosbag2's fields in rosbag2's order."""
        return {
            "version": VERSION,
            "storage_identifier": self.storage,
            "duration": {"nanoseconds": self.end_ns - self.start_ns},
            "starting_time": {"nanoseconds_since_epoch": self.start_ns},
            "message_count": self.message_count,
            "topics_with_message_count": [
                {"topic_metadata": _topic_dict(topic), "message_count": count}
                for topic, count in self.topics.values()
            ],
            "compression_format": "",
            "compression_mode": "",
            "relative_file_paths": [file.path for file in self.files],
            "files": [_file_dict(file) for file in self.files],
            "custom_data": dict(self.custom) or None,
            "ros_distro": self.ros_distro,
        }


def _topic_dict(topic: Topic) -> dict[str, Any]:
    return {
        "name": topic.name,
        "type": topic.type_name,
        "serialization_format": "cdr",
        "offered_qos_profiles": [profile.as_dict() for profile in topic.qos],
        "type_description_hash": topic.definition.type_hash,
    }


def _file_dict(file: FileInfo) -> dict[str, Any]:
    return {
        "path": file.path,
        "starting_time": {"nanoseconds_since_epoch": file.start_ns},
        "duration": {"nanoseconds": file.end_ns - file.start_ns},
        "message_count": file.message_count,
    }


def document(metadata: BagMetadata) -> str:
    """The text of a `metadata.yaml`."""
    return dump({KEY: metadata.as_dict()})


def dump(value: Any) -> str:
    """Block-style YAML, fields in their order."""
    return str(
        yaml.dump(value, Dumper=_DUMPER, sort_keys=False, default_flow_style=False, width=10_000)
    )


def parse(text: str, where: str) -> BagMetadata:
    """Read a `metadata.yaml` of ours or of any rosbag2 since version 4.

    Raises:
        BagError: it is not one.
    """
    try:
        values = yaml.load(text, _LOADER)[KEY]
        files = values.get("files") or [{"path": path} for path in values["relative_file_paths"]]
        return BagMetadata(
            storage=str(values["storage_identifier"]),
            files=[_parse_file(file) for file in files],
            topics=dict(_parse_topic(entry) for entry in values["topics_with_message_count"]),
            custom={str(k): str(v) for k, v in (values.get("custom_data") or {}).items()},
            ros_distro=str(values.get("ros_distro", "")),
        )
    except (yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise BagError(f"{where} is not metadata of a rosbag2 bag: {error!r}") from error


def _parse_file(values: Mapping[str, Any]) -> FileInfo:
    start = int(values.get("starting_time", {}).get("nanoseconds_since_epoch", 0))
    duration = int(values.get("duration", {}).get("nanoseconds", 0))
    return FileInfo(
        str(values["path"]), start, start + duration, int(values.get("message_count", 0))
    )


def _parse_topic(entry: Mapping[str, Any]) -> tuple[str, tuple[Topic, int]]:
    values = entry["topic_metadata"]
    offered = values.get("offered_qos_profiles") or []
    qos = (
        qos_of_yaml(offered)
        if isinstance(offered, str)
        else tuple(Qos.from_dict(profile) for profile in offered)
    )
    definition = Definition(
        str(values["type"]), "", str(values.get("type_description_hash") or "")
    )
    return str(values["name"]), (
        Topic(str(values["name"]), definition, qos),
        int(entry["message_count"]),
    )
