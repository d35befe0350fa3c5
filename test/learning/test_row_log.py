"""A memory on disk: what is new is appended, what is damaged is seen, what is old goes."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_curiosity_ros.errors import DamagedFileError
from bayes_curiosity_ros.learning import row_log
from bayes_curiosity_ros.learning.checkpoint import (
    forget_checkpoint,
    generations,
    load_checkpoint,
    save_checkpoint,
)
from bayes_curiosity_ros.learning.row_log import RowLog, read_rows
from support.experiments import assert_same
from support.learners import make_trainer

KIND = np.dtype([("value", "<f4"), ("number", "<i8")])


def rows(first, end):
    made = np.zeros(end - first, KIND)
    made["number"], made["value"] = np.arange(first, end), 0.5
    return made


def numbers(log):
    return log.kept()["number"].tolist()


def files(path):
    return sorted(path.parent.glob("*.rows"), key=lambda each: int(each.stem.split(".")[-1]))


def restored(path, about, capacity=10):
    log = RowLog("memory", capacity, KIND)
    log.load(read_rows(path, about))
    return log


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoint.pt"


@pytest.fixture
def log():
    return RowLog("memory", 10, KIND)


def test_the_newest_are_kept_in_order(log):
    for first in (0, 7, 8):
        log.append(rows(first, first + 7))
    assert log.added == 21
    assert numbers(log) == [4 + 7, 5 + 7, 6 + 7, *range(8, 15)]
    log.append(rows(100, 200))
    assert numbers(log) == list(range(190, 200))


def test_only_what_is_new_is_written(log, path):
    log.append(rows(0, 4))
    log.save(path)
    (file,) = files(path)
    before = file.read_bytes()
    log.append(rows(4, 6))
    about = log.save(path)
    assert file.read_bytes()[: len(before)] == before
    assert file.stat().st_size == 6 * KIND.itemsize
    assert numbers(restored(path, about)) == [0, 1, 2, 3, 4, 5]


def test_an_earlier_generation_counts_on_a_beginning_of_the_same_file(log, path):
    log.append(rows(0, 4))
    earlier = log.save(path)
    log.append(rows(4, 6))
    log.save(path)
    again = restored(path, earlier)
    assert again.added == 4
    again.append(rows(40, 43))
    assert numbers(restored(path, again.save(path))) == [0, 1, 2, 3, 40, 41, 42]


def test_files_end_and_go_when_no_row_of_them_is_kept(log, path, monkeypatch):
    monkeypatch.setattr(row_log, "SEGMENT_ROWS", 4)
    abouts = []
    for first in range(0, 30, 3):
        log.append(rows(first, first + 3))
        abouts.append(log.save(path))
        for about in abouts[-2:]:  # of both generations of a checkpoint
            assert restored(path, about).added == about["added"]
    assert numbers(log) == numbers(restored(path, abouts[-1])) == list(range(20, 30))
    assert files(path)[0].name == "checkpoint.memory.12.rows"


def test_rows_that_were_overwritten_before_a_save_are_left_out(log, path):
    log.append(rows(0, 3))
    log.save(path)
    log.append(rows(3, 40))
    again = restored(path, log.save(path))
    assert again == log
    assert numbers(again) == list(range(30, 40))


def test_another_checkpoint_has_files_of_its_own(log, path):
    log.append(rows(0, 3))
    log.save(path)
    log.append(rows(3, 5))
    other = path.with_name("other.pt")
    about = log.save(other)
    assert len(files(path)) == 2
    assert restored(other, about) == log


@pytest.mark.parametrize("damage", ["changed", "cut", "gone"])
def test_damage_is_seen(log, path, damage):
    log.append(rows(0, 5))
    about = log.save(path)
    (file,) = files(path)
    data = bytearray(file.read_bytes())
    data[7] ^= 1
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(data if damage == "changed" else data[:-1])
    with pytest.raises(DamagedFileError, match=file.name):
        read_rows(path, about)


def test_what_a_crash_left_behind_is_written_over(log, path):
    log.append(rows(0, 5))
    about = log.save(path)
    (file,) = files(path)
    file.write_bytes(file.read_bytes() + b"half a row")
    again = restored(path, about)
    again.append(rows(5, 8))
    assert numbers(restored(path, again.save(path))) == list(range(8))


def test_a_checkpoint_of_every_iteration_writes_little(path):
    trainer, sizes = make_trainer("sac"), []
    for _ in range(4):
        trainer.iterate()
        save_checkpoint(path, trainer)
        (experience,) = path.parent.glob("*.experience.*.rows")
        sizes.append((path.stat().st_size, experience.stat().st_size))
    row = trainer.algorithm.buffer.log.data.itemsize
    assert sizes[-1][1] == trainer.timesteps * row
    grown = sizes[-1][0] - sizes[0][0]
    assert grown < 6 * trainer.timesteps + 500  # what a bonus said of each row, and nothing else


def test_where_a_memory_is_damaged_the_one_before_is_taken(path, caplog):
    trainer = make_trainer("sac")
    trainer.iterate()
    save_checkpoint(path, trainer)
    state, end = trainer.state_dict(), next(path.parent.glob("*.experience.*")).stat().st_size
    kept = make_trainer("sac", seed=5)
    load_checkpoint(path, kept)
    trainer.iterate()
    save_checkpoint(path, trainer)
    (file,) = path.parent.glob("*.experience.*.rows")
    data = bytearray(file.read_bytes())
    data[end + 3] ^= 1
    file.write_bytes(data)
    again = make_trainer("sac", seed=9)
    load_checkpoint(path, again)
    assert "checkpoint.previous.pt" in caplog.messages[0]
    assert again.timesteps == kept.timesteps < trainer.timesteps
    assert_same(again.state_dict(), kept.state_dict())
    assert state.keys() == again.state_dict().keys()


def test_a_forgotten_checkpoint_leaves_nothing(path):
    trainer = make_trainer("sac")
    trainer.iterate()
    for _ in generations(path):
        save_checkpoint(path, trainer)
    forget_checkpoint(path)
    assert not list(path.parent.iterdir())
