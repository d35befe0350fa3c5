"""Bags on disk: what goes in comes out, with our reader, with others', whole or not."""

import sqlite3

import numpy as np
import pytest
import yaml
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.rosbag2 import Reader
from rosbags.typesys import Stores, get_typestore

from bayes_curiosity_ros.bags.checksums import FORMAT
from bayes_curiosity_ros.bags.definitions import find_definition
from bayes_curiosity_ros.bags.episode import read_episodes
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.peek import episode_and_step
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.bags.storage import Record
from bayes_curiosity_ros.bags.writer import BagConfig, BagWriter
from bayes_curiosity_ros.errors import ConfigError
from support.pretended import START_NS, STEP_NS, TYPES, Run, begin_bag, topic, write_bag

LAYOUTS = {
    "mcap": {},
    "zstd": {"compression": "zstd"},
    "sqlite3": {"storage": "sqlite3"},
    "rolled over": {"max_file_mb": 0.02},
    "sqlite3 rolled over": {"storage": "sqlite3", "max_file_s": 0.2},
}


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return LAYOUTS[request.param]


def same(ours, theirs):
    """Equal but for the time of publication, which sqlite3 files do not hold."""
    return [(r.topic, r.received_ns, r.data) for r in ours] == [
        (r.topic, r.received_ns, r.data) for r in theirs
    ]


def test_what_goes_in_comes_out(tmp_path, layout):
    _, records = write_bag(tmp_path / "bag", **layout)
    reader = BagReader(tmp_path / "bag")
    assert same(reader.records(), records)
    assert reader.losses == []
    assert reader.about["task"] == "reach"
    assert {name: t.type_name for name, t in reader.topics.items()} == TYPES
    assert reader.topics["/action"] == topic("/action")


def test_mcap_keeps_both_times(tmp_path):
    _, records = write_bag(tmp_path / "bag")
    assert list(BagReader(tmp_path / "bag").records()) == records


def test_files_roll_over(tmp_path):
    write_bag(tmp_path / "by_size", max_file_mb=0.02)
    write_bag(tmp_path / "by_time", max_file_s=0.2)
    for name in ("by_size", "by_time"):
        assert len(list((tmp_path / name).glob(f"{name}_*.mcap"))) > 2
        assert len(list(BagReader(tmp_path / name / f"{name}_1.mcap").records())) > 0


def test_another_reader_reads_every_message(tmp_path, layout):
    _, records = write_bag(tmp_path / "bag", **layout)
    store = get_typestore(Stores.ROS2_JAZZY)
    with Reader(tmp_path / "bag") as reader:
        assert reader.message_count == len(records)
        assert reader.ros_distro == "jazzy"
        read = [Record(c.topic, time, time, data) for c, time, data in reader.messages()]
        digests = {c.topic: c.digest for c in reader.connections}
    assert same(read, records)
    assert digests["/joint_states"] == store.hash_rihs01("sensor_msgs/msg/JointState")


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_a_third_reader_decodes_every_message(tmp_path, compression):
    run, records = write_bag(tmp_path / "bag", compression=compression)
    with (tmp_path / "bag" / "bag_0.mcap").open("rb") as file:
        reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
        messages = [(c.topic, message) for _, c, _, message in reader.iter_decoded_messages()]
    assert len(messages) == len(records)
    actions = [message.joint_deltas for name, message in messages if name == "/action"]
    np.testing.assert_array_equal(actions, run.actions.reshape(-1, 6))


