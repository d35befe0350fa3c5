"""Random network distillation in the latent space of an encoder: our features, their bonus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from bayes_curiosity_ros.configuration.settings import build
from bayes_curiosity_ros.curiosity.bonus import BONUSES, BonusInputs, Stream, Unordered
from bayes_curiosity_ros.curiosity.data import Observations, Transitions
from bayes_curiosity_ros.curiosity.encoder import Encoder
from bayes_curiosity_ros.curiosity.rnd import Rnd, RndConfig


class LatentRnd:
    """RND that sees the latent space instead of the observation.

    Args:
        rnd: of as many numbers as the latent space has.
        encoder: frozen here.
        latent_last: whether observations end with its latent space already.
    """

    def __init__(self, rnd: Rnd, encoder: Encoder, latent_last: bool = False) -> None:
        self._rnd = rnd
        self._encoder = encoder.requires_grad_(False)
        self._latent_last = latent_last

    def evaluate(self, episodes: Sequence[Transitions]) -> np.ndarray:
        return self._rnd.evaluate([self._seen(episode) for episode in episodes])

    def begin(self, first: Observations) -> Stream:
        return Unordered(self)

    def update(self, episodes: Sequence[Transitions]) -> None:
        self._rnd.update([self._seen(episode) for episode in episodes])

    def state_dict(self) -> dict[str, Any]:
        return {"rnd": self._rnd.state_dict(), "encoder": self._encoder.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._rnd.load_state_dict(state["rnd"])
        self._encoder.load_state_dict(state["encoder"])

    def _seen(self, episode: Transitions) -> Transitions:
        before, after = self._latent(episode.observations), self._latent(episode.next_observations)
        return Transitions(before, episode.actions, after)

    def _latent(self, observations: Observations) -> Observations:
        if self._latent_last:
            return Observations(observations.vectors[:, -self._encoder.config.latent_size :])
        with torch.inference_mode():
            latent = self._encoder.latent(*self._encoder.tensors(observations))
        return Observations(latent.numpy().astype(np.float64))


@BONUSES.register("rnd_latent", label="RND in the latent space", encoder=True)
def _make(options: Mapping[str, Any], inputs: BonusInputs) -> LatentRnd:
    encoder = inputs.encoder()
    size = {"vector_size": encoder.config.latent_size}
    config = build(RndConfig, size | dict(options), "bonus rnd_latent")
    rnd = Rnd(config, torch.Generator().manual_seed(inputs.seed))
    return LatentRnd(rnd, encoder, inputs.latent_last)
