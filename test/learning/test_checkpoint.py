"""Two generations of a checkpoint: one of them is whole at any moment, whatever happens."""

from __future__ import annotations

import copy
import os

import pytest

from bayes_curiosity_ros.errors import DamagedFileError, ModelFileError
from bayes_curiosity_ros.files import is_intact, save_state
from bayes_curiosity_ros.learning.checkpoint import (
    forget_checkpoint,
    generations,
    has_checkpoint,
    load_checkpoint,
    model_name,
    save_checkpoint,
)
from support.experiments import assert_same
from support.learners import make_trainer


def saved(path, iterations: int):
    """A trainer that was saved after each of its iterations, and its states there."""
    trainer, states = make_trainer("trpo"), []
    for number in range(1, iterations + 1):
        trainer.iterate()
        save_checkpoint(path, trainer, {"iteration": number})
        states.append(copy.deepcopy(trainer.state_dict()))
    return states


def spoil(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 16
    path.write_bytes(data)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoint.pt"


@pytest.mark.parametrize("damage", [spoil, lambda path: path.unlink()])
def test_the_one_before_is_taken_and_what_is_lost_is_said(path, caplog, damage):
    states = saved(path, 3)
    damage(path)
    trainer = make_trainer("trpo", seed=9)
    assert load_checkpoint(path, trainer) == {"iteration": 2}
    assert_same(trainer.state_dict(), states[1])
    (line,) = caplog.messages
    assert f"checkpoint.previous.pt: what came after timestep {trainer.timesteps} is lost" in line
    assert "\n" not in line


def test_where_both_are_damaged_the_newest_is_named(path):
    saved(path, 2)
    for each in generations(path):
        spoil(each)
    with pytest.raises(DamagedFileError, match=r"checkpoint\.pt is damaged"):
        load_checkpoint(path, make_trainer("trpo"))


def test_the_one_before_is_taken_where_the_caller_misses_something(path):
    saved(path, 2)

    def refuse_the_second(extra):
        if extra["iteration"] == 2:
            raise DamagedFileError("curiosity_2.safetensors is damaged")

    extra = load_checkpoint(path, make_trainer("trpo"), refuse_the_second)
    assert extra == {"iteration": 1}


def test_one_of_another_run_is_refused_even_if_there_is_one_before(path):
    saved(path, 2)
    save_state(path, {"format": "bayes_curiosity_training/2"})
    with pytest.raises(ModelFileError, match="has format 'bayes_curiosity_training/2'"):
        load_checkpoint(path, make_trainer("trpo"))


def test_a_damaged_one_does_not_take_the_place_of_the_one_before(path):
    saved(path, 2)
    spoil(path)
    before = generations(path)[1].read_bytes()
    save_checkpoint(path, make_trainer("trpo"))
    assert is_intact(path)
    assert generations(path)[1].read_bytes() == before


@pytest.mark.parametrize("moment", [0, 1, 2])
def test_a_crash_while_it_is_written_leaves_a_whole_one(path, monkeypatch, moment):
    """It is killed before the first rename, between the two, and after both."""
    states = saved(path, 2)
    replace, calls = os.replace, []

    def crash(source, target):
        calls.append(target)
        if len(calls) > moment:
            raise KeyboardInterrupt
        replace(source, target)

    trainer = make_trainer("trpo", seed=9)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", crash)
        if moment < 2:
            with pytest.raises(KeyboardInterrupt):
                save_checkpoint(path, trainer)
        else:
            save_checkpoint(path, trainer)
    resumed = make_trainer("trpo")
    load_checkpoint(path, resumed)
    assert_same(resumed.state_dict(), trainer.state_dict() if moment == 2 else states[1])


def test_both_are_known_and_forgotten_together(path):
    saved(path, 2)
    path.unlink()
    assert has_checkpoint(path)
    forget_checkpoint(path)
    assert not has_checkpoint(path)


def test_a_model_that_a_checkpoint_needs_is_not_overwritten():
    for iteration in range(2, 10):
        kept = {model_name(iteration), model_name(iteration - 1)}
        assert model_name(iteration + 1) not in kept