def test_metadata_has_rosbag2s_fields(tmp_path):
    """Field by field against rosbag2_storage's yaml.hpp and qos.cpp of Jazzy."""
    _, records = write_bag(tmp_path / "bag")
    text = (tmp_path / "bag" / "metadata.yaml").read_text()
    document = yaml.safe_load(text)
    assert list(document) == ["rosbag2_bagfile_information"]
    values = document["rosbag2_bagfile_information"]
    duration = {"nanoseconds": (len(records) - 1) * STEP_NS}
    assert list(values) == [
        "version", "storage_identifier", "duration", "starting_time", "message_count",
        "topics_with_message_count", "compression_format", "compression_mode",
        "relative_file_paths", "files", "custom_data", "ros_distro",
    ]  # fmt: skip
    assert values["version"] == 9
    assert values["storage_identifier"] == "mcap"
    assert values["starting_time"] == {"nanoseconds_since_epoch": START_NS}
    assert values["duration"] == duration
    assert values["message_count"] == len(records)
    assert (values["compression_format"], values["compression_mode"]) == ("", "")
    assert values["relative_file_paths"] == ["bag_0.mcap"]
    assert values["files"] == [
        {
            "path": "bag_0.mcap",
            "starting_time": {"nanoseconds_since_epoch": START_NS},
            "duration": duration,
            "message_count": len(records),
        }
    ]
    assert all(isinstance(value, str) for value in values["custom_data"].values())
    assert values["ros_distro"] == "jazzy"
    topics = {t["topic_metadata"]["name"]: t for t in values["topics_with_message_count"]}
    assert topics["/action"]["message_count"] == 15
    infinite = {"sec": 9223372036, "nsec": 854775807}
    assert topics["/action"]["topic_metadata"] == {
        "name": "/action",
        "type": "bayes_curiosity_interfaces/msg/Action",
        "serialization_format": "cdr",
        "offered_qos_profiles": [
            {
                "history": "keep_last",
                "depth": 1000,
                "reliability": "reliable",
                "durability": "volatile",
                "deadline": infinite,
                "lifespan": infinite,
                "liveliness": "automatic",
                "liveliness_lease_duration": infinite,
                "avoid_ros_namespace_conventions": False,
            }
        ],
        "type_description_hash": find_definition(TYPES["/action"]).type_hash,
    }
    assert topics["/action"]["topic_metadata"]["type_description_hash"].startswith("RIHS01_")


def test_sqlite3_tables_are_rosbag2s(tmp_path):
    write_bag(tmp_path / "bag", storage="sqlite3")
    database = sqlite3.connect(tmp_path / "bag" / "bag_0.db3")
    columns = {
        table: [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        for table in ("schema", "metadata", "topics", "message_definitions", "messages")
    }
    database.close()
    assert columns == {
        "schema": ["schema_version", "ros_distro"],
        "metadata": ["id", "metadata_version", "metadata"],
        "topics": ["id", "name", "type", "serialization_format", "offered_qos_profiles",
                   "type_description_hash"],
        "message_definitions": ["id", "topic_type", "encoding", "encoded_message_definition",
                                "type_description_hash"],
        "messages": ["id", "topic_id", "timestamp", "data"],
    }  # fmt: skip
    assert [file.name for file in (tmp_path / "bag").glob("*.db3*")] == ["bag_0.db3"]


def test_a_bag_that_was_never_closed_is_readable(tmp_path, layout):
    _, records = write_bag(tmp_path / "bag", close=False, **layout)
    reader = BagReader(tmp_path / "bag")
    assert same(reader.records(), records)
    assert any("no metadata.yaml" in loss for loss in reader.losses)
    assert reader.about["seed"] == "7"


def test_a_bag_is_readable_while_it_grows(tmp_path):
    records = list(Run().records())
    bag = begin_bag(tmp_path / "bag")
    bag.write(records[0])
    bag.flush()
    reading = BagReader(tmp_path / "bag").records()
    read = [next(reading)]
    for record in records[1:]:
        bag.write(record)
        bag.flush()
    assert same([*read, *reading], records)
    bag.close()


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.95])
def test_a_truncated_file_is_read_as_far_as_it_goes(tmp_path, keep):
    _, records = write_bag(tmp_path / "bag")
    file = tmp_path / "bag" / "bag_0.mcap"
    file.write_bytes(file.read_bytes()[: int(keep * file.stat().st_size)])
    reader = BagReader(tmp_path / "bag")
    read = list(reader.records())
    assert same(read, records[: len(read)])
    if len(read) < len(records):
        assert any("cut off" in loss or "without a footer" in loss for loss in reader.losses)
        assert f"{len(records) - len(read)} are lost" in reader.losses[-1]


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_damage_anywhere_is_survived_and_named(tmp_path, compression):
    write_bag(tmp_path / "bag", Run(episodes=2), compression=compression)
    file = tmp_path / "bag" / "bag_0.mcap"
    whole = file.read_bytes()
    lossy = 0
    for at in np.linspace(20, len(whole) - 1, 60).astype(int):
        data = bytearray(whole)
        data[at] ^= 0xFF
        file.write_bytes(data)
        reader = BagReader(tmp_path / "bag")
        read = list(read_episodes(reader))
        assert len(read) == 2 or reader.losses, f"byte {at}"
        lossy += bool(reader.losses)
    assert lossy > 3


