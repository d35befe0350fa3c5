"""Demonstrated episodes: what they are judged by, in files, and into a learner's memory."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_curiosity_ros.errors import ConfigError, ModelFileError
from bayes_curiosity_ros.learning.demonstrated import demonstrated, remembering
from bayes_curiosity_ros.learning.episode_file import load_episodes, save_episodes
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.preparation import (
    Preparation,
    PreparationConfig,
    PreparedFiles,
)
from bayes_curiosity_ros.learning.settings import LearnerConfig
from bayes_curiosity_ros.tasks.registry import make_task
from support.learners import Identity, learner_of, make_algorithm

NAMES = ("observations", "actions", "rewards", "lengths", "terminated", "succeeded")


def shown(count=3, seed=0) -> Episodes:
    return demonstrated(Identity(), count, 0.1, np.random.default_rng(seed))


def test_the_expert_acts_with_a_little_noise():
    episodes = shown(50)
    error = episodes.actions[:, :, 0] - episodes.observations[:, :-1, 0]
    assert np.abs(error.mean()) < 0.03
    assert error.std() == pytest.approx(0.1, rel=0.2)
    assert np.abs(episodes.actions).max() <= 1


def test_another_task_decides_where_they_begin_and_this_one_what_they_earn():
    options = {"threads": 1, "dynamics": "kinematic"}
    parked, reach = (make_task(name, **options) for name in ("parked_reach", "reach"))
    rng = np.random.default_rng(0)
    plain, turned = demonstrated(parked, 4, 0.0, rng, reach), demonstrated(parked, 4, 0.0, rng)
    assert (np.abs(plain.observations[:, 0, 0] - turned.observations[:, 0, 0]) > 0.9).all()
    np.testing.assert_array_equal(plain.returns(), plain.succeeded)
    assert plain.succeeded.all()


def test_states_of_another_kind_are_refused():
    with pytest.raises(ConfigError, match="mountaincar has other states than reach"):
        demonstrated(make_task("reach", threads=1), 1, 0.1, np.random.default_rng(0),
                     make_task("mountaincar"))  # fmt: skip


def test_a_learner_without_a_memory_is_refused():
    with pytest.raises(ConfigError, match="Trpo has no memory for demonstrated episodes"):
        remembering(make_algorithm("trpo", Identity(), 0))


def test_a_file_gives_back_the_episodes(tmp_path):
    episodes, path = shown(), tmp_path / "shown.npz"
    save_episodes(path, Identity(), episodes)
    again = load_episodes(path, Identity())
    for name in NAMES:
        np.testing.assert_array_equal(getattr(again, name), getattr(episodes, name))


def test_a_file_of_another_task_or_a_damaged_one_is_refused(tmp_path):
    path = tmp_path / "shown.npz"
    save_episodes(path, Identity(), shown())
    with pytest.raises(ModelFileError, match="has task 'identity', this run 'pendulum'"):
        load_episodes(path, make_task("pendulum"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match="damaged"):
        load_episodes(path, Identity())


def test_a_learner_node_begins_with_what_was_prepared(tmp_path):
    files = PreparedFiles.within(tmp_path)
    config = LearnerConfig(learner="sac", shown=str(files.shown), dynamics="kinematic")
    task, told = config.make_task(), []
    preparation = Preparation(task, PreparationConfig(), files, told.append)
    preparation.show(3)
    preparation.show(5)  # they are there
    assert told[0].startswith("reach: 3 demonstrated episodes of")
    log = learner_of(config, task).shown.log.kept()
    assert log["first"].sum() == 3
