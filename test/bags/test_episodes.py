"""Episodes as arrays."""

import numpy as np
import pytest
from rclpy.serialization import serialize_message

from bayes_curiosity_interfaces.msg import Observation
from bayes_curiosity_ros.bags.definitions import Definition
from bayes_curiosity_ros.bags.episode import read_episodes
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.metadata import Topic
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.bags.storage import Record
from bayes_curiosity_ros.bags.writer import BagWriter
from support.pretended import TYPES, Run, topic, write_bag, write_records


def episodes_of(path, **options):
    reader = BagReader(path)
    return list(read_episodes(reader, **options)), reader


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_arrays_are_what_was_published(tmp_path, storage):
    run, _ = write_bag(tmp_path / "bag", Run(episodes=4, images=True), storage=storage)
    episodes, reader = episodes_of(tmp_path / "bag")
    assert reader.losses == []
    assert [episode.id for episode in episodes] == [0, 1, 2, 3]
    for index, episode in enumerate(episodes):
        assert episode.faults == ()
        assert episode.outcome == "time_limit"
        np.testing.assert_array_equal(episode.steps, np.arange(6))
        np.testing.assert_array_equal(episode.vectors, run.vectors[index])
        np.testing.assert_array_equal(episode.actions[:-1], run.actions[index])
        assert np.isnan(episode.actions[-1]).all()
        np.testing.assert_array_equal(episode.executed[:-1], 0.5 * run.actions[index])
        np.testing.assert_array_equal(episode.positions, run.vectors[index, :, :6])
        np.testing.assert_array_equal(episode.reward, run.rewards[index])
        np.testing.assert_array_equal(episode.color, run.color[index])
        np.testing.assert_array_equal(episode.depth, run.depth[index])


def test_images_are_converted_as_the_node_does(tmp_path):
    from bayes_curiosity_ros.nodes.conversions.observations import observation_of_message

    write_bag(tmp_path / "bag", Run(episodes=1, steps=1, images=True))
    (episode,), _ = episodes_of(tmp_path / "bag")
    messages = [m for name, m in Run(1, 1, images=True).messages() if name == "/observation"]
    for row, message in enumerate(messages):
        np.testing.assert_array_equal(
            episode.observations()[row : row + 1].images, observation_of_message(message).images
        )


def test_pairs_leave_out_steps_without_an_action(tmp_path):
    run, _ = write_bag(tmp_path / "bag", Run(episodes=1))
    (episode,), _ = episodes_of(tmp_path / "bag")
    observations, actions = episode.pairs()
    np.testing.assert_array_equal(observations.vectors, run.vectors[0, :-1])
    np.testing.assert_array_equal(actions[:, :6], run.actions[0])
    np.testing.assert_array_equal(actions[:, 6], 0.25)


def rewritten(path, change):
    """A bag of the records that `change` makes of a whole run's."""
    records = enumerate(change(list(Run().records())))
    write_records(path, [each._replace(received_ns=time_ns) for time_ns, each in records])
    return episodes_of(path)


def test_lost_and_doubled_messages_are_named(tmp_path):
    def change(records):
        observations = [r for r in records if r.topic == "/observation"]
        rewards = [r for r in records if r.topic == "/intrinsic_reward"]
        for record in records:
            if record not in (observations[2], rewards[8]):
                yield record
            if record == observations[3]:
                yield record

    (first, second, third), _ = rewritten(tmp_path / "bag", change)
    assert first.faults == (
        "1 of 6 observations missing, the first at step 2",
        "1 messages came twice; the last of each counts",
    )
    np.testing.assert_array_equal(first.steps, [0, 1, 3, 4, 5])
    assert second.faults == ("1 intrinsic rewards missing, the first at step 2",)
    assert np.isnan(second.reward[2])
    assert third.faults == ()


