"""The bonus: its forms, its bounds, its protocol, its files."""

import math

import numpy as np
import pytest
import torch

from bayes_curiosity_ros.curiosity.bonus import Bonus, NoBonus
from bayes_curiosity_ros.curiosity.continual import ContinualConfig, ContinualCuriosity
from bayes_curiosity_ros.curiosity.curiosity import (
    FEATURES,
    POSTERIORS,
    Curiosity,
    CuriosityConfig,
    preset_config,
)
from bayes_curiosity_ros.curiosity.data import Observations, Transitions
from bayes_curiosity_ros.curiosity.embedding import EmbeddingConfig
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.errors import ConfigError, LengthError, NotFiniteError

LOG_BETA = math.log(1e2)


def curiosity(**options) -> Curiosity:
    return Curiosity(Encoder(EncoderConfig(3)), CuriosityConfig(**options))


def episode(seed: int = 0, length: int = 20) -> Transitions:
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(length + 1, 3))
    return Transitions(
        Observations(states[:-1]), rng.normal(size=(length, 2)), Observations(states[1:])
    )


def test_all_bonuses_obey_the_protocol():
    assert isinstance(curiosity(), Bonus)
    assert isinstance(NoBonus(), Bonus)
    assert not NoBonus().evaluate([episode()]).any()


@pytest.mark.parametrize("posterior", POSTERIORS)
def test_forms_are_of_one_gain_and_scale_with_the_weight(posterior):
    probe = episode()

    def paid(**options):
        return curiosity(posterior=posterior, **options).evaluate([probe])

    gain = paid(weight=1.0)
    np.testing.assert_allclose(gain - paid(weight=1.0, form="paper"), LOG_BETA)
    np.testing.assert_allclose(paid(weight=1.0, form="elliptical"), np.expm1(gain))
    np.testing.assert_allclose(paid(weight=0.5), 0.5 * gain)


def test_a_frozen_posterior_pays_each_observation_reached_by_itself():
    bonus, probe = curiosity(posterior="frozen"), episode()
    np.testing.assert_array_equal(
        bonus.evaluate([probe]), bonus.score(probe.next_observations).reward
    )


def test_a_sequential_posterior_pays_what_the_episode_teaches():
    """All of it, the first observation's share included, and no more: standing still is poor."""
    bonus = curiosity(weight=1.0)
    bonus.update([episode(3)])
    probe, known = episode(), bonus.regression.log_determinant
    (gains,) = bonus.gains([probe.visited()])
    np.testing.assert_array_equal(bonus.evaluate([probe]), gains[1:])
    bonus.update([probe])
    # Features are float32, and a batch may round them otherwise than an episode does.
    assert gains.sum() == pytest.approx(bonus.regression.log_determinant - known, abs=1e-4)
    still = Observations(np.repeat(episode(8).observations.vectors[:1], 21, axis=0))
    stood = Transitions(still[:-1], probe.actions, still[1:])
    assert bonus.evaluate([stood]).sum() < 0.2 * bonus.evaluate([episode(8)]).sum()


def test_an_episodic_posterior_forgets_between_episodes():
    bonus, probe = curiosity(posterior="episodic"), episode()
    bonus.update([episode(9)])  # which decides the length scale
    before = bonus.evaluate([probe])
    bonus.update([probe])
    np.testing.assert_array_equal(bonus.evaluate([probe]), before)


@pytest.mark.parametrize("posterior", POSTERIORS)
def test_episodes_are_priced_apart_however_many_come_together(posterior):
    bonus = curiosity(posterior=posterior)
    bonus.update([episode(9)])
    several = [episode(seed, length) for seed, length in ((0, 20), (1, 3), (2, 11))]
    apart = np.concatenate([bonus.evaluate([each]) for each in several])
    np.testing.assert_allclose(bonus.evaluate(several), apart, rtol=1e-4)


@pytest.mark.parametrize("posterior", POSTERIORS)
def test_a_stream_pays_what_the_whole_episode_is_paid(posterior):
    bonus, probe = curiosity(posterior=posterior), episode()
    bonus.update([episode(9)])
    stream = bonus.begin(probe.observations[:1])
    streamed = [stream.reward(probe[step : step + 1]) for step in range(len(probe))]
    np.testing.assert_allclose(streamed, bonus.evaluate([probe]), rtol=1e-4)


def test_presets():
    assert preset_config({}) == CuriosityConfig()
    paper = preset_config({"preset": "paper", "weight": 0.3})
    assert (paper.form, paper.posterior, paper.features) == ("paper", "frozen", "plain")
    assert paper.weight == 0.3
    assert preset_config({"preset": "e3b"}).posterior == "episodic"
    with pytest.raises(ConfigError, match="unknown preset 'essay'; choose one of: e3b, paper"):
        preset_config({"preset": "essay"})


def test_the_first_observations_decide_the_length_scale():
    bonus = curiosity()
    assert float(bonus.encoder.length_scale) == 0
    bonus.update([episode(0)])
    scale = float(bonus.encoder.length_scale)
    latent = bonus.encoder.features(episode(0).visited())[:, :-1]
    assert scale == pytest.approx(float(torch.nn.functional.pdist(latent).median()))
    bonus.reset()
    bonus.update([episode(1)])
    assert float(bonus.encoder.length_scale) == scale


