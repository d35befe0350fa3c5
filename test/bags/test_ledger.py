"""A bag knows what it should have: gaps, lost ends, late beginnings; aborts are no gaps."""

import tracemalloc
from dataclasses import replace

import pytest
from mcap.reader import make_reader
from rclpy.serialization import serialize_message

from bayes_curiosity_interfaces.msg import EpisodeSummary, LearnerStatus
from bayes_curiosity_ros.bags.ledger import FAR, OVERDUE_S, Ledgers, Verdict
from bayes_curiosity_ros.bags.peek import episode_and_step, state_and_episodes
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.bags.storage import Record
from bayes_curiosity_ros.bags.writer import OPEN_ROWS, EpisodeIndex
from bayes_curiosity_ros.cli import main
from support.pretended import TYPES, Run, begin_bag, topic, write_records

STATUS = "/learner/status"


@pytest.fixture(scope="module")
def records():
    """Six episodes of five steps, the third of them aborted."""
    return list(Run(episodes=6, aborted={2}).records())


def status(state, episodes, record):
    data = serialize_message(LearnerStatus(state=state, episodes=episodes, reason="so"))
    return record._replace(topic=STATUS, data=data)


def verdict_of(records, before=""):
    ledger = Ledgers(before)
    for name in TYPES:
        ledger.add_topic(topic(name))
    ledger.add_topic(topic(STATUS, "bayes_curiosity_interfaces/msg/LearnerStatus"))
    for record in records:
        ledger.take(record)
    return ledger.close()


def of(record, episodes, name=None):
    """Whether a record is a step's, of one of these episodes."""
    if record.topic in ("/joint_states", "/curiosity/state") or name not in (None, record.topic):
        return False
    return episode_and_step(record.data)[0] in episodes


def test_a_whole_bag_is_complete(records):
    assert verdict_of(records) == Verdict(whole=((0, 5),), settled=5)
    assert verdict_of(records).sentence() == "complete"


def test_lost_episodes_are_named(records):
    found = verdict_of([r for r in records if not of(r, (3, 4))])
    assert found.lacking == ("episodes 3…4: nothing recorded",)
    assert found.whole == ((0, 2), (5, 5))
    assert "episodes 3…4: nothing recorded" in found.sentence()


@pytest.mark.parametrize(
    ("name", "steps"),
    [("/observation", 6), ("/action", 5), ("/arm/state", 6), ("/intrinsic_reward", 6)],
)
def test_a_lost_step_of_any_topic_is_named(records, name, steps):
    kind = TYPES[name].rpartition("/")[2]
    lost = [r for r in records if of(r, (1,), name) and episode_and_step(r.data)[1] == 3]
    (sentence,) = verdict_of([r for r in records if r not in lost]).lacking
    assert sentence == f"episode 1: 1 of {steps} {kind} missing, the first at step 3"


def test_a_lost_summary_is_named(records):
    (sentence,) = verdict_of([r for r in records if not of(r, (1,), "/episode")]).lacking
    assert sentence == "episode 1: its end was not recorded"


def test_an_aborted_episode_lacks_nothing_and_may_be_repeated(records):
    kept = [r for r in records if not of(r, (2,), "/observation")]
    assert verdict_of(kept).complete
    abort = EpisodeSummary(episode=4, outcome=EpisodeSummary.ABORTED)
    at = next(i for i, r in enumerate(records) if of(r, (4,)))
    again = records[at]._replace(topic="/episode", data=serialize_message(abort))
    tried = [*records[: at + 8], again, *records[at:]]
    assert verdict_of(tried).complete
    assert not verdict_of([r for r in tried if not of(r, (4,), "/action")]).complete


def test_topics_that_were_heard_one_after_the_other_lack_nothing(records):
    """As after a time in which the recorder was held up."""
    assert verdict_of(sorted(records, key=lambda record: record.topic)).complete
    assert verdict_of(sorted(records, key=lambda record: record.topic, reverse=True)).complete


def test_the_learner_says_what_the_last_episode_was(records):
    heard = [r for r in records if not of(r, (4, 5))]
    running = status(LearnerStatus.RUNNING, 0, records[0])
    finished = status(LearnerStatus.FINISHED, 5, records[-1])
    assert verdict_of([running, *records, finished]).complete
    found = verdict_of([running, *heard, finished])
    assert found.lacking == ("episodes 4…5: nothing recorded",)
    assert (found.settled, found.learner) == (5, "ended")
    found = verdict_of([running, *heard])
    assert "the learner's end was not recorded" in found.sentence()
    assert not found.complete


def test_an_episode_that_a_failing_learner_left_is_under_way(records):
    cut = next(i for i, r in enumerate(records) if of(r, (5,))) + 12
    failed = status(LearnerStatus.FAILED, 5, records[cut])
    found = verdict_of([status(LearnerStatus.RUNNING, 0, records[0]), *records[:cut], failed])
    assert (found.complete, found.under_way, found.whole) == (True, 5, ((0, 4),))
    assert found.episodes == "0…4 whole, 5 under way"


def test_a_late_beginning_is_named(records):
    late = [r for r in records if not of(r, (0, 1))]
    running = status(LearnerStatus.RUNNING, 0, records[0])
    (sentence,) = verdict_of([running, *late], "run_1").lacking
    assert sentence == "episodes before 2 are not in this bag; see run_1"
    middle = [r for r in records if not (of(r, (0,)) and episode_and_step(r.data)[1] < 3)]
    assert "episodes before 0 are not in this bag" in verdict_of(middle).lacking
    resumed = [status(LearnerStatus.RUNNING, 1, records[0]), *late]
    assert verdict_of(resumed).lacking == ()


