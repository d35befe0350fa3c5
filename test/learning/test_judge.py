"""A judge of success: what it learns from, what it says, and that it is the file it should be."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import Encoder
from bayes_curiosity_ros.errors import ConfigError, InputError, ModelFileError
from bayes_curiosity_ros.learning.demonstrated import demonstrated
from bayes_curiosity_ros.learning.judge import (
    Judge,
    JudgeConfig,
    Judged,
    Watching,
    load_judge,
    perception_of,
    save_judge,
    train_judge,
)
from bayes_curiosity_ros.learning.perception import encoder_config, perceived
from bayes_curiosity_ros.tasks.registry import make_task

CONFIG = JudgeConfig()


class PlainPerception:
    encoder_id = "plain"

    def __call__(self, observations):
        return observations.vectors


def test_the_last_observations_of_a_success_show_it_and_those_just_before_are_left_out():
    features = np.arange(10.0)[:, None]
    judged = Judged.of(features, True, JudgeConfig(shown_steps=2, unclear_steps=3))
    np.testing.assert_array_equal(judged.features[:, 0], [0, 1, 2, 3, 4, 8, 9])
    np.testing.assert_array_equal(judged.success, [False] * 5 + [True] * 2)
    assert not Judged.of(features, False, CONFIG).success.any()
    short = Judged.of(features[:2], True, JudgeConfig(shown_steps=1, unclear_steps=3))
    np.testing.assert_array_equal(short.success, [True])


def test_the_gradient_is_zero_where_it_stops():
    rng = np.random.default_rng(0)
    features, success = rng.normal(size=(200, 3)), rng.random(200) < 0.3
    judge = train_judge([Judged(features, success)], CONFIG)
    rows = np.column_stack([(features - judge.center) / judge.scale, np.ones(200)])
    share = np.where(success, 0.5 / success.mean(), 0.5 / (1 - success.mean()))
    slope = rows.T @ (share * (judge.probability(features) - success)) / 200
    slope[:-1] += 2 * CONFIG.ridge * judge.weights[:-1]
    np.testing.assert_allclose(slope, 0.0, atol=1e-9)


def test_between_two_equal_clouds_it_is_undecided_however_seldom_one_is():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(1000, 2))
    episodes = [
        Judged(np.concatenate([noise - 2, noise[:50] + 2]), np.arange(1050) >= 1000),
    ]
    judge = train_judge(episodes, CONFIG)
    assert judge.probability(np.array([[0.0, 0.0]]))[0] == pytest.approx(0.5, abs=0.15)
    assert judge.probability(np.array([[2.0, 2.0]]))[0] > 0.9
    assert judge.probability(np.array([[-2.0, -2.0]]))[0] < 0.1


@pytest.mark.parametrize("success", [np.zeros(5, bool), np.ones(5, bool)])
def test_one_kind_alone_teaches_nothing(success):
    with pytest.raises(InputError, match="learner/mark_success"):
        train_judge([Judged(np.zeros((5, 2)), success)], CONFIG)


def test_it_takes_some_observations_in_a_row():
    judge = Judge(np.zeros(1), np.ones(1), np.array([10.0, 0.0]))
    watching = Watching(judge, PlainPerception(), 0.8, 2)

    def says(values):
        watching.begin()
        return [watching.sees_success(Observations(np.array([[each]]))) for each in values]

    assert says([-1.0, 1.0, -1.0, 1.0, 1.0]) == [False, False, False, False, True]
    assert says([1.0]) == [False]


def test_a_file_is_read_back_and_belongs_to_one_encoder(tmp_path):
    judge, other = Judge(np.zeros(2), np.ones(2), np.arange(3.0)), PlainPerception()
    save_judge(tmp_path / "judge.pt", judge, "plain")
    again = load_judge(tmp_path / "judge.pt", other)
    features = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_array_equal(again.probability(features), judge.probability(features))
    other.encoder_id = "another"
    with pytest.raises(ModelFileError, match="sees with encoder 'plain', this run with 'another'"):
        load_judge(tmp_path / "judge.pt", other)


def test_a_task_without_a_camera_has_no_judge():
    with pytest.raises(ConfigError, match="has none"):
        perception_of(make_task("reach", threads=1))


def test_it_sees_when_the_hand_has_arrived():
    arm = make_task("visual_reach", threads=1)
    task = perceived(arm, Encoder(encoder_config(arm)))
    episodes = demonstrated(task, 30, 0.3, np.random.default_rng(0))
    rows = [
        Judged.of(episodes.observations[i, : length + 1], bool(episodes.succeeded[i]), CONFIG)
        for i, length in enumerate(episodes.lengths)
    ]
    judge = train_judge(rows[:20], CONFIG)
    shown = np.concatenate([judge.probability(each.features[each.success]) for each in rows[20:]])
    other = np.concatenate([judge.probability(each.features[~each.success]) for each in rows[20:]])
    better = (shown[:, None] > other).mean()
    assert better > 0.9
