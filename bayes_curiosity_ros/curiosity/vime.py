"""VIME: the information that a transition gives about the dynamics.

Houthooft, Chen, Duan, Schulman, De Turck, Abbeel: "VIME: Variational information maximizing
exploration", NIPS 2016. A Bayesian network with weights θ ~ q = N(μ, σ²), σ = log(1 + e^ρ),
predicts where an action leads. The reward of a transition is how far one step on its
likelihood would move q, to second order (their equation 17):

    KL[q_new ‖ q] ≈ ½ λ² gᵀ H⁻¹ g,   g = ∇_(μ,ρ) E_q[-log p(o' | o, a, θ)],

where H, the Hessian of the KL at q itself, is diagonal: 1/σ² for μ and 2 (∂σ/∂ρ)²/σ² for ρ.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bayes_curiosity_ros.curiosity.data import Transitions
from bayes_curiosity_ros.curiosity.inputs import finite_rows
from bayes_curiosity_ros.curiosity.normalise import RunningMoments
from bayes_curiosity_ros.curiosity.pool import Pool
from bayes_curiosity_ros.curiosity.state import adam_state, check_fit, copy_of, load_adam_state
from bayes_curiosity_ros.errors import ConfigError, InputError

CLIP_DEVIATIONS = 5.0
DEVIATION_FLOOR = 1e-6
MEDIAN_FLOOR = 1e-12
CHUNK_ROWS = 1024  # a chunk's activations stay in cache
COUNTS: tuple[str, ...] = ("vector_size", "action_size", "width", "layers", "samples")
COUNTS += ("batch_size", "updates", "pool_size", "median_episodes")
SCALES = ("prior_deviation", "initial_deviation", "likelihood_deviation", "learning_rate")


@dataclass(frozen=True)
class VimeConfig:
    """Network, training and reward of VIME.

    Attributes:
        vector_size: numbers per observation vector.
        action_size: numbers per action.
        width: units of a hidden layer.
        layers: hidden layers.
        prior_deviation: of the weights, before any data.
        initial_deviation: of the weights, where training starts.
        likelihood_deviation: of the prediction, in units of the target's own deviation.
        samples: draws of the weights that an information gain is averaged over.
        learning_rate: Adam's step size.
        batch_size: transitions per step of Adam.
        updates: steps of Adam per `update`.
        pool_size: transitions remembered; the oldest make room for the newest.
        median_episodes: the gain is divided by the mean of so many recent episodes' medians.
        weight: factor of the bonus in the reward; a median transition earns just this much.
        device: where the network lives, for instance "cpu".
    """

    vector_size: int
    action_size: int
    width: int = 32
    layers: int = 1
    prior_deviation: float = 0.5
    initial_deviation: float = 0.05
    likelihood_deviation: float = 0.5
    samples: int = 4
    learning_rate: float = 1e-3
    batch_size: int = 128
    updates: int = 100
    pool_size: int = 100_000
    median_episodes: int = 10
    weight: float = 0.1
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name in COUNTS:
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} = {getattr(self, name)}; it must be at least 1")
        for name in SCALES:
            if not 0.0 < getattr(self, name) < math.inf:
                raise ConfigError(f"{name} = {getattr(self, name)}; it must be above 0")
        if not math.isfinite(self.weight):
            raise ConfigError(f"weight = {self.weight}; it must be finite")


class BayesianLayer(nn.Module):
    """A linear layer with independent Gaussian weights; the last row is the bias."""

    def __init__(
        self, fan_in: int, fan_out: int, deviation: float, generator: torch.Generator
    ) -> None:
        super().__init__()
        mean = torch.randn(fan_in + 1, fan_out, generator=generator) / math.sqrt(fan_in)
        mean[-1] = 0.0
        self.mean = nn.Parameter(mean)
        self.rho = nn.Parameter(torch.full_like(mean, math.log(math.expm1(deviation))))

    @property
    def deviation(self) -> Tensor:
        """σ = log(1 + e^ρ)."""
        return nn.functional.softplus(self.rho)

    def divergence(self, prior_deviation: float) -> Tensor:
        """KL of the weights' distribution from the prior N(0, prior_deviation²), in nats."""
        ratio = self.deviation / prior_deviation
        shift = self.mean / prior_deviation
        return 0.5 * (ratio.square() + shift.square() - 1.0 - 2.0 * ratio.log()).sum()

    def noisy(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        """Outputs with fresh weights for every row (local reparameterisation)."""
        inputs = with_one(inputs)
        mean = inputs @ self.mean
        variance = inputs.square() @ self.deviation.square()
        noise = torch.randn(mean.shape, generator=generator).to(mean.device)
        return mean + variance.sqrt() * noise


class DynamicsNetwork(nn.Module):
    """(o, a) → o' - o, all standardised, with uncertain weights and tanh units."""

    def __init__(self, config: VimeConfig, generator: torch.Generator) -> None:
        super().__init__()
        inputs = config.vector_size + config.action_size
        widths = [inputs] + [config.width] * config.layers + [config.vector_size]
        self.layers = nn.ModuleList(
            BayesianLayer(fan_in, fan_out, config.initial_deviation, generator)
            for fan_in, fan_out in pairwise(widths)
        )
        self.precision = config.likelihood_deviation**-2

    def stack(self) -> list[BayesianLayer]:
        """The layers, first to last."""
        return [layer for layer in self.layers if isinstance(layer, BayesianLayer)]

    def negative_likelihood(
        self, inputs: Tensor, targets: Tensor, generator: torch.Generator
    ) -> Tensor:
        """Mean over rows of -log p(target | input), up to a constant, with fresh weights."""
        *hidden, last = self.stack()
        for layer in hidden:
            inputs = torch.tanh(layer.noisy(inputs, generator))
        error = last.noisy(inputs, generator) - targets
        return 0.5 * self.precision * error.square().sum(dim=1).mean()

    def divergence(self, prior_deviation: float) -> Tensor:
        """KL of all weights from their prior, in nats."""
        return torch.stack([layer.divergence(prior_deviation) for layer in self.stack()]).sum()

    def draw_noise(self, samples: int, generator: torch.Generator) -> list[Tensor]:
        """Standard normal noise for `samples` draws of all weights, layer by layer."""
        return [
            torch.randn(samples, *layer.mean.shape, generator=generator).to(layer.mean.device)
            for layer in self.stack()
        ]

    @torch.no_grad()
    def information_gain(self, inputs: Tensor, targets: Tensor, noise: list[Tensor]) -> Tensor:
        """½ gᵀH⁻¹g of each row (λ = 1): (N,).

        A layer's gradient for row n and draw s is the outer product of its input x and the
        loss's slope δ at its output; for ρ, times the noise ε and ∂σ/∂ρ, which H⁻¹ cancels. The
        square of the mean over draws is a sum over pairs of draws (s, t), and each pair's

            Σ_ij σ²_ij (1 + ½ ε_s,ij ε_t,ij) x_s,i x_t,i δ_s,j δ_t,j

        is a product of matrices: no gradient of a single row is ever stored.
        """
        gain = torch.zeros(len(inputs), device=inputs.device)
        samples = len(noise[0])
        slopes = self._slopes(inputs, targets, noise)
        for layer, draws, (x, delta) in zip(self.stack(), noise, slopes, strict=True):
            variance = layer.deviation.square()
            for s in range(samples):
                for t in range(s, samples):
                    scale = variance * (1.0 + 0.5 * draws[s] * draws[t])
                    pair = ((x[s] * x[t]) @ scale).mul_(delta[s] * delta[t]).sum(dim=1)
                    gain.add_(pair, alpha=(0.5 if s == t else 1.0) / samples**2)
        return gain

    def _slopes(
        self, inputs: Tensor, targets: Tensor, noise: list[Tensor]
    ) -> list[tuple[Tensor, Tensor]]:
        """Of each layer, its input x (S, N, in + 1) and the loss's slope δ (S, N, out)."""
        weights = [
            layer.mean + layer.deviation * draws
            for layer, draws in zip(self.stack(), noise, strict=True)
        ]
        xs = [with_one(inputs.expand(len(noise[0]), -1, -1))]
        for weight in weights[:-1]:
            xs.append(with_one(torch.tanh(xs[-1] @ weight)))
        deltas = [self.precision * (xs[-1] @ weights[-1] - targets)]
        for x, weight in zip(reversed(xs[1:]), reversed(weights[1:]), strict=True):
            back = deltas[-1] @ weight[:, :-1].transpose(1, 2)
            deltas.append(back * (1.0 - x[..., :-1].square()))
        return list(zip(xs, reversed(deltas), strict=True))


class Vime:
    """The bonus: a transition's information gain, in units of the recent median.

    Zero until the first `update`: before any data there is no median to compare with. Weights
    are drawn anew by every `update` and then kept, so that `evaluate` is a function.
    """

    def __init__(self, config: VimeConfig, generator: torch.Generator | None = None) -> None:
        """Draw the network.

        Args:
            config: network, training and reward.
            generator: source of weights, noise and minibatches; seed 0 where none is given.
        """
        self.config = config
        self._generator = generator or torch.Generator().manual_seed(0)
        self.network = DynamicsNetwork(config, self._generator).to(config.device)
        self._noise = self.network.draw_noise(config.samples, self._generator)
        self._optimiser = torch.optim.Adam(
            self.network.parameters(), lr=config.learning_rate, fused=True
        )
        self._pool = Pool(config.pool_size, 2 * config.vector_size + config.action_size)
        self._input_moments = RunningMoments((config.vector_size + config.action_size,))
        self._target_moments = RunningMoments((config.vector_size,))
        self._medians: deque[float] = deque(maxlen=config.median_episodes)

    def evaluate(self, transitions: Transitions) -> np.ndarray:
        """The reward of each transition: (N,) float64."""
        rows = self._rows(transitions)
        if not self._medians:
            return np.zeros(len(rows))
        median = max(float(np.mean(self._medians)), MEDIAN_FLOOR)
        return self.config.weight * self._gains(rows) / median

    def update(self, episodes: Sequence[Transitions]) -> None:
        """Take episodes into the pool, train on it, then measure the episodes' median gains."""
        batches = [self._rows(episode) for episode in episodes if len(episode)]
        if not batches:
            return
        together = np.concatenate(batches)
        inputs, targets = self._split(together)
        self._input_moments.update(inputs)
        self._target_moments.update(targets)
        self._pool.add(together)
        self._train()
        self._noise = self.network.draw_noise(self.config.samples, self._generator)
        for rows in batches[-self.config.median_episodes :]:
            self._medians.append(float(np.median(self._gains(rows))))

    def state_dict(self) -> dict[str, Any]:
        """Network, noise, Adam, pool, running moments, medians and the generator."""
        return {
            "network": copy_of(self.network),
            "noise": {str(index): draws.clone() for index, draws in enumerate(self._noise)},
            "optimiser": adam_state(self._optimiser),
            "pool": self._pool.state_dict(),
            "input_moments": self._input_moments.state_dict(),
            "target_moments": self._target_moments.state_dict(),
            "medians": np.array(self._medians),
            "generator": self._generator.get_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave; training then goes on exactly as it would have."""
        check_fit(self.network, state["network"])
        noise = [state["noise"][str(index)].clone() for index in range(len(self._noise))]
        self._input_moments.load_state_dict(state["input_moments"])
        self._target_moments.load_state_dict(state["target_moments"])
        self._pool.load_state_dict(state["pool"])
        self._noise = noise
        self.network.load_state_dict(state["network"])
        load_adam_state(self._optimiser, state["optimiser"])
        self._medians.clear()
        self._medians.extend(np.asarray(state["medians"]).tolist())
        self._generator.set_state(state["generator"])

    def _train(self) -> None:
        """Adam on the negative evidence bound per transition, over minibatches of the pool."""
        for _ in range(self.config.updates):
            picks = torch.randint(
                len(self._pool), (self.config.batch_size,), generator=self._generator
            )
            inputs, targets = self._standardised(self._pool.rows[picks.numpy()])
            misfit = self.network.negative_likelihood(inputs, targets, self._generator)
            divergence = self.network.divergence(self.config.prior_deviation)
            self._optimiser.zero_grad()
            bound = misfit + divergence / len(self._pool)
            bound.backward()  # type: ignore[no-untyped-call]
            self._optimiser.step()

    def _gains(self, rows: np.ndarray) -> np.ndarray:
        gains = np.empty(len(rows))
        for start in range(0, len(rows), CHUNK_ROWS):
            chunk = slice(start, start + CHUNK_ROWS)
            inputs, targets = self._standardised(rows[chunk])
            gain = self.network.information_gain(inputs, targets, self._noise)
            gains[chunk] = gain.cpu().numpy()
        return gains

    def _standardised(self, rows: np.ndarray) -> tuple[Tensor, Tensor]:
        inputs, targets = self._split(rows)
        return (
            _whiten(inputs, self._input_moments).to(self.config.device),
            _whiten(targets, self._target_moments).to(self.config.device),
        )

    def _split(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows (o, a, o' - o) as inputs (o, a) and targets o' - o."""
        inputs = self.config.vector_size + self.config.action_size
        return rows[:, :inputs], rows[:, inputs:]

    def _rows(self, transitions: Transitions) -> np.ndarray:
        """Checked transitions as rows (o, a, o' - o)."""
        parts = (transitions.observations, transitions.next_observations)
        if any(part.images is not None for part in parts):
            raise InputError(
                "VIME takes vectors alone, and images were given; use RND or curiosity, "
                "or leave the images out"
            )
        size = self.config.vector_size
        before = finite_rows("observations", parts[0].vectors, size)
        actions = finite_rows("actions", transitions.actions, self.config.action_size)
        after = finite_rows("next_observations", parts[1].vectors, size)
        return np.concatenate([before, actions, after - before], axis=1)


def with_one(inputs: Tensor) -> Tensor:
    """A last column of ones, for the bias."""
    return nn.functional.pad(inputs, (0, 1), value=1.0)


def _whiten(values: np.ndarray, moments: RunningMoments) -> Tensor:
    whitened = (values - moments.mean) / moments.deviation(DEVIATION_FLOOR)
    return torch.from_numpy(whitened.clip(-CLIP_DEVIATIONS, CLIP_DEVIATIONS).astype(np.float32))