def test_an_overdue_episode_is_told_of_before_the_end(records):
    ledger = Ledgers()
    for name in TYPES:
        ledger.add_topic(topic(name))
    for record in records:
        seconds = OVERDUE_S * 1e9 * (2 if of(record, (4, 5)) else 0)
        if not of(record, (1,), "/action") and not of(record, (3,), "/episode"):
            ledger.take(record._replace(received_ns=record.received_ns + int(seconds)))
    found = ledger.verdict()
    assert found.under_way is None
    assert found.lacking[0].startswith("episode 1: 5 of 5 Action missing")
    assert found.lacking[1] == "episode 3: its end was not recorded"


def test_what_is_unreadable_or_absurd_changes_nothing(records):
    far = serialize_message(EpisodeSummary(episode=FAR + 9, steps=2**32 - 1))
    huge = serialize_message(EpisodeSummary(episode=6, steps=2**32 - 1))
    one = records[3]
    odd = [
        Record("/observation", 0, 0, data) for data in (b"", b"\x00", b"\x00\x01" + b"\xff" * 9)
    ]
    odd += [one._replace(topic=STATUS, data=b"\x00\x01\x00\x00"), one._replace(topic="/x")]
    assert verdict_of([*records, *odd, one._replace(topic="/episode", data=far)]).complete
    found = verdict_of([*records, one._replace(topic="/episode", data=huge)])
    assert "episode 6: 4294967295 of 4294967295 Action missing" in found.sentence()


def test_two_graphs_are_kept_apart(records):
    ledger = Ledgers()
    for side in ("/left", "/right"):
        for name, kind in TYPES.items():
            ledger.add_topic(replace(topic(name, kind), name=side + name))
        for record in records:
            if side == "/left" or not of(record, (1,), "/action"):
                ledger.take(record._replace(topic=side + record.topic))
    (sentence,) = ledger.close().lacking
    assert sentence.startswith("/right episode 1: 5 of 5 Action missing")


def test_state_and_episodes_are_found_in_the_bytes():
    for reason in ("", "x", "a reason of any length"):
        message = LearnerStatus(state=2, reason=reason, task="reach", iterations=7, episodes=8)
        message.header.frame_id = reason
        assert state_and_episodes(serialize_message(message)) == (2, 8)


def test_info_tells_what_is_missing(tmp_path, records, capsys):
    write_records(tmp_path / "whole", records)
    assert main(["bag", "info", str(tmp_path / "whole")]) == 0
    said = capsys.readouterr().out
    assert "checksums: yes" in said
    assert "\nepisodes 0…5 whole; complete\n" in said
    write_records(tmp_path / "holed", [r for r in records if not of(r, (3, 4))])
    assert BagReader(tmp_path / "holed").about["complete"] == "false"
    assert main(["bag", "info", str(tmp_path / "holed")]) == 1
    assert "not complete: episodes 3…4: nothing recorded" in capsys.readouterr().out


def test_info_of_a_bag_that_was_never_closed(tmp_path, records, capsys):
    bag = begin_bag(tmp_path / "bag")
    for record in records[:-20]:
        bag.write(record)
    bag.flush()
    assert main(["bag", "info", str(tmp_path / "bag")]) == 1
    assert "\nnot closed; episodes 0…4 whole, 5 under way; complete\n" in capsys.readouterr().out


def test_a_repaired_bag_still_says_what_is_missing(tmp_path, records, capsys):
    write_records(tmp_path / "holed", [r for r in records if not of(r, (3, 4))])
    file = tmp_path / "holed" / "metadata.yaml"
    file.write_text(file.read_text().replace("reach", "grasp"))
    assert main(["bag", "info", str(tmp_path / "holed")]) == 2
    assert "metadata.yaml is damaged: its checksum does not fit" in capsys.readouterr().err
    assert main(["bag", "repair", str(tmp_path / "holed"), str(tmp_path / "new")]) == 0
    assert main(["bag", "info", str(tmp_path / "new")]) == 1
    said = capsys.readouterr().out
    assert "episodes 3…4: nothing recorded; " in said
    assert "task: reach" in said


def test_the_index_of_episodes_is_small(tmp_path):
    index = EpisodeIndex(tmp_path)
    for episode in range(1000):
        for message in range(3):
            index.count(episode, 10 * episode + message)
    index.count(5, 99)  # very late
    assert len(index._newest) == OPEN_ROWS
    rows = index.rows()
    assert rows[7] == [7, 70, 72, 3]
    assert (len(index), rows[-1]) == (1001, [5, 99, 99, 1])


def test_memory_does_not_grow_with_a_recording(tmp_path, monkeypatch):
    """Of two chunks a second, the package would keep 0.9 kB each."""
    monkeypatch.setattr("os.fdatasync", lambda number: None)
    records = list(Run(episodes=1, steps=1).records())
    bag = begin_bag(tmp_path / "bag")

    def chunks(count):
        for _ in range(count):
            for record in records:
                bag.write(record)
            bag.flush()

    chunks(20)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        chunks(150)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 150 * 100
    bag.close()
    with (tmp_path / "bag" / "bag_0.mcap").open("rb") as file:
        assert len(make_reader(file).get_summary().chunk_indexes) == 170
