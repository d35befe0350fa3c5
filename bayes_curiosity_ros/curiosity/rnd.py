"""Random network distillation: how badly a trained network imitates a random one.

Burda, Edwards, Storkey, Klimov: "Exploration by random network distillation", ICLR 2019. The
predictor learns the target's outputs where the agent has been; elsewhere it errs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bayes_curiosity_ros.configuration.settings import build
from bayes_curiosity_ros.curiosity.bonus import BONUSES, BonusInputs, Stream, Unordered
from bayes_curiosity_ros.curiosity.data import Observations, Transitions
from bayes_curiosity_ros.curiosity.inputs import (
    checked_images,
    finite_rows,
    image_shape_of,
    undrawn,
    unit_images,
)
from bayes_curiosity_ros.curiosity.normalise import RunningMoments
from bayes_curiosity_ros.curiosity.state import adam_state, check_fit, copy_of, load_adam_state
from bayes_curiosity_ros.errors import ConfigError

CLIP_DEVIATIONS = 5.0
VECTOR_FLOOR = 1e-6
RETURN_FLOOR = 1e-6
PIXEL_FLOOR = 1.0 / 255.0  # less is a camera's rounding, not a sight
CHUNK_ROWS = 256  # images become floats one chunk at a time


@dataclass(frozen=True)
class RndConfig:
    """Networks, training and reward of random network distillation.

    Attributes:
        vector_size: numbers per observation vector.
        image_shape: (channels, height, width) of images, or None for vectors alone.
        width: units of a hidden layer.
        layers: hidden layers of the target; the predictor has one more.
        feature_size: outputs of both networks.
        learning_rate: Adam's step size.
        batch_size: observations per step of Adam.
        epochs: passes over the episodes of one `update`.
        weight: factor of the bonus in the reward.
        shift: added to the normalised error before the weight.
        discount: of the returns whose running deviation the error is divided by.
        max_depth_m: depth in [m] at and beyond which the depth channel saturates.
        device: where the networks live, for instance "cpu".
    """

    vector_size: int
    image_shape: tuple[int, int, int] | None = None
    width: int = 64
    layers: int = 1
    feature_size: int = 32
    learning_rate: float = 1e-3
    batch_size: int = 256
    epochs: int = 1
    weight: float = 1.0
    shift: float = 0.0
    discount: float = 0.99
    max_depth_m: float = 3.0
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name in ("vector_size", "width", "layers", "feature_size", "batch_size", "epochs"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} = {getattr(self, name)}; it must be at least 1")
        for name in ("learning_rate", "max_depth_m"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise ConfigError(f"{name} = {getattr(self, name)}; it must be above 0")
        for name in ("weight", "shift"):
            if not math.isfinite(getattr(self, name)):
                raise ConfigError(f"{name} = {getattr(self, name)}; it must be finite")
        if not 0.0 <= self.discount < 1.0:
            raise ConfigError(f"discount = {self.discount}; it must be in [0, 1)")
        object.__setattr__(self, "image_shape", image_shape_of(self.image_shape))


class RandomFeatures(nn.Module):
    """An MLP on vectors, joined by a small CNN where there are images."""

    def __init__(self, config: RndConfig, layers: int, generator: torch.Generator) -> None:
        super().__init__()
        self.convolutions = _convolutions(config.image_shape) if config.image_shape else None
        pixels = _output_size(self.convolutions, config.image_shape)
        widths = [config.vector_size + pixels] + [config.width] * layers + [config.feature_size]
        stack: list[nn.Module] = []
        for fan_in, fan_out in pairwise(widths):
            stack += [undrawn(nn.Linear, fan_in, fan_out), nn.ReLU()]
        self.mlp = nn.Sequential(*stack[:-1])
        _draw_weights(self, generator)

    def forward(self, vectors: Tensor, images: Tensor | None) -> Tensor:
        if self.convolutions is not None:
            vectors = torch.cat([vectors, self.convolutions(images)], dim=1)
        return self.mlp(vectors)


class Rnd:
    """The bonus: the predictor's mean squared error, in units of its returns' deviation.

    Observations are whitened by running moments. Until the first `update` (or
    `standardise_inputs`) these are the identity, and errors are not scaled.
    """

    def __init__(self, config: RndConfig, generator: torch.Generator | None = None) -> None:
        """Draw both networks.

        Args:
            config: networks, training and reward.
            generator: source of weights and minibatches; seed 0 where none is given.
        """
        self.config = config
        self._generator = generator or torch.Generator().manual_seed(0)
        target = RandomFeatures(config, config.layers, self._generator)
        predictor = RandomFeatures(config, config.layers + 1, self._generator)
        self.target = target.requires_grad_(False).to(config.device)
        self.predictor = predictor.to(config.device)
        self._optimiser = torch.optim.Adam(
            self.predictor.parameters(), lr=config.learning_rate, fused=True
        )
        self._vector_moments = RunningMoments((config.vector_size,))
        self._image_moments = RunningMoments(config.image_shape or ())
        self._return_moments = RunningMoments()

    def evaluate(self, episodes: Sequence[Transitions]) -> np.ndarray:
        """The reward of the observations *reached*: (N,) float64."""
        observations = Observations.concatenate([each.next_observations for each in episodes])
        self._check(observations)
        scale = float(self._return_moments.deviation(RETURN_FLOOR))
        return self.config.weight * (self._errors(observations) / scale + self.config.shift)

    def begin(self, first: Observations) -> Stream:
        """Prices an episode under way."""
        return Unordered(self)

    def update(self, episodes: Sequence[Transitions]) -> None:
        """Take episodes into the running moments, then train the predictor on them."""
        visited = [episode.visited() for episode in episodes if len(episode)]
        for observations in visited:
            self._check(observations)
        if not visited:
            return
        together = Observations.concatenate(visited)
        self.standardise_inputs(together)
        for observations in visited:
            returns = _discounted(self._errors(observations)[1:], self.config.discount)
            self._return_moments.update(returns)
        for _ in range(self.config.epochs):
            self._train_epoch(together)

    def standardise_inputs(self, observations: Observations) -> None:
        """Take observations into the input's running moments, without training on them.

        The paper does so with a few thousand random steps before the first episode.
        """
        self._check(observations)
        self._vector_moments.update(observations.vectors)
        for images in self._unit_image_chunks(observations):
            self._image_moments.update(images.numpy())

    def state_dict(self) -> dict[str, Any]:
        """Both networks, Adam, the running moments and the generator."""
        return {
            "target": copy_of(self.target),
            "predictor": copy_of(self.predictor),
            "optimiser": adam_state(self._optimiser),
            "vector_moments": self._vector_moments.state_dict(),
            "image_moments": self._image_moments.state_dict(),
            "return_moments": self._return_moments.state_dict(),
            "generator": self._generator.get_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave; training then goes on exactly as it would have."""
        check_fit(self.target, state["target"])
        check_fit(self.predictor, state["predictor"])
        self._vector_moments.load_state_dict(state["vector_moments"])
        self._image_moments.load_state_dict(state["image_moments"])
        self._return_moments.load_state_dict(state["return_moments"])
        self.target.load_state_dict(state["target"])
        self.predictor.load_state_dict(state["predictor"])
        load_adam_state(self._optimiser, state["optimiser"])
        self._generator.set_state(state["generator"])

    def _train_epoch(self, observations: Observations) -> None:
        order = torch.randperm(len(observations), generator=self._generator).numpy()
        for start in range(0, len(order), self.config.batch_size):
            inputs = self._inputs(observations[order[start : start + self.config.batch_size]])
            with torch.no_grad():
                wanted = self.target(*inputs)
            loss = nn.functional.mse_loss(self.predictor(*inputs), wanted)
            self._optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimiser.step()

    def _errors(self, observations: Observations) -> np.ndarray:
        errors = np.empty(len(observations))
        with torch.no_grad():
            for start in range(0, len(observations), CHUNK_ROWS):
                rows = slice(start, start + CHUNK_ROWS)
                inputs = self._inputs(observations[rows])
                difference = self.predictor(*inputs) - self.target(*inputs)
                errors[rows] = difference.square_().mean(dim=1).cpu().numpy()
        return errors

    def _inputs(self, observations: Observations) -> tuple[Tensor, Tensor | None]:
        vectors = _whiten(observations.vectors, self._vector_moments, VECTOR_FLOOR)
        images = None
        if observations.images is not None:
            unit = self._unit(observations.images).numpy()
            images = _whiten(unit, self._image_moments, PIXEL_FLOOR).to(self.config.device)
        return vectors.to(self.config.device), images

    def _unit_image_chunks(self, observations: Observations) -> Iterator[Tensor]:
        if observations.images is None:
            return
        for start in range(0, len(observations), CHUNK_ROWS):
            yield self._unit(observations.images[start : start + CHUNK_ROWS])

    def _unit(self, images: np.ndarray) -> Tensor:
        checked = checked_images(images, self.config.image_shape)
        assert checked is not None
        return unit_images(checked, self.config.max_depth_m)

    def _check(self, observations: Observations) -> None:
        finite_rows("vectors", observations.vectors, self.config.vector_size)
        checked_images(observations.images, self.config.image_shape)


