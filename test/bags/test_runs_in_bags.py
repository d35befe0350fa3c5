"""Runs in bags: one at a time, and bags from before there were any."""

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message

from bayes_curiosity_interfaces.msg import LearnerStatus
from bayes_curiosity_ros.bags.episode import read_episodes
from bayes_curiosity_ros.bags.one_run import OneRun
from bayes_curiosity_ros.bags.peek import LEARNER_STATUS, STEP_TYPES, run_of
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.bags.storage import Record
from bayes_curiosity_ros.nodes.conversions.recorded import message_of_record, replayed_bytes
from bayes_curiosity_ros.nodes.taps import message_class
from support.older import older_bytes, older_topic, write_older_bag
from support.pretended import TYPES, Run, topic, write_records

STEPS = {name: kind for name, kind in TYPES.items() if kind in STEP_TYPES}


def of_run(record, run):
    """The same record, of a run."""
    message = read(record)
    message.run = run
    return record._replace(data=serialize_message(message))


def read(record):
    return deserialize_message(record.data, message_class(TYPES[record.topic]))


@pytest.fixture(scope="module")
def records():
    return list(Run(episodes=2, images=True).records())


def test_the_run_is_found_in_every_message_of_a_step(records):
    seen = set()
    for record in records:
        if record.topic in STEPS:
            kind = STEPS[record.topic]
            data = of_run(record, 2**63 + 5).data
            assert run_of(kind, data) == 2**63 + 5
            again = record._replace(data=replayed_bytes(topic(record.topic), data))
            assert read(again) == read(record)
            seen.add(record.topic)
    assert seen == STEPS.keys()


def test_the_run_is_found_in_a_learners_status():
    status = LearnerStatus(reason="why", algorithm="trpo", task="reach", episodes=3, run=2**63 + 5)
    assert run_of(LEARNER_STATUS, serialize_message(status)) == 2**63 + 5


def test_messages_of_before_are_read_as_those_of_today(records):
    for record in records:
        then, data = older_topic(record.topic), older_bytes(record.topic, record.data)
        today = read(record)
        assert message_of_record(then, data) == today
        assert deserialize_message(replayed_bytes(then, data), type(today)) == today


def test_a_message_that_does_not_say_who_acted_is_replayed_as_of_no_run(records):
    for record in records:
        if record.topic in STEPS:
            then = older_topic(record.topic, "actor")
            data = older_bytes(record.topic, of_run(record, 2**63 + 5).data, "actor")
            assert message_of_record(then, data).run == 2**63 + 5
            again = record._replace(data=replayed_bytes(then, data))
            assert read(again) == read(record)


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_a_bag_of_before_has_the_same_episodes(tmp_path, records, storage):
    write_older_bag(tmp_path / "then", records, storage=storage)
    write_records(tmp_path / "now", records)
    reader = BagReader(tmp_path / "then")
    then, now = list(read_episodes(reader)), list(read_episodes(BagReader(tmp_path / "now")))
    assert (len(then), reader.losses) == (2, [])
    for old, new in zip(then, now, strict=True):
        for name, value in vars(new).items():
            np.testing.assert_equal(getattr(old, name), value)


class Clock:
    now_s = 0.0

    def __call__(self):
        return self.now_s


def recorded(keeper, run, name="/action"):
    record = next(r for r in Run(episodes=1, steps=1).records() if r.topic == name)
    return keeper.keeps(of_run(record, run), TYPES[name])


def test_a_bag_takes_one_run_at_a_time_and_counts_the_rest():
    keeper = OneRun(clock := Clock())
    assert recorded(keeper, 0)
    assert recorded(keeper, 7)
    assert not recorded(keeper, 8)
    assert not recorded(keeper, 0, "/episode")
    keeper.end(7)
    assert recorded(keeper, 8)
    assert recorded(keeper, 7)  # what it said before it ended may come a little late
    assert not recorded(keeper, 9)
    clock.now_s += 21.0
    assert recorded(keeper, 9)
    assert keeper.runs == [7, 8, 9]
    assert keeper.strangers == {"/action": 2, "/episode": 1}
    assert keeper.keeps(Record("/action", 0, 0, b"\0\1\0\0"), TYPES["/action"])
