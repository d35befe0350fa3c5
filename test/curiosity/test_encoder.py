"""Encoders: shapes, inputs they take and inputs they refuse."""

import numpy as np
import pytest
import torch
from torch import nn

from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.trunks import IMAGE_TRUNKS, SPREAD, Keypoints
from bayes_curiosity_ros.errors import ConfigError, ImageError, LengthError, NotFiniteError

IMAGE = (4, 32, 32)


def vectors(count: int = 5, size: int = 3) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(count, size))


def test_last_feature_is_one_and_the_rest_are_bounded():
    features = Encoder(EncoderConfig(3)).features(Observations(1e3 * vectors()))
    assert features.shape == (5, 33)
    assert (features[:, -1] == 1).all()
    assert features.abs().max() <= 1


def test_same_seed_same_weights_whatever_the_global_seed():
    torch.manual_seed(1)
    first = Encoder(EncoderConfig(3, image_shape=IMAGE), torch.Generator().manual_seed(7))
    torch.manual_seed(2)
    second = Encoder(EncoderConfig(3, image_shape=IMAGE), torch.Generator().manual_seed(7))
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_frame_is_seen_the_same_in_bytes_and_in_floats():
    """Demonstrations are stored as bytes, a camera sends metres: bit for bit the same features."""
    encoder = Encoder(EncoderConfig(3, image_shape=IMAGE, max_depth_m=2.0))
    bytes_ = np.random.default_rng(1).integers(0, 256, (5, *IMAGE), dtype=np.uint8)
    floats = bytes_.astype(np.float32) / 255.0
    floats[:, 3] *= 2.0
    floats[:, 3] += 0.003  # less than half a level
    from_bytes = encoder.features(Observations(vectors(), bytes_))
    from_floats = encoder.features(Observations(vectors(), floats))
    assert torch.equal(from_bytes, from_floats)


@pytest.mark.parametrize("trunk", IMAGE_TRUNKS)
def test_image_matters(trunk):
    encoder = Encoder(EncoderConfig(3, image_shape=IMAGE, image_trunk=trunk))
    black = Observations(vectors(), np.zeros((5, *IMAGE), np.uint8))
    bright = np.zeros((5, *IMAGE), np.uint8)
    bright[:, :, :8, :8] = 255
    corner = Observations(vectors(), bright)
    assert not torch.allclose(encoder.features(black), encoder.features(corner))


def test_keypoints_follow_what_moves():
    """A pattern's row and column are where it is, at places that were never trained on too."""
    trunk = Keypoints((1, 32, 32)).requires_grad_(False)
    for layer in (trunk.maps[0], trunk.maps[2]):
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(layer.bias)
    trunk.maps[0].weight[0] = 1.0 / 16  # brightness of a patch
    trunk.maps[2].weight[:, 0, 1, 1] = 10.0
    images = torch.zeros(2, 1, 32, 32)
    images[0, :, 8:12, 20:24] = images[1, :, 12:16, 16:20] = 1.0
    rows, columns = trunk(images)[:, :2].T
    step = 2 * SPREAD / 7  # of a grid of 8 × 8 patches
    torch.testing.assert_close(rows, torch.tensor([2.0, 3.0]) * step - SPREAD)
    torch.testing.assert_close(columns, torch.tensor([5.0, 4.0]) * step - SPREAD)


def test_fourier_features_have_the_kernel_of_a_gaussian_process():
    config = EncoderConfig(2, latent_size=2, fourier_features=20_000, fourier_length_scale=0.7)
    encoder = Encoder(config)
    observations = Observations(vectors(count=2, size=2))
    latent = encoder.mlp(encoder.tensors(observations)[0]).detach()
    fourier = encoder.fourier(latent)
    distance = float((latent[0] - latent[1]).square().sum())
    assert float(fourier[0] @ fourier[1]) == pytest.approx(
        np.exp(-distance / (2 * 0.7**2)), abs=0.03
    )


def test_inputs_are_standardised():
    encoder = Encoder(EncoderConfig(3))
    data = 100.0 + 5.0 * np.random.default_rng(2).normal(size=(1000, 3))
    data[:, 2] = 7.0
    encoder.standardise_inputs(data)
    scaled = (torch.from_numpy(data).float() - encoder.offset) * encoder.scale
    torch.testing.assert_close(scaled.mean(dim=0), torch.zeros(3), rtol=0, atol=1e-3)
    torch.testing.assert_close(scaled[:, :2].std(dim=0), torch.ones(2), rtol=0, atol=1e-2)
    assert encoder.scale[2] == 1.0


@pytest.mark.parametrize(
    ("observations", "error", "words"),
    [
        (Observations(np.full((2, 3), np.nan)), NotFiniteError, r"vectors\[0\]\[0\] = nan"),
        (Observations(np.full((2, 3), -np.inf)), NotFiniteError, "-inf"),
        (Observations(np.full((2, 3), 1e300)), NotFiniteError, "1e\\+300"),
        (Observations(np.zeros((2, 4))), LengthError, r"\(2, 4\); expected \(count, 3\)"),
        (Observations(np.zeros((2, 3)), np.zeros((2, *IMAGE))), ImageError, "image_shape = None"),
    ],
)
def test_vector_encoder_names_what_does_not_fit(observations, error, words):
    with pytest.raises(error, match=words):
        Encoder(EncoderConfig(3)).features(observations)


@pytest.mark.parametrize(
    ("images", "error", "words"),
    [
        (None, ImageError, "missing"),
        (np.zeros((5, 4, 16, 16), np.uint8), ImageError, r"\(4, 16, 16\)"),
        (np.zeros((5, 32, 32, 4), np.uint8), ImageError, "channels-first"),
        (np.zeros((5, *IMAGE), np.int32), ImageError, "int32"),
        (np.full((5, *IMAGE), np.nan), NotFiniteError, "not finite"),
    ],
)
def test_image_encoder_names_what_does_not_fit(images, error, words):
    with pytest.raises(error, match=words):
        Encoder(EncoderConfig(3, image_shape=IMAGE)).features(Observations(vectors(), images))


@pytest.mark.parametrize(
    "options",
    [
        {"vector_size": 0},
        {"vector_size": 3, "latent_size": 0},
        {"vector_size": 3, "hidden_sizes": (8, 0)},
        {"vector_size": 3, "image_shape": (4, 8, 8)},
        {"vector_size": 3, "fourier_features": -1},
        {"vector_size": 3, "max_depth_m": 0.0},
        {"vector_size": 3, "image_trunk": "deep"},
    ],
)
def test_config_is_validated(options):
    with pytest.raises(ConfigError):
        EncoderConfig(**options)


def test_observations_must_be_rows():
    with pytest.raises(LengthError, match=r"vectors\[None\]"):
        Observations(np.zeros(3))
    with pytest.raises(LengthError, match="2 images for 5 vectors"):
        Observations(vectors(), np.zeros((2, *IMAGE)))
