"""Bayesian curiosity: the log of the regression's predictive variance as a reward."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bayes_curiosity_ros.configuration.settings import build
from bayes_curiosity_ros.curiosity.bonus import BONUSES, Bonus, BonusInputs
from bayes_curiosity_ros.curiosity.data import Observations, Transitions
from bayes_curiosity_ros.curiosity.encoder import Encoder, with_constant
from bayes_curiosity_ros.curiosity.regression import BayesianLinearRegression, RegressionConfig
from bayes_curiosity_ros.curiosity.vector_features import VectorFeatures
from bayes_curiosity_ros.errors import ConfigError, unknown_name

FORMS = ("nonnegative", "paper")
CHUNK_ROWS = 4096  # bounds the memory of a large batch


@dataclass(frozen=True)
class CuriosityConfig:
    """How variance becomes reward.

    Attributes:
        weight: η, the factor of the curiosity in the reward.
        form: "nonnegative" rewards c + log β ≥ 0. "paper" rewards c = log σ² itself, which in
            explored space is a *cost* of log β per step and so pays for ending an episode
            early, by a collision for instance.
        forgetting: λ; each episode multiplies what earlier ones contributed by it. 1: never.
        regression: prior and noise.
    """

    weight: float = 1.0
    form: str = "nonnegative"
    forgetting: float = 1.0
    regression: RegressionConfig = field(default_factory=RegressionConfig)

    def __post_init__(self) -> None:
        if not math.isfinite(self.weight):
            raise ConfigError(f"weight = {self.weight}; it must be finite")
        if self.form not in FORMS:
            raise unknown_name("form", self.form, FORMS)
        if not 0.0 < self.forgetting <= 1.0:
            raise ConfigError(f"forgetting = {self.forgetting}; it must be in (0, 1]")


@dataclass(frozen=True)
class Scores:
    """What is known of N observations.

    Attributes:
        variance: σ², equation (3).
        curiosity: c = log σ², equation (4).
        reward: η c, or η (c + log β) in the non-negative form.
    """

    variance: np.ndarray
    curiosity: np.ndarray
    reward: np.ndarray


class Curiosity:
    """The paper's bonus: a frozen encoder, and a regression that learns where one has been."""

    def __init__(self, encoder: Encoder, config: CuriosityConfig | None = None) -> None:
        """Start at the prior, with the encoder frozen."""
        self.config = config or CuriosityConfig()
        self.encoder = encoder.requires_grad_(False)
        self.regression = BayesianLinearRegression(encoder.feature_size, self.config.regression)
        self._vector_features = VectorFeatures(self.encoder)

    def score(self, observations: Observations) -> Scores:
        """Variance, curiosity and reward of each observation; changes nothing."""
        return self._scores(self._quadratic(observations))

    def evaluate(self, transitions: Transitions) -> np.ndarray:
        """The reward of the observations *reached*: (N,) float64."""
        return self._reward(self._quadratic(transitions.next_observations))

    def update(self, episodes: Sequence[Transitions]) -> None:
        """Take in every observation of each episode, the first and the last included."""
        # All are encoded, and so checked, before the first is taken in.
        for features in [self.encoder.features(episode.visited()) for episode in episodes]:
            self._take_in(features)

    def observe(self, observations: Observations) -> None:
        """Take in one episode's observations."""
        self._take_in(self.encoder.features(observations))

    def evaluate_latent(self, latent: Tensor) -> np.ndarray:
        """The reward of observations that were encoded already, (N, latent_size): (N,)."""
        return self._reward(self.regression.quadratic(self.encoder.expand(latent)).numpy())

    def observe_latent(self, latent: Tensor) -> None:
        """Take in one episode's observations that were encoded already, (N, latent_size)."""
        self._take_in(with_constant(self.encoder.expand(latent)))

    def reset(self) -> None:
        """Back to the prior; the encoder stays."""
        self.regression.reset()

    def state_dict(self) -> dict[str, Any]:
        """Encoder and posterior."""
        return {"encoder": self.encoder.state_dict(), "regression": self.regression.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self.encoder.load_state_dict(state["encoder"])
        self.regression.load_state_dict(state["regression"])

    def _take_in(self, features: Tensor) -> None:
        self.regression.update(features, forgetting=self.config.forgetting)

    def _quadratic(self, observations: Observations) -> np.ndarray:
        """φᵀP⁻¹φ of each observation: (N,)."""
        if len(observations) <= CHUNK_ROWS:
            return self._quadratic_of_chunk(observations)
        starts = range(0, len(observations), CHUNK_ROWS)
        chunks = [self._quadratic_of_chunk(observations[i : i + CHUNK_ROWS]) for i in starts]
        return np.concatenate(chunks)

    def _quadratic_of_chunk(self, observations: Observations) -> np.ndarray:
        if self.encoder.trunk is None and observations.images is None:
            return self._vector_features.quadratic(observations.vectors, self.regression)
        tensors = self.encoder.tensors(observations)
        with torch.inference_mode():
            features = self.encoder.expand(self.encoder.latent(*tensors))
            return self.regression.quadratic(features).numpy()

    def _scores(self, quadratic: np.ndarray) -> Scores:
        beta = self.config.regression.noise_precision
        curiosity = np.log1p(beta * quadratic) - math.log(beta)
        return Scores(quadratic + 1.0 / beta, curiosity, self._reward(quadratic))

    def _reward(self, quadratic: np.ndarray) -> np.ndarray:
        beta = self.config.regression.noise_precision
        shaped = np.log1p(beta * quadratic)
        if self.config.form == "paper":
            shaped -= math.log(beta)
        return self.config.weight * shaped


class LatentCuriosity:
    """Curiosity of observations that end with the latent space: only the regression is left.

    Args:
        curiosity: with the encoder that the latent space came from.
    """

    def __init__(self, curiosity: Curiosity) -> None:
        self.curiosity = curiosity

    def evaluate(self, transitions: Transitions) -> np.ndarray:
        return self.curiosity.evaluate_latent(self._latent(transitions.next_observations))

    def update(self, episodes: Sequence[Transitions]) -> None:
        for episode in episodes:
            self.curiosity.observe_latent(self._latent(episode.visited()))

    def state_dict(self) -> dict[str, Any]:
        return self.curiosity.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.curiosity.load_state_dict(state)

    def _latent(self, observations: Observations) -> Tensor:
        size = self.curiosity.encoder.config.latent_size
        return torch.from_numpy(observations.vectors[:, -size:].astype(np.float32))


@BONUSES.register("curiosity", label="curiosity", encoder=True, node=True)
def _make(options: Mapping[str, Any], inputs: BonusInputs) -> Bonus:
    curiosity = Curiosity(inputs.encoder(), build(CuriosityConfig, options, "bonus curiosity"))
    return LatentCuriosity(curiosity) if inputs.latent_last else curiosity
