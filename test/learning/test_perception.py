"""A visual task seen through a frozen encoder, and the curiosity on what it sees."""

import numpy as np
import pytest
import torch

from bayes_curiosity_ros.curiosity.curiosity import Curiosity, CuriosityConfig, LatentCuriosity
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import Encoder
from bayes_curiosity_ros.errors import ConfigError, ModelFileError
from bayes_curiosity_ros.learning.perception import (
    PerceivedTask,
    encoder_config,
    perceived,
    seen_with,
)
from bayes_curiosity_ros.learning.policy import GaussianPolicy
from bayes_curiosity_ros.learning.pretrained import load_policy, save_policy
from bayes_curiosity_ros.learning.rollout import run_episodes
from bayes_curiosity_ros.tasks.arm.reach import Reach
from bayes_curiosity_ros.tasks.task import Task


class Wander:
    """In every episode the same way, until the arm hits something."""

    def begin(self, count, horizon, rng):
        self.actions = rng.uniform(-1, 1, (count, 6))

    def act(self, observations, step):
        return self.actions


@pytest.fixture(scope="module")
def visual() -> Reach:
    return Reach(visual=True, threads=1)


@pytest.fixture(scope="module")
def encoder(visual) -> Encoder:
    return Encoder(encoder_config(visual), torch.Generator().manual_seed(3))


@pytest.fixture(scope="module")
def task(visual, encoder) -> Task:
    return perceived(visual, encoder)


@pytest.fixture(scope="module")
def episodes(task):
    return run_episodes(task, Wander(), 4, np.random.default_rng(1))


def test_a_perceived_task_is_the_visual_one_with_other_eyes(visual, encoder, task):
    states = task.initial_states(3, np.random.default_rng(0))
    seen = task.observe(states)
    assert seen.shape == (3, task.observation_size)
    np.testing.assert_array_equal(seen[:, :6], visual.observe(states))
    raw = Observations(visual.observe(states), visual.images(states))
    np.testing.assert_array_equal(seen[:, 6:], encoder.features(raw)[:, :-1])
    assert (np.abs(seen) <= task.observation_bound).all()
    moved = task.advance(states, np.ones((3, 6)))
    np.testing.assert_array_equal(moved, visual.advance(states, np.ones((3, 6))))
    for judge in ("reward", "terminal", "successful"):
        np.testing.assert_array_equal(getattr(task, judge)(moved), getattr(visual, judge)(moved))


def test_a_task_of_vectors_is_left_as_it_is(encoder):
    reach = Reach(threads=1)
    assert perceived(reach, encoder) is reach
    assert seen_with(reach) == ""
    with pytest.raises(ConfigError, match="'reach' has no images"):
        PerceivedTask(reach, encoder)


def test_an_encoder_of_another_camera_is_refused(visual):
    other = encoder_config(visual).__class__(6, (4, 32, 32))
    with pytest.raises(ConfigError, match=r"image_shape = \(4, 32, 32\), visual_reach gives"):
        perceived(visual, Encoder(other))


def test_ended_episodes_are_not_looked_at_again(visual, encoder, monkeypatch):
    """Rays are most of the work; a row that stands still keeps its observation."""
    task, cast = perceived(visual, encoder), []
    images = visual.images
    monkeypatch.setattr(visual, "images", lambda rows: cast.append(len(rows)) or images(rows))
    episodes = run_episodes(task, Wander(), 6, np.random.default_rng(2))
    assert episodes.terminated.any(), "no episode ended early: the test shows nothing"
    assert sum(cast) == episodes.steps + len(episodes)


def test_curiosity_of_what_was_perceived_is_curiosity_of_what_was_seen(
    visual, encoder, task, episodes
):
    """The convolutions ran once, and the posterior is the same as if they had run again."""
    config = CuriosityConfig(posterior="frozen", features="plain")
    ours, theirs = LatentCuriosity(encoder, config), Curiosity(encoder, config)
    first, second = episodes.split()[:2]
    ours.update([first])
    states = visual.initial_states(4, np.random.default_rng(1))
    np.testing.assert_array_equal(first.observations.vectors[0, :6], visual.observe(states)[0])
    latent = torch.from_numpy(first.visited().vectors[:, 6:].astype(np.float32))
    theirs.regression.update(torch.nn.functional.pad(latent, (0, 1), value=1.0))
    raw = Observations(visual.observe(states), visual.images(states))
    rows = Observations(task.observe(states))
    np.testing.assert_allclose(ours.score(rows).reward, theirs.score(raw).reward)
    assert ours.regression.count == len(first) + 1
    assert (ours.evaluate([second]) > 0).all()


def test_a_policy_belongs_to_its_encoder(tmp_path, visual, task):
    def policy():
        size = task.observation_size
        rng = np.random.default_rng(0)
        return GaussianPolicy(np.zeros(size), np.ones(size), task.action_size, rng)

    save_policy(tmp_path / "policy", policy(), task.name, seen_with(task))
    load_policy(tmp_path / "policy", policy(), task.name, seen_with(task))
    other = perceived(visual, Encoder(encoder_config(visual), torch.Generator().manual_seed(4)))
    with pytest.raises(ModelFileError, match=r"sees with encoder .* this run with"):
        load_policy(tmp_path / "policy", policy(), task.name, seen_with(other))