def test_scores_agree_with_each_other_and_keep_their_floor():
    bonus = curiosity()
    for seed in range(50):
        bonus.update([episode(seed)])
    scores = bonus.score(episode(99).next_observations)
    np.testing.assert_allclose(np.log(scores.variance), scores.curiosity, rtol=0, atol=1e-12)
    assert (scores.variance >= 1e-2).all()
    assert (scores.curiosity >= -LOG_BETA).all()
    assert (scores.reward >= 0).all()


def test_every_observation_of_an_episode_is_taken_in():
    bonus = curiosity()
    bonus.update([episode(0), episode(1, length=5)])
    assert bonus.regression.count == 21 + 6


def test_novelty_falls_where_one_has_been():
    bonus, been = curiosity(weight=1.0, posterior="frozen", features="plain"), episode(0)
    elsewhere = Observations(been.next_observations.vectors + 5.0)
    before_here, before_there = bonus.evaluate([been]).mean(), bonus.score(elsewhere).reward.mean()
    bonus.update([been])
    assert bonus.evaluate([been]).mean() < before_here - 5
    assert bonus.evaluate([been]).mean() < bonus.score(elsewhere).reward.mean() < before_there


def test_evaluate_changes_nothing():
    bonus = curiosity()
    bonus.update([episode(0)])
    before = bonus.regression.state_dict()["factor"]
    first = bonus.evaluate([episode(1)])
    assert np.array_equal(first, bonus.evaluate([episode(1)]))
    assert torch.equal(before, bonus.regression.state_dict()["factor"])


def test_large_batches_are_scored_like_small_ones():
    bonus = curiosity()
    bonus.update([episode(0)])
    rows = np.random.default_rng(2).normal(size=(10_000, 3))
    whole = bonus.score(Observations(rows)).curiosity
    parts = [bonus.score(Observations(rows[i : i + 100])).curiosity for i in range(0, 10_000, 100)]
    np.testing.assert_allclose(whole, np.concatenate(parts), rtol=0, atol=1e-4)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("count", [1, 64, 65, 5000])
def test_the_fast_road_follows_every_change_of_encoder_and_posterior(features, count):
    """Scores do not go through the encoder's modules; they must give the same all the same."""
    encoder = Encoder(EncoderConfig(3, fourier_features=50))
    bonus = Curiosity(encoder, CuriosityConfig(features=features))
    rows = Observations(np.random.default_rng(3).normal(size=(count, 3)))

    def assert_equal_to_the_encoder():
        slow = bonus.regression.variance(bonus.features(rows)).log().numpy()
        np.testing.assert_allclose(bonus.score(rows).curiosity, slow, rtol=0, atol=1e-4)

    assert_equal_to_the_encoder()
    bonus.update([episode(0)])
    assert_equal_to_the_encoder()
    bonus.encoder.standardise_inputs(5.0 + 3.0 * episode(1).next_observations.vectors)
    assert_equal_to_the_encoder()
    bonus.encoder.load_state_dict(Encoder(encoder.config, seeded(5)).state_dict())
    assert_equal_to_the_encoder()


def test_episodes_taken_in_at_once_are_forgotten_as_one_by_one():
    together, apart = (curiosity(forgetting=0.9) for _ in range(2))
    episodes = [episode(seed) for seed in range(12)]
    for bonus in (together, apart):
        bonus.update([episode(99)])  # decides the features' length scale
    together.update(episodes)
    for each in episodes:
        apart.update([each])
    np.testing.assert_allclose(
        together.evaluate(episodes), apart.evaluate(episodes), rtol=1e-10, atol=0
    )


def test_forgetting_revives_novelty():
    remembers, forgets = curiosity(), curiosity(forgetting=0.5)
    for bonus in (remembers, forgets):
        bonus.update([episode(0)])
        bonus.update([episode(seed) for seed in range(100, 110)])
    assert forgets.evaluate([episode(0)]).mean() > remembers.evaluate([episode(0)]).mean()


def test_state_round_trips_bit_for_bit():
    bonus, other = curiosity(), Curiosity(Encoder(EncoderConfig(3), seeded(9)))
    bonus.update([episode(0)])
    other.load_state_dict(bonus.state_dict())
    assert np.array_equal(bonus.evaluate([episode(1)]), other.evaluate([episode(1)]))


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_rejected_episode_changes_nothing(value):
    bonus = curiosity()
    bonus.update([episode(0)])
    before = bonus.regression.state_dict()
    bad = episode(1)
    bad.next_observations.vectors[3, 1] = value
    with pytest.raises(NotFiniteError, match=r"vectors\[4\]\[1\]"):
        bonus.update([bad])
    after = bonus.regression.state_dict()
    assert torch.equal(before["factor"], after["factor"])
    assert before["count"] == after["count"]


def test_a_bad_second_episode_keeps_the_first_out_too():
    bonus, bad = curiosity(), episode(1)
    bad.next_observations.vectors[0, 0] = math.nan
    with pytest.raises(NotFiniteError):
        bonus.update([episode(0), bad])
    assert bonus.regression.count == 0


