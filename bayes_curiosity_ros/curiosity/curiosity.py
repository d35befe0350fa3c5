"""Bayesian curiosity: the information that an observation gives the regression, as a reward."""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bayes_curiosity_ros.configuration.settings import build
from bayes_curiosity_ros.curiosity.bonus import BONUSES, Bonus, BonusInputs
from bayes_curiosity_ros.curiosity.data import Observations, Transitions
from bayes_curiosity_ros.curiosity.encoder import Encoder, with_constant
from bayes_curiosity_ros.curiosity.information import EpisodeGain, information_gains
from bayes_curiosity_ros.curiosity.regression import (
    FEW_FEATURES,
    BayesianLinearRegression,
    RegressionConfig,
)
from bayes_curiosity_ros.curiosity.vector_features import VectorFeatures
from bayes_curiosity_ros.errors import ConfigError, unknown_name

FORMS = ("nonnegative", "paper", "elliptical")
POSTERIORS = ("sequential", "frozen", "episodic")
FEATURES = ("fourier", "plain")
CHUNK_ROWS = 4096  # bounds the memory of a large batch
CHUNK_NUMBERS = 8_000_000  # likewise, of whitened features side by side


@dataclass(frozen=True)
class CuriosityConfig:
    """How what is learnt from an observation becomes reward.

    Attributes:
        weight: η, the factor of the curiosity in the reward. The default goes with a reward of
            1 for success.
        form: "nonnegative" rewards c + log β ≥ 0, the information gained. "paper" rewards c = log
            σ² itself, which in explored space is a *cost* of log β per step and so pays for
            ending an episode early, by a collision for instance. "elliptical" rewards
            β φᵀP⁻¹φ, without a logarithm.
        posterior: "sequential" takes in each observation as it comes, so that an episode is worth
            what is learnt in it. "frozen" is the paper's: the posterior stays as it was before
            the episode. "episodic" begins every episode at the prior.
        features: "fourier" regresses on random Fourier features of the latent space, "plain" on
            the latent space itself.
        forgetting: λ; each episode multiplies what earlier ones contributed by it. 1: never.
        regression: prior and noise.
    """

    weight: float = 0.01
    form: str = "nonnegative"
    posterior: str = "sequential"
    features: str = "fourier"
    forgetting: float = 1.0
    regression: RegressionConfig = field(default_factory=RegressionConfig)

    def __post_init__(self) -> None:
        if not math.isfinite(self.weight):
            raise ConfigError(f"weight = {self.weight}; it must be finite")
        for name, valid in (("form", FORMS), ("posterior", POSTERIORS), ("features", FEATURES)):
            if getattr(self, name) not in valid:
                raise unknown_name(name, getattr(self, name), valid)
        if not 0.0 < self.forgetting <= 1.0:
            raise ConfigError(f"forgetting = {self.forgetting}; it must be in (0, 1]")


PRESETS = {
    "": CuriosityConfig(),
    # The paper's form, all of it.
    "paper": CuriosityConfig(weight=1.0, form="paper", posterior="frozen", features="plain"),
    # The elliptical episodic bonus (Henaff and others 2022) in the latent space, ridge 0.1.
    "e3b": CuriosityConfig(
        weight=1.0,
        form="elliptical",
        posterior="episodic",
        features="plain",
        regression=RegressionConfig(prior_precision=0.1, noise_precision=1.0),
    ),
}


def preset_config(options: Mapping[str, Any], where: str = "curiosity") -> CuriosityConfig:
    """A configuration from options; `preset` names what those left out are taken from.

    Raises:
        ConfigError: an option or the preset is unknown, or a value is out of its bounds.
    """
    own = dict(options)
    base = dataclasses.asdict(named_preset(own.pop("preset", "")))
    base["regression"] |= own.pop("regression", {})
    return build(CuriosityConfig, base | own, where)


def with_preset(config: CuriosityConfig, preset: str) -> CuriosityConfig:
    """A configuration whose values that are still at their defaults are taken from a preset."""
    usual = CuriosityConfig()
    own = {
        item.name: getattr(config, item.name)
        for item in dataclasses.fields(config)
        if getattr(config, item.name) != getattr(usual, item.name)
    }
    return dataclasses.replace(named_preset(preset), **own)


def named_preset(name: str) -> CuriosityConfig:
    """The preset of this name; "" for the defaults.

    Raises:
        ConfigError: there is none; the message lists the names there are.
    """
    if name not in PRESETS:
        raise unknown_name("preset", name, [known for known in PRESETS if known])
    return PRESETS[name]


@dataclass(frozen=True)
class Scores:
    """What is known of N observations.

    Attributes:
        variance: σ², equation (3).
        curiosity: c = log σ², equation (4).
        reward: η c, or what the configured form makes of it.
    """

    variance: np.ndarray
    curiosity: np.ndarray
    reward: np.ndarray

    @staticmethod
    def joined(parts: Sequence[Scores]) -> Scores:
        """All parts one after the other."""
        return Scores(
            np.concatenate([part.variance for part in parts]),
            np.concatenate([part.curiosity for part in parts]),
            np.concatenate([part.reward for part in parts]),
        )


