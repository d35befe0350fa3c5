"""Random network distillation: novelty falls with visits, and nothing else changes it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bayes_curiosity_ros.curiosity.bonus import Bonus
from bayes_curiosity_ros.curiosity.data import Observations, Transitions
from bayes_curiosity_ros.curiosity.rnd import Rnd, RndConfig
from bayes_curiosity_ros.curiosity.state import same_state
from bayes_curiosity_ros.errors import ConfigError, InputError


def make(seed: int = 0, **settings: object) -> Rnd:
    return Rnd(RndConfig(3, **settings), torch.Generator().manual_seed(seed))  # type: ignore[arg-type]


def episode_of(vectors: np.ndarray) -> Transitions:
    observations = Observations(vectors)
    return Transitions(observations[:-1], np.zeros((len(vectors) - 1, 2)), observations[1:])


def near(centre: float, seed: int, count: int = 400) -> Transitions:
    rng = np.random.default_rng(seed)
    return episode_of(rng.normal(centre, 0.3, size=(count + 1, 3)))


def with_images(seed: int, dtype: type, count: int = 40) -> Transitions:
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, size=(count + 1, 4, 32, 32), dtype=np.uint8)
    if dtype is not np.uint8:
        images = images.astype(dtype) / 255.0
        images[:, 3] *= 3.0  # depth in m, up to max_depth_m
    observations = Observations(rng.normal(size=(count + 1, 3)), images)
    return Transitions(observations[:-1], np.zeros((count, 2)), observations[1:])


def test_is_a_bonus() -> None:
    assert isinstance(make(), Bonus)


def test_novelty_falls_where_the_agent_has_been_and_only_there() -> None:
    bonus = make()
    seen, unseen = near(-1.0, seed=1), near(1.5, seed=2)
    bonus.standardise_inputs(Observations.concatenate([seen.visited(), unseen.visited()]))
    before = bonus._errors(seen.next_observations).mean()
    for seed in range(3, 23):
        bonus.update([near(-1.0, seed)])
    after = bonus._errors(seen.next_observations).mean()
    assert after < 0.1 * before
    assert bonus.evaluate([unseen]).mean() > 5.0 * bonus.evaluate([seen]).mean()


def test_reward_is_in_units_of_the_returns_deviation() -> None:
    bonus = make()
    bonus.update([near(0.0, seed) for seed in range(5)])
    episode = near(0.0, 9)
    errors = bonus._errors(episode.next_observations)
    scaled = errors / bonus._return_moments.deviation()
    np.testing.assert_allclose(bonus.evaluate([episode]), scaled)


def test_evaluate_changes_nothing() -> None:
    bonus = make()
    bonus.update([near(0.0, 1)])
    before = bonus.state_dict()
    first = bonus.evaluate([near(0.0, 2)])
    assert same_state(bonus.state_dict(), before)
    np.testing.assert_array_equal(bonus.evaluate([near(0.0, 2)]), first)


def test_a_row_does_not_depend_on_its_batch() -> None:
    bonus, episode = make(), near(0.0, 1)
    whole = bonus.evaluate([episode])
    part = Transitions(
        episode.observations[:7], episode.actions[:7], episode.next_observations[:7]
    )
    np.testing.assert_allclose(bonus.evaluate([part]), whole[:7], rtol=1e-5)


def test_resume_is_exact() -> None:
    straight, resumed = make(seed=0), make(seed=99)
    straight.update([near(0.0, 1), near(0.5, 2)])
    resumed.load_state_dict(straight.state_dict())
    for bonus in (straight, resumed):
        bonus.update([near(1.0, 3)])
    assert same_state(straight.state_dict(), resumed.state_dict())
    np.testing.assert_array_equal(
        straight.evaluate([near(0.0, 4)]), resumed.evaluate([near(0.0, 4)])
    )


def test_a_state_of_another_shape_is_rejected_whole() -> None:
    bonus = make()
    before = bonus.state_dict()
    with pytest.raises(InputError, match="expected"):
        bonus.load_state_dict(make(width=8).state_dict())
    assert same_state(bonus.state_dict(), before)


def test_seeds_decide_everything() -> None:
    def trained(seed: int) -> Rnd:
        torch.manual_seed(np.random.default_rng().integers(2**31))
        bonus = make(seed)
        bonus.update([near(0.0, 1)])
        return bonus

    assert same_state(trained(1).state_dict(), trained(1).state_dict())
    assert not same_state(trained(1).state_dict(), trained(2).state_dict())


def test_global_random_state_is_left_alone() -> None:
    before = torch.get_rng_state()
    make().update([near(0.0, 1)])
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_named_and_changes_nothing(value: float) -> None:
    bonus = make()
    bonus.update([near(0.0, 1)])
    before = bonus.state_dict()
    bad = near(0.0, 2)
    bad.next_observations.vectors[5, 1] = value
    with pytest.raises(InputError, match=rf"\[5\]\[1\] = {value}"):
        bonus.evaluate([bad])
    with pytest.raises(InputError, match=rf"= {value}"):
        bonus.update([near(0.0, 3), bad])
    assert same_state(bonus.state_dict(), before)


def test_wrong_width_and_unexpected_images_are_named() -> None:
    with pytest.raises(InputError, match=r"expected \(count, 3\)"):
        make().evaluate([episode_of(np.zeros((4, 5)))])
    with pytest.raises(InputError, match="images were given"):
        make().evaluate([with_images(0, np.uint8)])
    with pytest.raises(InputError, match="images are missing"):
        make(image_shape=(4, 32, 32)).evaluate([near(0.0, 1)])
    with pytest.raises(InputError, match="channels-first"):
        make(image_shape=(3, 32, 32)).evaluate([with_images(0, np.uint8)])


def test_images_of_bytes_and_of_floats_agree() -> None:
    bonus = make(image_shape=(4, 32, 32))
    bonus.update([with_images(0, np.uint8)])
    np.testing.assert_allclose(
        bonus.evaluate([with_images(1, np.uint8)]),
        bonus.evaluate([with_images(1, np.float32)]),
        rtol=1e-3,
    )


def test_images_are_learnt() -> None:
    bonus = make(image_shape=(4, 32, 32))
    episode = with_images(0, np.uint8)
    bonus.update([episode])
    before = bonus._errors(episode.next_observations).mean()
    for _ in range(30):
        bonus.update([episode])
    assert bonus._errors(episode.next_observations).mean() < 0.5 * before


def test_weight_and_shift() -> None:
    episode = near(0.0, 1)
    assert not make(weight=0.0).evaluate([episode]).any()
    np.testing.assert_allclose(
        make(weight=2.0, shift=-0.5).evaluate([episode]), 2.0 * (make().evaluate([episode]) - 0.5)
    )


def test_no_episodes_change_nothing() -> None:
    bonus = make()
    before = bonus.state_dict()
    bonus.update([])
    assert same_state(bonus.state_dict(), before)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("width", 0),
        ("learning_rate", 0.0),
        ("batch_size", 0),
        ("weight", np.nan),
        ("discount", 1.0),
        ("image_shape", (4, 8, 8)),
    ],
)
def test_settings_out_of_bounds_are_named(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=name):
        RndConfig(3, **{name: value})  # type: ignore[arg-type]