@pytest.mark.parametrize("name", ["bag_0", "metadata"])
def test_no_damage_is_silent(tmp_path, layout, name):
    """A flipped bit, a cut, a piece of noise: the same messages, a loss, or an error in a line."""

    def read():
        reader = BagReader(tmp_path / "bag")
        records = list(reader.records())
        topics = {
            name: (t.type_name, t.definition.text, t.qos) for name, t in reader.topics.items()
        }
        return (records, reader.about, topics), reader.losses

    write_bag(tmp_path / "bag", Run(episodes=2, steps=3), **layout)
    (file,) = (tmp_path / "bag").glob(f"{name}.*")
    whole, sound = file.read_bytes(), read()[0]
    for data in damaged(whole, 50):
        file.write_bytes(data)
        try:
            found, losses = read()
        except BagError as error:
            found, losses = None, str(error).splitlines()
        assert len(losses) == 1 if found is None else losses or found == sound


def damaged(whole, count):
    rng = np.random.default_rng(0)
    for number, at in enumerate(rng.integers(0, len(whole), count)):
        data = bytearray(whole)
        if number % 4 == 0:
            del data[at:]
        elif number % 4 == 1:
            data[at : at + 64] = rng.bytes(len(data[at : at + 64]))
        else:
            data[at] ^= 1 << rng.integers(8)
        yield data


def test_a_bag_of_before_there_were_checksums_is_read(tmp_path, layout):
    """As another program's: without a word on damage, and that is said."""
    _, records = write_bag(tmp_path / "bag", **layout)
    file = tmp_path / "bag" / "metadata.yaml"
    lines = [line for line in file.read_text().splitlines() if "checksum" not in line]
    file.write_text("\n".join(lines).replace(FORMAT, "bayes_curiosity_bag/1"))
    reader = BagReader(tmp_path / "bag")
    assert same(reader.records(), records)
    assert not reader.checked
    assert reader.losses == []


def test_a_missing_file_is_named(tmp_path):
    write_bag(tmp_path / "bag", max_file_mb=0.02)
    (tmp_path / "bag" / "bag_1.mcap").unlink()
    reader = BagReader(tmp_path / "bag")
    assert len(list(reader.records())) > 0
    assert any("bag_1.mcap is missing" in loss for loss in reader.losses)


def folder(path):
    path.mkdir()
    return path


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda p: p / "absent", "does not exist"),
        (lambda p: folder(p / "hollow"), "no metadata.yaml, no .mcap and no .db3"),
        (lambda p: with_file(p, "metadata.yaml", b"a: 1"), "not metadata of a rosbag2 bag"),
        (lambda p: with_file(p, "metadata.yaml", b"\xff\x00["), "not metadata"),
        (lambda p: with_file(p, "x_0.mcap", b"hello, world"), "not an MCAP file"),
        (lambda p: with_file(p, "x_0.db3", b"hello, world" * 99), "not a bag's sqlite3 file"),
        (lambda p: with_file(p, "x.mcap", b"") / "x.mcap", "is empty"),
        (lambda p: with_file(p, "x.txt", b"1") / "x.txt", "neither an .mcap nor a .db3"),
    ],
)
def test_what_is_no_bag_is_said(tmp_path, make, words):
    with pytest.raises(BagError, match=words):
        list(BagReader(make(tmp_path)).records())


def with_file(path, name, data):
    (path / "bag").mkdir()
    (path / "bag" / name).write_bytes(data)
    return path / "bag"


def test_an_empty_bag_has_no_episodes(tmp_path):
    BagWriter(tmp_path / "bag").close()
    reader = BagReader(tmp_path / "bag")
    assert list(read_episodes(reader)) == []
    assert reader.losses == []


def test_bags_are_never_overwritten(tmp_path):
    with pytest.raises(BagError, match="never overwritten"):
        BagWriter(folder(tmp_path / "bag"))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"storage": "rosbag1"}, "mcap, sqlite3"),
        ({"compression": "jpeg"}, "none, zstd"),
        ({"compression": "zstd", "storage": "sqlite3"}, "needs storage = 'mcap'"),
        ({"max_file_mb": -1.0}, "max_file_mb = -1.0"),
    ],
)
def test_bad_layouts_are_refused(values, words):
    with pytest.raises(ConfigError, match=words):
        BagConfig(**values)


def test_a_missing_type_is_named(tmp_path):
    with pytest.raises(BagError, match="package nowhere_msgs is not installed"):
        find_definition("nowhere_msgs/msg/Thing")


def test_episode_and_step_are_found_in_the_bytes():
    for record in Run(episodes=2, steps=2).records():
        if record.topic == "/arm/state":  # has a frame id, which shifts what follows
            assert episode_and_step(record.data)[0] in (0, 1)
    last = [r for r in Run(episodes=2, steps=2).records() if r.topic == "/observation"][-1]
    assert episode_and_step(last.data) == (1, 2)