def _whiten(values: np.ndarray, moments: RunningMoments, floor: float) -> Tensor:
    whitened = (values - moments.mean) / moments.deviation(floor)
    return torch.from_numpy(whitened.clip(-CLIP_DEVIATIONS, CLIP_DEVIATIONS).astype(np.float32))


def _discounted(rewards: np.ndarray, discount: float) -> np.ndarray:
    """Σ_k discount^k r_(t-k): as its deviation, only the sum's size matters, not its direction."""
    total = 0.0
    sums = np.empty(len(rewards))
    for step, reward in enumerate(rewards.tolist()):
        total = discount * total + reward
        sums[step] = total
    return sums


def _convolutions(image_shape: tuple[int, int, int]) -> nn.Sequential:
    return nn.Sequential(
        undrawn(nn.Conv2d, image_shape[0], 16, kernel_size=8, stride=4),
        nn.ReLU(),
        undrawn(nn.Conv2d, 16, 32, kernel_size=3, stride=2),
        nn.ReLU(),
        nn.Flatten(),
    )


def _output_size(
    convolutions: nn.Sequential | None, image_shape: tuple[int, int, int] | None
) -> int:
    if convolutions is None or image_shape is None:
        return 0
    with torch.no_grad():
        return int(convolutions(torch.zeros(1, *image_shape)).shape[1])


def _draw_weights(module: nn.Module, generator: torch.Generator) -> None:
    """Orthogonal weights of gain √2 and zero biases, as in the paper's code."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            nn.init.orthogonal_(layer.weight, gain=math.sqrt(2.0), generator=generator)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


@BONUSES.register("rnd", label="RND")
def _make(options: Mapping[str, Any], inputs: BonusInputs) -> Rnd:
    config = build(RndConfig, {"vector_size": inputs.vector_size, **options}, "bonus rnd")
    return Rnd(config, torch.Generator().manual_seed(inputs.seed))