def test_a_topic_that_came_seconds_late_is_not_missing(tmp_path):
    """A message was lost on the way: the middleware held back its topic until it came again."""
    records, step_ns = list(Run(episodes=12).records()), 20_000_000
    timed = [each._replace(received_ns=i * step_ns) for i, each in enumerate(records)]
    late = [
        each._replace(received_ns=each.received_ns + 2_500_000_000)
        if each.topic == "/observation"
        else each
        for each in timed
    ]
    write_records(tmp_path / "bag", sorted(late, key=lambda each: each.received_ns))
    episodes, _ = episodes_of(tmp_path / "bag")
    assert [(episode.id, episode.faults) for episode in episodes] == [(i, ()) for i in range(12)]


def test_an_episode_that_was_begun_again_is_its_last_attempt(tmp_path):
    """A node was lost in mid-episode: the first attempt ends with ABORTED, or with nothing."""

    def change(records):
        cut = next(i for i, r in enumerate(records) if r.topic == "/episode")
        yield from records[: cut // 2]
        yield from records

    whole, _ = rewritten(tmp_path / "whole", list)
    again, _ = rewritten(tmp_path / "bag", change)
    assert [episode.id for episode in again] == [episode.id for episode in whole]
    for ours, theirs in zip(again, whole, strict=True):
        assert ours.faults == ()
        assert ours.outcome == theirs.outcome
        np.testing.assert_array_equal(ours.vectors, theirs.vectors)
        np.testing.assert_array_equal(ours.reward, theirs.reward)


def test_episodes_that_a_restarted_learner_ran_again_are_given_out_once(tmp_path):
    """It was killed in the last one, and began again with the first or a later one."""
    records = list(Run().records())
    ends = [i + 1 for i, r in enumerate(records) if r.topic == "/episode"]
    for number, start in enumerate((0, *ends[:-1])):
        again = [*records[: ends[-1] - 6], *records[start:]]
        episodes, _ = rewritten(tmp_path / f"bag_{number}", lambda _, again=again: again)
        assert [episode.id for episode in episodes if episode.learnt_from] == [0, 1, 2]
        assert all(episode.faults == () for episode in episodes)


def test_an_unfinished_episode_is_named(tmp_path):
    *_, last = rewritten(tmp_path / "bag", lambda records: records[:-9])[0]
    assert "its end was not recorded" in last.faults
    assert not last.learnt_from


def test_a_damaged_message_is_counted_and_named(tmp_path):
    def change(records):
        for record in records:
            damaged = record.topic == "/action" and record.received_ns % 3 == 0
            yield record._replace(data=record.data[:40]) if damaged else record

    episodes, reader = rewritten(tmp_path / "bag", change)
    assert len(episodes) == 3
    assert any("/action" in loss and "left out" in loss for loss in reader.losses)


def test_a_type_without_a_definition_is_named(tmp_path):
    bag = BagWriter(tmp_path / "bag")
    bag.add_topic(Topic("/strange", Definition("nowhere_msgs/msg/Thing", "")))
    bag.write(Record("/strange", 1, 1, b"\x00\x01\x00\x00"))
    bag.close()
    episodes, reader = episodes_of(tmp_path / "bag")
    assert episodes == []
    assert reader.topics["/strange"].type_name == "nowhere_msgs/msg/Thing"


def test_two_graphs_in_a_bag_are_told_apart_by_namespace(tmp_path):
    bag = BagWriter(tmp_path / "bag")
    for name in ("/left/observation", "/right/observation"):
        bag.add_topic(topic(name, TYPES["/observation"]))
        message = serialize_message(Observation(vector=[1.0 if name < "/r" else 2.0]))
        bag.write(Record(name, 1, 1, message))
    bag.close()
    with pytest.raises(BagError, match="--namespace /right"):
        episodes_of(tmp_path / "bag")
    (episode,), _ = episodes_of(tmp_path / "bag", namespace="right")
    assert episode.vectors[0, 0] == 2.0
