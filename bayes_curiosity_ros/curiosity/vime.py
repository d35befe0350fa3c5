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
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bayes_curiosity_ros.configuration.settings import build
from bayes_curiosity_ros.curiosity.bonus import BONUSES, BonusInputs, Stream, Unordered
from bayes_curiosity_ros.curiosity.data import Observations, Transitions
from bayes_curiosity_ros.curiosity.dynamics import DynamicsNetwork, with_one
from bayes_curiosity_ros.curiosity.evidence_bound import BoundGradient
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
        shift: added to the gain, in medians, before the weight.
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
    shift: float = 0.0
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name in COUNTS:
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} = {getattr(self, name)}; it must be at least 1")
        for name in SCALES:
            if not 0.0 < getattr(self, name) < math.inf:
                raise ConfigError(f"{name} = {getattr(self, name)}; it must be above 0")
        for name in ("weight", "shift"):
            if not math.isfinite(getattr(self, name)):
                raise ConfigError(f"{name} = {getattr(self, name)}; it must be finite")


class Vime:
    """The bonus: a transition's information gain, in units of the recent median.

    No gain until the first `update`: before any data there is no median to compare with. Weights
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
        self.network = build_network(config, self._generator)
        self._noise = self.network.draw_noise(config.samples, self._generator)
        self._optimiser = torch.optim.Adam(
            self.network.parameters(), lr=config.learning_rate, fused=True
        )
        self._pool = Pool(config.pool_size, 2 * config.vector_size + config.action_size)
        self._input_moments = RunningMoments((config.vector_size + config.action_size,))
        self._target_moments = RunningMoments((config.vector_size,))
        self._medians: deque[float] = deque(maxlen=config.median_episodes)

    def evaluate(self, episodes: Sequence[Transitions]) -> np.ndarray:
        """The reward of each transition: (N,) float64."""
        rows = np.concatenate([self._rows(episode) for episode in episodes])
        if not self._medians:
            return np.full(len(rows), self.config.weight * self.config.shift)
        median = max(float(np.mean(self._medians)), MEDIAN_FLOOR)
        return self.config.weight * (self._gains(rows) / median + self.config.shift)

    def begin(self, first: Observations) -> Stream:
        """Prices an episode under way."""
        return Unordered(self)

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
        recent = batches[-self.config.median_episodes :]
        ends = np.cumsum([len(rows) for rows in recent])
        gains = np.split(self._gains(np.concatenate(recent)), ends[:-1])
        self._medians.extend(float(np.median(part)) for part in gains)

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
        config = self.config
        picks, noise = self._draw_minibatches()
        inputs, targets = self._standardised(self._pool.rows[picks.numpy()])
        gradient = BoundGradient(
            self.network, config.batch_size, config.prior_deviation, len(self._pool)
        )
        self.network.mean.grad, self.network.rho.grad = gradient.by_mean, gradient.by_rho
        minibatches = zip(
            torch.split(with_one(inputs), config.batch_size),
            torch.split(targets, config.batch_size),
            noise,
            strict=True,
        )
        for minibatch in minibatches:
            gradient.compute(*minibatch)
            self._optimiser.step()

    def _draw_minibatches(self) -> tuple[Tensor, list[list[Tensor]]]:
        """Of all updates, the rows of the pool (updates · batch,) and each layer's noise."""
        picks, noise = [], []
        batch = self.config.batch_size
        for _ in range(self.config.updates):
            picks.append(torch.randint(len(self._pool), (batch,), generator=self._generator))
            noise.append(
                [
                    torch.randn(batch, width, generator=self._generator).to(self.config.device)
                    for _, width in self.network.shapes
                ]
            )
        return torch.cat(picks), noise

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


def build_network(config: VimeConfig, generator: torch.Generator) -> DynamicsNetwork:
    """The dynamics with fresh weights."""
    inputs = config.vector_size + config.action_size
    widths = [inputs] + [config.width] * config.layers + [config.vector_size]
    network = DynamicsNetwork(
        widths, config.initial_deviation, config.likelihood_deviation, generator
    )
    return network.to(config.device)


def _whiten(values: np.ndarray, moments: RunningMoments) -> Tensor:
    whitened = (values - moments.mean) / moments.deviation(DEVIATION_FLOOR)
    return torch.from_numpy(whitened.clip(-CLIP_DEVIATIONS, CLIP_DEVIATIONS).astype(np.float32))


@BONUSES.register("vime", label="VIME")
def _make(options: Mapping[str, Any], inputs: BonusInputs) -> Vime:
    sizes = {"vector_size": inputs.vector_size, "action_size": inputs.action_size}
    config = build(VimeConfig, {**sizes, **options}, "bonus vime")
    return Vime(config, torch.Generator().manual_seed(inputs.seed))