class Curiosity:
    """A frozen encoder, and a regression that learns where one has been."""

    def __init__(self, encoder: Encoder, config: CuriosityConfig | None = None) -> None:
        """Start at the prior, with the encoder frozen."""
        self.config = config or CuriosityConfig()
        self.encoder = encoder.requires_grad_(False)
        self._fourier = self.config.features == "fourier"
        shape = encoder.config
        size = shape.fourier_features if self._fourier else shape.latent_size
        self.regression = BayesianLinearRegression(size + 1, self.config.regression)
        self._prior = copy.copy(self.regression)
        self._vector_features = VectorFeatures(self.encoder, self._fourier)

    def score(self, observations: Observations) -> Scores:
        """Each observation by itself, at the posterior as it is; changes nothing."""
        return self._scores(self._quadratic(observations))

    def score_in_order(self, observations: Observations) -> Scores:
        """An episode's observations one by one, bit for bit as a stream of them is scored."""
        stream = self.begin(observations[:1])
        rest = [stream.take(observations[i : i + 1]) for i in range(1, len(observations))]
        return Scores.joined([stream.first, *rest])

    def evaluate(self, episodes: Sequence[Transitions]) -> np.ndarray:
        """The reward of the observations *reached*: (N,) float64."""
        if self.config.posterior == "frozen":
            reached = [episode.next_observations for episode in episodes]
            return self._reward(self._gain(self._quadratic(Observations.concatenate(reached))))
        gains = self.gains([episode.visited() for episode in episodes])
        return self._reward(np.concatenate([each[1:] for each in gains]))

    def begin(self, first: Observations) -> CuriosityStream:
        """An episode begins: what prices it, at the posterior as it is now."""
        return CuriosityStream(self, first)

    def gains(self, episodes: Sequence[Observations]) -> list[np.ndarray]:
        """Equation (6) of every observation of each episode, in [nats]; changes nothing."""
        found: list[np.ndarray] = []
        longest = max((len(episode) for episode in episodes), default=1)
        together = max(1, CHUNK_NUMBERS // (longest * self.regression.size))
        for start in range(0, len(episodes), together):
            found += self._gains_of_chunk(episodes[start : start + together])
        return found

    def update(self, episodes: Sequence[Transitions]) -> None:
        """Take in every observation of each episode, the first and the last included."""
        groups = list(self._grouped([each.visited() for each in episodes]))
        # All are encoded, and so checked, before the first is taken in.
        encoded = self._fitted([Observations.concatenate(group) for group in groups])
        for group, features in zip(groups, encoded, strict=True):
            self._take_in(features, [len(episode) for episode in group])

    def observe(self, observations: Observations) -> None:
        """Take in one episode's observations."""
        for features in self._fitted([observations]):
            self._take_in(features, [len(observations)])

    def reset(self) -> None:
        """Back to the prior; the encoder stays."""
        self.regression.reset()

    def features(self, observations: Observations) -> Tensor:
        """What the regression sees of observations: (N, size) float32, the last feature 1."""
        with torch.inference_mode():
            return with_constant(self._expanded(observations))

    def state_dict(self) -> dict[str, Any]:
        """Encoder and posterior."""
        return {"encoder": self.encoder.state_dict(), "regression": self.regression.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self.encoder.load_state_dict(state["encoder"])
        self.regression.load_state_dict(state["regression"])

    def start(self) -> BayesianLinearRegression:
        """The posterior that an episode which begins now is priced with; later updates do not
        reach it. Costs nothing: an update replaces the posterior's tensors."""
        return copy.copy(self._prior if self.config.posterior == "episodic" else self.regression)

    def whitened(
        self, observations: Observations, regression: BayesianLinearRegression
    ) -> np.ndarray:
        """R⁻ᵀφ of each observation: (N, size) float64; valid until the next call."""
        if self._vectors_alone(observations):
            return self._vector_features.whitened(observations.vectors, regression)
        with torch.inference_mode():
            return regression.whitened(self._expanded(observations)).numpy()

    def scores_of(self, gain: np.ndarray) -> Scores:
        """What gains in [nats] say of observations."""
        beta = self.config.regression.noise_precision
        return Scores(np.exp(gain) / beta, gain - math.log(beta), self._reward(gain))

    def _latent(self, observations: Observations) -> Tensor:
        return self.encoder.latent(*self.encoder.tensors(observations))

    def _vectors_alone(self, observations: Observations) -> bool:
        return self.encoder.trunk is None and observations.images is None

    def _expanded(self, observations: Observations) -> Tensor:
        latent = self._latent(observations)
        return self.encoder.fourier(latent) if self._fourier else latent

    def _fitted(self, episodes: Sequence[Observations]) -> list[Tensor]:
        """Features of episodes; the first ones ever seen decide the features' length scale."""
        if self._fourier and self.regression.count == 0 and episodes:
            with torch.inference_mode():
                self.encoder.fit_length_scale(self._latent(Observations.concatenate(episodes)))
        return [self.features(episode) for episode in episodes]

    def _grouped(self, episodes: Sequence[Observations]) -> Iterator[list[Observations]]:
        """The same episodes in groups that are taken in at once.

        With many features a decomposition is dear: most of its rows should be new ones.
        """
        size = self.regression.size
        needed = 8 * size if size > FEW_FEATURES else 0
        waiting: list[Observations] = []
        for episode in episodes:
            waiting.append(episode)
            if sum(map(len, waiting)) >= needed:
                yield waiting
                waiting = []
        if waiting:
            yield waiting

    def _take_in(self, features: Tensor, lengths: Sequence[int]) -> None:
        """Take in episodes of these lengths; each is forgotten a little by every later one."""
        forgetting = self.config.forgetting
        if forgetting != 1.0 and len(lengths) > 1:
            later = np.repeat(np.arange(len(lengths))[::-1], lengths)
            features = features * torch.from_numpy(forgetting ** (later / 2))[:, None]
        self.regression.update(features, forgetting=forgetting ** len(lengths))

    def _gains_of_chunk(self, episodes: Sequence[Observations]) -> list[np.ndarray]:
        lengths = [len(episode) for episode in episodes]
        rows = self.whitened(Observations.concatenate(episodes), self.start())
        beta = self.config.regression.noise_precision
        gains = information_gains(_side_by_side(rows, lengths), beta)
        return [row[:length] for row, length in zip(gains, lengths, strict=True)]

    def _quadratic(self, observations: Observations) -> np.ndarray:
        """φᵀP⁻¹φ of each observation: (N,)."""
        if len(observations) <= CHUNK_ROWS:
            return self._quadratic_of_chunk(observations)
        starts = range(0, len(observations), CHUNK_ROWS)
        chunks = [self._quadratic_of_chunk(observations[i : i + CHUNK_ROWS]) for i in starts]
        return np.concatenate(chunks)

    def _quadratic_of_chunk(self, observations: Observations) -> np.ndarray:
        if self._vectors_alone(observations):
            return self._vector_features.quadratic(observations.vectors, self.regression)
        with torch.inference_mode():
            return self.regression.quadratic(self._expanded(observations)).numpy()

    def _gain(self, quadratic: np.ndarray) -> np.ndarray:
        return np.log1p(self.config.regression.noise_precision * quadratic)

    def _scores(self, quadratic: np.ndarray) -> Scores:
        beta = self.config.regression.noise_precision
        gain = self._gain(quadratic)
        return Scores(quadratic + 1.0 / beta, gain - math.log(beta), self._reward(gain))

    def _reward(self, gain: np.ndarray) -> np.ndarray:
        if self.config.form == "elliptical":
            return self.config.weight * np.expm1(gain)
        if self.config.form == "paper":
            gain = gain - math.log(self.config.regression.noise_precision)
        return self.config.weight * gain


def _side_by_side(rows: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """Rows of one episode after the other as (episodes, longest, …), with zeros behind."""
    longest = max(lengths)
    if min(lengths) == longest:
        return rows.reshape(len(lengths), longest, -1)
    padded = np.zeros((len(lengths), longest, rows.shape[1]))
    padded[np.arange(longest) < np.array(lengths)[:, None]] = rows
    return padded


class CuriosityStream:
    """Prices an episode under way, observation by observation.

    Args:
        curiosity: whose posterior the episode begins with.
        first: the episode's first observation, (1, …).
    """

    def __init__(self, curiosity: Curiosity, first: Observations) -> None:
        self._curiosity = curiosity
        self._start = curiosity.start()
        beta = curiosity.config.regression.noise_precision
        self._frozen = curiosity.config.posterior == "frozen"
        self._gain = EpisodeGain(self._start.size, beta)
        self.first = self.take(first)

    def take(self, observation: Observations) -> Scores:
        """What the next observation is worth; later ones are worth less for it."""
        if self._frozen:
            return self._curiosity.score(observation)
        return self._scores(self._gain.take(self._whitened(observation)))

    def preview(self, observation: Observations) -> Scores:
        """What an observation would be worth now; changes nothing."""
        if self._frozen:
            return self._curiosity.score(observation)
        return self._scores(self._gain.preview(self._whitened(observation)))

    def reward(self, step: Transitions) -> float:
        """The reward of the observation that a step reaches."""
        return float(self.take(step.next_observations).reward[0])

    def _scores(self, gain: float) -> Scores:
        return self._curiosity.scores_of(np.array([gain]))

    def _whitened(self, observation: Observations) -> np.ndarray:
        return self._curiosity.whitened(observation, self._start)[0]


class LatentCuriosity(Curiosity):
    """Curiosity of observations that end with the latent space: the encoder has run already."""

    def _latent(self, observations: Observations) -> Tensor:
        size = self.encoder.config.latent_size
        return torch.from_numpy(observations.vectors[:, -size:].astype(np.float32))

    def _vectors_alone(self, observations: Observations) -> bool:
        return False


@BONUSES.register("curiosity", label="curiosity", encoder=True, node=True)
def _make(options: Mapping[str, Any], inputs: BonusInputs) -> Bonus:
    kind = LatentCuriosity if inputs.latent_last else Curiosity
    return kind(inputs.encoder(), preset_config(options, "bonus curiosity"))