@pytest.mark.parametrize("image_shape", [None, (4, 16, 16)])
def test_an_empty_batch_has_no_scores(image_shape):
    bonus = Curiosity(Encoder(EncoderConfig(3, image_shape=image_shape)))
    images = None if image_shape is None else np.zeros((0, *image_shape), np.uint8)
    assert bonus.score(Observations(np.zeros((0, 3)), images)).reward.shape == (0,)


def test_transitions_must_agree_in_length():
    with pytest.raises(LengthError, match=r"\(2, 3, 2\)"):
        Transitions(
            Observations(np.zeros((2, 3))), np.zeros((3, 1)), Observations(np.zeros((2, 3)))
        )


@pytest.mark.parametrize(
    "options", [{"form": "raw"}, {"forgetting": 0.0}, {"forgetting": 1.1}, {"weight": math.nan}]
)
def test_config_is_validated(options):
    with pytest.raises(ConfigError):
        CuriosityConfig(**options)


def continual(target: str = "next_vector", every: int = 3) -> ContinualCuriosity:
    settings = ContinualConfig(
        capacity=200,
        every_episodes=every,
        epochs=10,
        target=target,
        embedding=EmbeddingConfig(subset_size=16, batch_size=16),
    )
    return ContinualCuriosity(Encoder(EncoderConfig(3)), continual=settings, seed=1)


@pytest.mark.parametrize("target", ["action", "next_vector"])
def test_continual_embedding_retrains_and_preserves_the_count(target):
    bonus = continual(target)
    weights = bonus.encoder.state_dict()["mlp.0.weight"].clone()
    bonus.update([lawful_episode(0), lawful_episode(1)])
    assert torch.equal(weights, bonus.encoder.state_dict()["mlp.0.weight"])
    bonus.update([lawful_episode(2)])
    assert not torch.equal(weights, bonus.encoder.state_dict()["mlp.0.weight"])
    assert bonus.regression.count == 3 * 101
    # Each by itself: shifted ones are alike to the encoder, and soon known to each other.
    seen, novel = (
        bonus.score(each.next_observations).reward
        for each in (lawful_episode(0), shifted(lawful_episode(0), 6.0))
    )
    assert seen.mean() < novel.mean()


def test_continual_embedding_fits_the_length_scale_to_the_latent_space_that_it_learnt():
    bonus = continual()
    drawn = bonus.encoder.frequencies.clone()
    bonus.update([lawful_episode(0), lawful_episode(1)])
    first = float(bonus.encoder.length_scale)
    bonus.update([lawful_episode(2)])  # learns anew
    scale = float(bonus.encoder.length_scale)
    latent = bonus.encoder.features(bonus._reservoir.transitions().observations)[:, :-1]
    assert scale == pytest.approx(float(torch.nn.functional.pdist(latent).median()))
    assert scale != pytest.approx(first, rel=0.1)
    torch.testing.assert_close(bonus.encoder.frequencies * scale, drawn)


def test_a_length_scale_of_ones_own_stays():
    encoder = Encoder(EncoderConfig(3, fourier_length_scale=0.5))
    before = encoder.frequencies.clone()
    encoder.refit_length_scale(torch.rand(50, encoder.config.latent_size))
    assert float(encoder.length_scale) == 0.5
    assert torch.equal(encoder.frequencies, before)


def lawful_episode(seed: int) -> Transitions:
    """One whose actions and changes follow from its observations, so that there is a lesson."""
    states = np.random.default_rng(seed).normal(size=(100, 3))
    actions = np.sin(3.0 * states[:, :2])
    return Transitions(Observations(states), actions, Observations(states + np.tanh(3.0 * states)))


def shifted(steps: Transitions, by: float) -> Transitions:
    return Transitions(
        steps.observations, steps.actions, Observations(steps.next_observations.vectors + by)
    )


def test_continual_embedding_goes_on_exactly_after_a_reload():
    whole, half = continual(), continual()
    episodes = [episode(seed) for seed in range(6)]
    whole.update(episodes)
    half.update(episodes[:2])
    other = continual()
    other.load_state_dict(half.state_dict())
    other.update(episodes[2:])
    assert np.array_equal(whole.evaluate([episode(9)]), other.evaluate([episode(9)]))


def test_reservoir_is_a_uniform_sample():
    bonus = continual(every=10_000)
    for start in range(0, 1000, 10):
        states = np.arange(start, start + 11, dtype=float)[:, None] * np.ones(3)
        bonus.update(
            [Transitions(Observations(states[:-1]), states[:-1, :1], Observations(states[1:]))]
        )
    kept = bonus._reservoir.transitions().actions[:, 0]
    assert len(kept) == len(set(kept)) == 200
    assert 350 < kept.mean() < 650


def test_continual_embedding_refuses_forgetting():
    with pytest.raises(ConfigError, match=r"forgetting = 0\.9"):
        ContinualCuriosity(Encoder(EncoderConfig(3)), CuriosityConfig(forgetting=0.9))
