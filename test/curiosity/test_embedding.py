"""Algorithm 1: its loss against a closed form, its training, its resumption."""

import math

import numpy as np
import pytest
import torch

from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.embedding import (
    EmbeddingConfig,
    EmbeddingTrainer,
    negative_log_likelihood,
    train_embedding,
)
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.regression import BayesianLinearRegression, RegressionConfig
from bayes_curiosity_ros.errors import ConfigError, InputError, ModelFileError

CONFIG = RegressionConfig()
SMALL = EmbeddingConfig(subset_size=64, batch_size=64, max_epochs=6)


def demonstrations(count: int = 300) -> tuple[Observations, np.ndarray]:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(count, 3))
    targets = np.stack([np.sin(2 * vectors[:, 0]), vectors[:, 1] * vectors[:, 2]], axis=1)
    return Observations(vectors), targets + 0.05 * rng.normal(size=targets.shape)


def trainer(config: EmbeddingConfig = SMALL) -> EmbeddingTrainer:
    encoder = Encoder(EncoderConfig(3, hidden_sizes=(16,), latent_size=8))
    return EmbeddingTrainer(encoder, *demonstrations(), config, seed=3)


def random(*shape: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def test_loss_equals_the_density_of_the_posterior_predictive():
    features, targets = random(5, 4, seed=0), random(5, 2, seed=1)
    known, known_targets = random(9, 4, seed=2), random(9, 2, seed=3)
    regression = BayesianLinearRegression(4, CONFIG, target_size=2)
    regression.update(known, known_targets)
    predictive = torch.distributions.Normal(
        regression.mean(features), regression.variance(features).sqrt()[:, None]
    )
    expected = -predictive.log_prob(targets).mean()
    loss = negative_log_likelihood(features, targets, known, known_targets, CONFIG)
    torch.testing.assert_close(loss, expected)


def test_gradients_flow_through_mean_and_covariance():
    known = random(6, 3, seed=4).requires_grad_()

    def loss(rows):
        return negative_log_likelihood(
            random(4, 3, seed=5), random(4, 1, seed=6), rows, random(6, 1, seed=7), CONFIG
        )

    assert torch.autograd.gradcheck(loss, (known,), eps=1e-6, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("disjoint", [False, True])
def test_training_improves_the_held_out_loss(disjoint):
    config = EmbeddingConfig(subset_size=64, batch_size=64, max_epochs=40, disjoint=disjoint)
    training = trainer(config)
    train_embedding(training, progress=False)
    assert training.best_loss < 0.5 * training.losses[0]


def test_best_epoch_is_kept_and_frozen():
    training = trainer(EmbeddingConfig(max_epochs=10, learning_rate=0.05))
    encoder = train_embedding(training, progress=False)
    assert training.held_out_loss() == pytest.approx(training.best_loss)
    assert not any(parameter.requires_grad for parameter in encoder.parameters())


def test_training_stops_when_converged():
    training = trainer(EmbeddingConfig(max_epochs=100, patience=2, min_improvement=1e6))
    train_embedding(training, progress=False)
    assert training.epoch == 2


def test_same_seed_same_encoder():
    first, second = (train_embedding(trainer(), progress=False) for _ in range(2))
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b)


def test_resumed_training_is_bit_for_bit_the_same(tmp_path):
    whole = train_embedding(trainer(), progress=False)
    checkpoint = tmp_path / "embedding.pt"
    train_embedding(
        trainer(EmbeddingConfig(subset_size=64, batch_size=64, max_epochs=3)),
        progress=False,
        checkpoint=checkpoint,
    )
    resumed = train_embedding(trainer(), progress=False, checkpoint=checkpoint)
    for a, b in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(a, b)


def test_damaged_checkpoint_is_named(tmp_path):
    checkpoint = tmp_path / "embedding.pt"
    checkpoint.write_bytes(b"not a checkpoint")
    with pytest.raises(ModelFileError, match="damaged"):
        train_embedding(trainer(), progress=False, checkpoint=checkpoint)


def test_images_train_too():
    rng = np.random.default_rng(1)
    images = rng.integers(0, 256, (60, 4, 16, 16), dtype=np.uint8)
    targets = images[:, 0].mean(axis=(1, 2))[:, None].astype(float)
    encoder = Encoder(EncoderConfig(3, image_shape=(4, 16, 16), hidden_sizes=(8,), latent_size=4))
    training = EmbeddingTrainer(encoder, Observations(rng.normal(size=(60, 3)), images), targets)
    assert math.isfinite(training.run_epoch())


@pytest.mark.parametrize(
    ("count", "targets", "words"),
    [
        (300, np.zeros((299, 2)), r"\(299, 2\)"),
        (300, np.full((300, 2), np.nan), "not finite"),
        (10, np.zeros((10, 2)), "at least 20"),
    ],
)
def test_bad_demonstrations_are_named(count, targets, words):
    with pytest.raises(InputError, match=words):
        EmbeddingTrainer(Encoder(EncoderConfig(3)), demonstrations(count)[0], targets)


@pytest.mark.parametrize("options", [{"batch_size": 0}, {"holdout_fraction": 1.0}])
def test_config_is_validated(options):
    with pytest.raises(ConfigError):
        EmbeddingConfig(**options)
