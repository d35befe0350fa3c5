"""φ: from an observation to the features that the regression sees."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from bayes_curiosity_ros.configuration.settings import require_nonnegative, require_positive
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.inputs import (
    checked_images,
    finite_rows,
    image_shape_of,
    undrawn,
    unit_images,
)
from bayes_curiosity_ros.curiosity.trunks import (
    IMAGE_TRUNK_SIZE,
    IMAGE_TRUNKS,
    image_trunk,
)
from bayes_curiosity_ros.errors import ConfigError, unknown_name

MEDIAN_ROWS = 1000


@dataclass(frozen=True)
class EncoderConfig:
    """Shape of the encoder.

    Attributes:
        vector_size: numbers per observation vector.
        image_shape: (channels, height, width) of images, or None for vectors alone.
        image_trunk: what looks at them: "flat" is the cheapest, "keypoints" finds things.
        hidden_sizes: widths of the MLP's hidden layers.
        latent_size: width of the latent space, M.
        fourier_features: number of random Fourier features of the latent space; with them in its
            place the variance behaves like a Gaussian process's.
        fourier_length_scale: distance in latent space over which that process varies; 0 for the
            median distance of the first observations that it is fitted to.
        max_depth_m: depth in [m] at and beyond which the depth channel saturates.
    """

    vector_size: int
    image_shape: tuple[int, int, int] | None = None
    image_trunk: str = "flat"
    hidden_sizes: tuple[int, ...] = (64, 64)
    latent_size: int = 32
    fourier_features: int = 256
    fourier_length_scale: float = 0.0
    max_depth_m: float = 3.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden_sizes", tuple(self.hidden_sizes))
        sizes = {"vector_size": self.vector_size, "latent_size": self.latent_size}
        sizes |= {f"hidden_sizes[{i}]": size for i, size in enumerate(self.hidden_sizes)}
        for name, size in sizes.items():
            if size < 1:
                raise ConfigError(f"{name} = {size}; it must be at least 1")
        require_nonnegative(self, "fourier_features", "fourier_length_scale")
        require_positive(self, "max_depth_m")
        if self.image_trunk not in IMAGE_TRUNKS:
            raise unknown_name("image_trunk", self.image_trunk, IMAGE_TRUNKS)
        object.__setattr__(self, "image_shape", image_shape_of(self.image_shape))


class Encoder(nn.Module):
    """MLP on vectors, joined by a small CNN where there are images, plus a constant feature.

    The constant 1 keeps φ from vanishing: a zero feature vector would get the *lowest*
    curiosity. Hidden and latent units are tanh, so features are bounded.
    """

    offset: Tensor
    scale: Tensor
    frequencies: Tensor
    phases: Tensor
    length_scale: Tensor

    def __init__(self, config: EncoderConfig, generator: torch.Generator | None = None) -> None:
        """Draw random weights.

        Args:
            config: shape of the encoder.
            generator: source of the weights; seed 0 where none is given.
        """
        super().__init__()
        self.config = config
        self.trunk: nn.Module | None = None
        if config.image_shape is not None:
            self.trunk = image_trunk(config.image_trunk, config.image_shape)
        inputs = config.vector_size + (IMAGE_TRUNK_SIZE if self.trunk is not None else 0)
        widths = (inputs, *config.hidden_sizes, config.latent_size)
        layers: list[nn.Module] = []
        for fan_in, fan_out in itertools.pairwise(widths):
            layers += [undrawn(nn.Linear, fan_in, fan_out), nn.Tanh()]
        self.mlp = nn.Sequential(*layers)
        self.register_buffer("offset", torch.zeros(config.vector_size))
        self.register_buffer("scale", torch.ones(config.vector_size))
        generator = generator or torch.Generator().manual_seed(0)
        draw_weights(self, generator)
        self._draw_fourier(generator)

    def standardise_inputs(self, vectors: np.ndarray) -> None:
        """Fix the vector input's offset and scale to the mean and deviation of `vectors`."""
        data = torch.as_tensor(vectors, dtype=torch.float32)
        deviation = data.std(dim=0, correction=0)
        self.offset.copy_(data.mean(dim=0))
        self.scale.copy_(torch.where(deviation > 1e-6, 1.0 / deviation, 1.0))

    def latent(self, vectors: Tensor, images: Tensor | None = None) -> Tensor:
        """Latent space of tensors that `tensors` made: (N, latent_size) float32 in -1..1."""
        inputs = (vectors - self.offset) * self.scale
        if self.trunk is not None:
            assert images is not None
            pixels = self.trunk(unit_images(images, self.config.max_depth_m))
            inputs = torch.cat([inputs, pixels], dim=1)
        return self.mlp(inputs)

    def fourier(self, latent: Tensor) -> Tensor:
        """Random Fourier features of a latent space: (N, fourier_features) float32."""
        amplitude = math.sqrt(2.0 / self.config.fourier_features)
        return amplitude * torch.cos(latent @ self.frequencies + self.phases)

    def fit_length_scale(self, latent: Tensor) -> None:
        """Set the Fourier features' length scale to the median distance of latents (N, size).

        Only the first call does; none where the configuration has a length scale of its own, or
        where there is no distance to measure.
        """
        if float(self.length_scale) > 0:
            return
        spread = torch.linspace(0, len(latent) - 1, min(len(latent), MEDIAN_ROWS)).long()
        distances = torch.nn.functional.pdist(latent[spread])
        distances = distances[distances > 0]
        if len(distances):
            self.length_scale.copy_(distances.median())
            self.frequencies.div_(self.length_scale)

    def refit_length_scale(self, latent: Tensor) -> None:
        """The same for a latent space that was learnt anew, in which distances are others."""
        if self.config.fourier_length_scale == 0 and float(self.length_scale) > 0:
            self.frequencies.mul_(self.length_scale)
            self.length_scale.zero_()
            self.fit_length_scale(latent)

    def forward(self, vectors: Tensor, images: Tensor | None = None) -> Tensor:
        """The latent space and the constant 1, of tensors that `tensors` made: (N, latent + 1)."""
        return with_constant(self.latent(vectors, images))

    def tensors(self, observations: Observations) -> tuple[Tensor, Tensor | None]:
        """Check a batch and turn it into tensors; errors name what does not fit."""
        vectors = finite_rows("vectors", observations.vectors, self.config.vector_size)
        images = checked_images(observations.images, self.config.image_shape)
        return torch.from_numpy(vectors), images

    def features(self, observations: Observations) -> Tensor:
        """The latent space and the constant 1, without gradient: (N, latent_size + 1) float32."""
        vectors, images = self.tensors(observations)
        with torch.inference_mode():
            return self(vectors, images)

    def _draw_fourier(self, generator: torch.Generator) -> None:
        shape = (self.config.latent_size, self.config.fourier_features)
        scale = self.config.fourier_length_scale
        frequencies = torch.randn(shape, generator=generator) / (scale or 1.0)
        phases = 2.0 * math.pi * torch.rand(shape[1], generator=generator)
        self.register_buffer("frequencies", frequencies)
        self.register_buffer("phases", phases)
        self.register_buffer("length_scale", torch.tensor(scale))


def with_constant(features: Tensor) -> Tensor:
    """Features with the constant one behind them."""
    return nn.functional.pad(features, (0, 1), value=1.0)


def draw_weights(module: nn.Module, generator: torch.Generator) -> None:
    """Glorot-normal weights and zero biases for every layer, from `generator` alone."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            nn.init.xavier_normal_(layer.weight, generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
