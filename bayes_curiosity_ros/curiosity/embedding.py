"""Algorithm 1: learn the encoder from demonstrations, through the regression's posterior."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import Encoder
from bayes_curiosity_ros.curiosity.regression import (
    RegressionConfig,
    posterior_precision,
    whiten,
)
from bayes_curiosity_ros.errors import ConfigError, InputError, LengthError, NotFiniteError
from bayes_curiosity_ros.files import load_state, save_state


@dataclass(frozen=True)
class EmbeddingConfig:
    """How the encoder is trained.

    Attributes:
        subset_size: |E|, demonstrations that form the posterior in each epoch; at most half of
            those that are not held out.
        batch_size: demonstrations per Adam step.
        learning_rate: of Adam.
        weight_decay: L2 penalty on the weights.
        max_epochs: an upper limit; convergence usually ends training earlier.
        patience: epochs without improvement of the held-out loss that count as convergence.
        min_improvement: what counts as improvement, in nats.
        holdout_fraction: share of the demonstrations never trained on.
        disjoint: draw minibatches from D \\ E instead of D, so that no target is predicted by a
            posterior that has seen it.
        regression: prior and noise.
    """

    subset_size: int = 512
    batch_size: int = 256
    learning_rate: float = 1e-3
    weight_decay: float = 1e-5
    max_epochs: int = 200
    patience: int = 10
    min_improvement: float = 1e-3
    holdout_fraction: float = 0.1
    disjoint: bool = False
    regression: RegressionConfig = field(default_factory=RegressionConfig)

    def __post_init__(self) -> None:
        for name in ("subset_size", "batch_size", "max_epochs", "patience"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} = {getattr(self, name)}; it must be at least 1")
        for name in ("learning_rate", "weight_decay", "min_improvement"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise ConfigError(f"{name} = {getattr(self, name)}; it must be finite and ≥ 0")
        if not 0.0 < self.holdout_fraction < 1.0:
            raise ConfigError(f"holdout_fraction = {self.holdout_fraction}; it must be in (0, 1)")


MIN_DEMONSTRATIONS = 20


def negative_log_likelihood(
    features: Tensor,
    targets: Tensor,
    posterior_features: Tensor,
    posterior_targets: Tensor,
    config: RegressionConfig,
) -> Tensor:
    """Mean Gaussian negative log-likelihood per target number, in [nats].

    The posterior is formed from (posterior_features, posterior_targets) at the prior; gradients
    flow through its mean and its covariance.
    """
    beta = config.noise_precision
    factor = torch.linalg.cholesky(posterior_precision(posterior_features, config))
    whitened = whiten(factor, features)
    moment = beta * whiten(factor, posterior_features) @ posterior_targets
    variance = 1.0 / beta + whitened.square().sum(dim=0)
    squared_error = (targets - whitened.T @ moment).square().mean(dim=1)
    return 0.5 * (math.log(2.0 * math.pi) + variance.log() + squared_error / variance).mean()


class EmbeddingTrainer:
    """Trains an encoder epoch by epoch; what an epoch draws depends on (seed, epoch) alone."""

    def __init__(
        self,
        encoder: Encoder,
        observations: Observations,
        targets: np.ndarray,
        config: EmbeddingConfig | None = None,
        seed: int = 0,
    ) -> None:
        """Split off the held-out part and fix the encoder's input scale.

        Args:
            encoder: trained in place.
            observations: N demonstrated observations.
            targets: (N, K), the expert's actions; standardised here, as β is in those units.
            config: how to train.
            seed: of the split, the subsets and the minibatches.
        """
        self.config = config or EmbeddingConfig()
        self.encoder = encoder
        self._seed = seed
        self._targets = _standardised(targets, len(observations))
        encoder.standardise_inputs(observations.vectors)
        self._vectors, self._images = encoder.tensors(observations)
        order = np.random.default_rng([seed, 0]).permutation(len(observations))
        held_out = max(1, round(self.config.holdout_fraction * len(order)))
        self._held_out, self._training = order[:held_out], order[held_out:]
        self._subset_size = min(self.config.subset_size, len(self._training) // 2)
        self._adam = torch.optim.Adam(
            encoder.parameters(),
            lr=self.config.learning_rate,
            weight_decay=self.config.weight_decay,
        )
        self.epoch = 0
        self.losses = [self.held_out_loss()]
        self._best_epoch = 0
        self._best_weights = copy.deepcopy(encoder.state_dict())

    @property
    def best_loss(self) -> float:
        """Lowest held-out loss so far, in [nats]."""
        return self.losses[self._best_epoch]

    @property
    def finished(self) -> bool:
        """Converged, or at the last epoch."""
        waited = self.epoch - self._best_epoch
        return waited >= self.config.patience or self.epoch >= self.config.max_epochs

    def run_epoch(self) -> float:
        """One pass over the demonstrations with a fresh subset E; the held-out loss after it."""
        self.epoch += 1
        rng = np.random.default_rng([self._seed, self.epoch])
        order = rng.permutation(self._training)
        subset, rest = order[: self._subset_size], order[self._subset_size :]
        pool = rng.permutation(rest if self.config.disjoint else order)
        for start in range(0, len(pool), self.config.batch_size):
            loss = self._loss(pool[start : start + self.config.batch_size], subset)
            self._adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._adam.step()
        self.losses.append(self.held_out_loss())
        if self.losses[-1] < self.best_loss - self.config.min_improvement:
            self._best_epoch = self.epoch
            self._best_weights = copy.deepcopy(self.encoder.state_dict())
        return self.losses[-1]

    def held_out_loss(self) -> float:
        """Loss on the held-out part, given a posterior from one fixed training subset."""
        with torch.inference_mode():
            return float(self._loss(self._held_out, self._training[: self._subset_size]))

    def keep_best(self) -> Encoder:
        """Put the best epoch's weights into the encoder, and freeze it."""
        self.encoder.load_state_dict(self._best_weights)
        return self.encoder.requires_grad_(False)

    def state_dict(self) -> dict[str, Any]:
        """All that another trainer on the same data and seed needs to go on exactly."""
        return {
            "encoder": self.encoder.state_dict(),
            "best_weights": self._best_weights,
            "adam": self._adam.state_dict(),
            "losses": list(self.losses),
            "epoch": self.epoch,
            "best_epoch": self._best_epoch,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self.encoder.load_state_dict(state["encoder"])
        self._best_weights = copy.deepcopy(state["best_weights"])
        self._adam.load_state_dict(state["adam"])
        self.losses = list(state["losses"])
        self.epoch, self._best_epoch = state["epoch"], state["best_epoch"]

    def _loss(self, batch: np.ndarray, subset: np.ndarray) -> Tensor:
        features = self._features(np.concatenate([batch, subset]))
        return negative_log_likelihood(
            features[: len(batch)],
            self._targets[batch],
            features[len(batch) :],
            self._targets[subset],
            self.config.regression,
        )

    def _features(self, index: np.ndarray) -> Tensor:
        images = None if self._images is None else self._images[index]
        return self.encoder(self._vectors[index], images).to(torch.float64)


def train_embedding(
    trainer: EmbeddingTrainer,
    progress: bool = True,
    checkpoint: Path | None = None,
    label: str = "embedding",
    line: int = 0,
) -> Encoder:
    """Run Algorithm 1 to its end and return the frozen encoder of the best epoch.

    Args:
        trainer: a fresh one; its data and seed decide the result.
        progress: show a bar on the terminal.
        checkpoint: where to save after every epoch. If the file exists, training goes on
            from it: give the same data, seed and configuration.
        label: of the bar.
        line: of the terminal that the bar is on, where several are shown.
    """
    if checkpoint is not None and checkpoint.exists():
        trainer.load_state_dict(load_state(checkpoint))
    with tqdm(
        total=trainer.config.max_epochs,
        initial=trainer.epoch,
        desc=label,
        position=line or None,
        unit="epoch",
        disable=None if progress else True,  # None: only where there is a terminal
        leave=False,
    ) as bar:
        while not trainer.finished:
            loss = trainer.run_epoch()
            bar.update()
            bar.set_postfix(held_out_nll=f"{loss:.3f}", best=f"{trainer.best_loss:.3f}")
            if checkpoint is not None:
                save_state(checkpoint, trainer.state_dict())
    return trainer.keep_best()


def _standardised(targets: np.ndarray, count: int) -> Tensor:
    if targets.ndim != 2 or len(targets) != count:
        raise LengthError(f"targets have shape {targets.shape}; expected ({count}, size)")
    if count < MIN_DEMONSTRATIONS:
        raise InputError(f"{count} demonstrations; at least {MIN_DEMONSTRATIONS} are needed")
    if not np.isfinite(targets).all():
        raise NotFiniteError("targets hold a value that is not finite")
    deviation = targets.std(axis=0)
    scaled = (targets - targets.mean(axis=0)) / np.where(deviation > 1e-9, deviation, 1.0)
    return torch.from_numpy(np.ascontiguousarray(scaled, dtype=np.float64))
