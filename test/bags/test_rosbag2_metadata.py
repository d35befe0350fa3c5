"""Our metadata through the eyes of rosbag2: what its decoder of Jazzy asks of every field.

Neither rosbag2 nor rclcpp can be had as wheels. This follows rosbag2_storage's yaml.hpp and
qos.cpp, conversion by conversion; names of policies are judged by the middleware's own library.
"""

import ctypes
import sqlite3

import pytest
import yaml
from mcap.reader import make_reader
from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, ReliabilityPolicy

from bayes_curiosity_ros.bags.metadata import Qos, Topic
from bayes_curiosity_ros.bags.writer import BagWriter
from support.pretended import Run, topic, write_bag

POLICIES = {
    "history": HistoryPolicy,
    "reliability": ReliabilityPolicy,
    "durability": DurabilityPolicy,
    "liveliness": LivelinessPolicy,
}


def policy_value(kind, name):
    """What `rmw_qos_<kind>_policy_from_str` makes of a name."""
    convert = getattr(ctypes.CDLL("librmw.so"), f"rmw_qos_{kind}_policy_from_str")
    convert.argtypes, convert.restype = [ctypes.c_char_p], ctypes.c_int
    return convert(name.encode())


def whole(value, bits):
    """`as<uint64_t>` and `as<int>` take whole numbers in range only."""
    assert type(value) is int
    assert 0 <= value < 2**bits
    return value


def text(value):
    """`as<std::string>` takes any scalar but null."""
    assert isinstance(value, str)
    return value


def decode_qos(node):
    for kind, policies in POLICIES.items():
        assert policy_value(kind, text(node[kind])) == policies[node[kind].upper()].value
    whole(node["depth"], 31)
    for name in ("deadline", "lifespan", "liveliness_lease_duration"):
        whole(node[name]["sec"], 64)
        whole(node[name]["nsec"], 64)
    assert type(node["avoid_ros_namespace_conventions"]) is bool


def decode_topic(node):
    values = node["topic_metadata"]
    for name in ("name", "type", "serialization_format", "type_description_hash"):
        text(values[name])
    assert isinstance(values["offered_qos_profiles"], list)
    for profile in values["offered_qos_profiles"]:
        decode_qos(profile)
    return whole(node["message_count"], 64)


def decode_times(node):
    start = whole(node["starting_time"]["nanoseconds_since_epoch"], 63)
    return start, start + whole(node["duration"]["nanoseconds"], 63)


def decode(node):
    """As `convert<BagMetadata>::decode`; also that the parts agree with the whole."""
    assert whole(node["version"], 31) == 9
    assert text(node["storage_identifier"]) in ("mcap", "sqlite3")
    start, end = decode_times(node)
    count = whole(node["message_count"], 64)
    assert sum(decode_topic(entry) for entry in node["topics_with_message_count"]) == count
    assert [text(path) for path in node["relative_file_paths"]]
    assert (text(node["compression_format"]), text(node["compression_mode"])) == ("", "")
    files = node["files"]
    assert [text(file["path"]) for file in files] == node["relative_file_paths"]
    assert sum(whole(file["message_count"], 64) for file in files) == count
    spans = [decode_times(file) for file in files]
    assert (min(a for a, _ in spans), max(b for _, b in spans)) == (start, end)
    for key, value in (node["custom_data"] or {}).items():
        text(key)
        text(value)
    assert text(node["ros_distro"])
    return count


def metadata_of(path):
    return yaml.safe_load((path / "metadata.yaml").read_text())["rosbag2_bagfile_information"]


@pytest.mark.parametrize(
    "layout",
    [{}, {"compression": "zstd"}, {"storage": "sqlite3"}, {"max_file_mb": 0.02}],
    ids=["mcap", "zstd", "sqlite3", "rolled over"],
)
def test_rosbag2_decodes_our_metadata(tmp_path, layout):
    _, records = write_bag(tmp_path / "bag", **layout)
    assert decode(metadata_of(tmp_path / "bag")) == len(records)


def test_rosbag2_decodes_the_metadata_within_files(tmp_path):
    _, records = write_bag(tmp_path / "mcap", Run(episodes=1))
    with (tmp_path / "mcap" / "mcap_0.mcap").open("rb") as file:
        reader = make_reader(file)
        within = {entry.name: entry.metadata for entry in reader.iter_metadata()}
        channels = reader.get_summary().channels.values()
    assert decode(yaml.safe_load(within["rosbag2"]["serialized_metadata"])) == len(records)
    for channel in channels:
        for profile in yaml.safe_load(channel.metadata["offered_qos_profiles"]):
            decode_qos(profile)
    write_bag(tmp_path / "sqlite", Run(episodes=1), storage="sqlite3")
    database = sqlite3.connect(tmp_path / "sqlite" / "sqlite_0.db3")
    ((version, words),) = database.execute("SELECT metadata_version, metadata FROM metadata")
    profiles = [row[0] for row in database.execute("SELECT offered_qos_profiles FROM topics")]
    database.close()
    assert version == 9
    assert decode(yaml.safe_load(words)) == len(records)
    for profile in (profile for words in profiles for profile in yaml.safe_load(words)):
        decode_qos(profile)


def test_an_empty_bag_can_be_decoded(tmp_path):
    BagWriter(tmp_path / "bag").close()
    assert decode(metadata_of(tmp_path / "bag")) == 0


def test_every_quality_of_service_that_can_be_recorded_is_known_to_rosbag2(tmp_path):
    """The recorder writes rclpy's names in lower case; of Fast DDS, history is unknown."""
    bag = BagWriter(tmp_path / "bag")
    profiles = [
        Qos(**{kind: policy.name.lower(), "depth": 0})
        for kind, policies in POLICIES.items()
        for policy in policies
    ]
    bag.add_topic(Topic("/action", topic("/action").definition, tuple(profiles)))
    bag.close()
    decode(metadata_of(tmp_path / "bag"))
    assert policy_value("reliability", "reliabel") != policy_value("reliability", "reliable")
