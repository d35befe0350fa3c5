"""Curiosity that learns its own embedding while it explores, without demonstrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from bayes_curiosity_ros.configuration.settings import build
from bayes_curiosity_ros.curiosity.bonus import BONUSES, BonusInputs
from bayes_curiosity_ros.curiosity.curiosity import Curiosity, CuriosityConfig, preset_config
from bayes_curiosity_ros.curiosity.data import Observations, Transitions
from bayes_curiosity_ros.curiosity.embedding import EmbeddingConfig, EmbeddingTrainer
from bayes_curiosity_ros.curiosity.encoder import Encoder
from bayes_curiosity_ros.curiosity.reservoir import Reservoir
from bayes_curiosity_ros.errors import ConfigError, unknown_name

TARGETS = ("action", "next_vector")


@dataclass(frozen=True)
class ContinualConfig:
    """When and from what the embedding is learnt anew.

    Attributes:
        capacity: transitions kept, a uniform sample of all that were seen.
        every_episodes: episodes between two retrainings.
        epochs: at most so many epochs of Algorithm 1 each time.
        target: what Algorithm 1 regresses on: the agent's own "action", or the change to the
            "next_vector", which also says something where actions are noise.
        embedding: how to train.
    """

    capacity: int = 4096
    every_episodes: int = 50
    epochs: int = 20
    target: str = "next_vector"
    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)

    def __post_init__(self) -> None:
        for name in ("capacity", "every_episodes", "epochs"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} = {getattr(self, name)}; it must be at least 1")
        if self.target not in TARGETS:
            raise unknown_name("target", self.target, TARGETS)


class ContinualCuriosity(Curiosity):
    """Curiosity whose encoder follows what is explored.

    A new encoder invalidates the old posterior, so that the posterior is rebuilt from the
    reservoir, weighted to stand for as many observations as were really seen.
    """

    def __init__(
        self,
        encoder: Encoder,
        config: CuriosityConfig | None = None,
        continual: ContinualConfig | None = None,
        seed: int = 0,
    ) -> None:
        """Start with `encoder` as it is, random usually."""
        super().__init__(encoder, config)
        if self.config.forgetting != 1.0:
            raise ConfigError(
                f"forgetting = {self.config.forgetting}; a rebuilt posterior weighs all episodes "
                "alike, so continual embedding needs forgetting = 1"
            )
        self.continual = continual or ContinualConfig()
        self._seed = seed
        self._reservoir = Reservoir(self.continual.capacity, seed)
        self.episodes = 0

    def update(self, episodes: Sequence[Transitions]) -> None:
        """Take in episodes, and every so often learn the embedding anew."""
        for episode in episodes:
            self.encoder.tensors(episode.visited())  # a bad one keeps all of them out
        for episode in episodes:
            super().update([episode])
            self._reservoir.add(episode)
            self.episodes += 1
            if self.episodes % self.continual.every_episodes == 0:
                self._retrain()

    def reset(self) -> None:
        """Back to the prior with an empty reservoir; the encoder stays."""
        super().reset()
        self._reservoir = Reservoir(self.continual.capacity, self._seed)
        self.episodes = 0

    def state_dict(self) -> dict[str, Any]:
        """Encoder, posterior, reservoir and counters."""
        return {
            **super().state_dict(),
            "reservoir": self._reservoir.state_dict(),
            "episodes": self.episodes,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        super().load_state_dict(state)
        self._reservoir.load_state_dict(state["reservoir"])
        self.episodes = int(state["episodes"])

    def _retrain(self) -> None:
        sample = self._reservoir.transitions()
        observations = sample.observations
        self.encoder.requires_grad_(True)
        trainer = EmbeddingTrainer(
            self.encoder,
            observations,
            self._targets(sample),
            self.continual.embedding,
            seed=self._seed + self.episodes,
        )
        while not trainer.finished and trainer.epoch < self.continual.epochs:
            trainer.run_epoch()
        trainer.keep_best()
        if self._fourier:
            with torch.inference_mode():
                self.encoder.refit_length_scale(self._latent(observations))
        self._rebuild(observations)

    def _rebuild(self, observations: Observations) -> None:
        self.regression.replace(self.features(observations), self.regression.count)

    def _targets(self, sample: Transitions) -> np.ndarray:
        if self.continual.target == "action":
            return sample.actions
        return sample.next_observations.vectors - sample.observations.vectors


@BONUSES.register("continual_curiosity", label="continual curiosity", encoder=True)
def _make(options: Mapping[str, Any], inputs: BonusInputs) -> ContinualCuriosity:
    own = dict(options)
    continual = build(ContinualConfig, own.pop("continual", {}), "bonus continual_curiosity")
    config = preset_config(own, "bonus continual_curiosity")
    return ContinualCuriosity(inputs.encoder(), config, continual, inputs.seed)
