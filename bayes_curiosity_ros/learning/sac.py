"""Soft actor-critic (Haarnoja et al. 2018) for few steps of a real arm.

What it takes from its successors: many updates per step, with an ensemble of small critics of
which two at random make a target (Chen et al. 2021); normalised layers, and demonstrations in half
of every minibatch (Ball et al. 2023); optionally targets within the range of possible returns, a
light pull of the policy to demonstrated actions, and a value of its own for the bonus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bayes_curiosity_ros.curiosity.bonus import Bonus
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.algorithm import LEARNERS, MeanAction, SampledAction
from bayes_curiosity_ros.learning.buffer import Buffer
from bayes_curiosity_ros.learning.ensemble import Ensemble
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.gathered import GatheredBonus
from bayes_curiosity_ros.learning.off_policy import (
    Minibatch,
    OffPolicy,
    OffPolicyConfig,
    move_towards,
    require_above_zero,
)
from bayes_curiosity_ros.learning.optimizer import Adam
from bayes_curiosity_ros.learning.policy import PolicyConfig
from bayes_curiosity_ros.learning.pricing import Relabelling
from bayes_curiosity_ros.learning.rollout import Behaviour, UniformAction
from bayes_curiosity_ros.learning.squashed import SquashedPolicy, SquashedSample
from bayes_curiosity_ros.tasks.task import Task


@dataclass(frozen=True)
class SacConfig(OffPolicyConfig):
    """Settings of SAC, besides those of `OffPolicyConfig`.

    Attributes:
        warmup_steps: as of `OffPolicyConfig`; where there are demonstrations, none.
        critics: members of the ensemble; two is ordinary SAC.
        layer_norm: whether the critics' hidden layers are normalised.
        critic_rate: Adam's learning rate of the critics.
        policy_rate: Adam's learning rate of the policy.
        temperature_rate: Adam's learning rate of the temperature's logarithm.
        temperature: α at first, the weight of the entropy; it is learnt.
        entropy_per_action: entropy in [nat] per number of an action that the temperature is
            learnt for; 0.69 is that of the uniform distribution.
        soft_targets: whether targets pay for the entropy of later actions too, as in the paper.
        policy_delay: critic updates per update of policy and temperature.
        clipped: whether targets are kept within value_low and value_high,
        value_low: the smallest return possible,
        value_high: and the largest one, both scaled as rewards are. With one critic for all
            rewards the bonus counts; with separate ones this is for the extrinsic value alone.
        cloning: weight of the squared distance between the policy's mean and demonstrated
            actions in the policy's loss.
        shown_share: share of demonstrations in a minibatch, where there are any.
        shown_capacity: demonstrated transitions kept.
        keep_successes: whether episodes of its own that succeeded are kept among these, too: a
            rare success is then learnt from in every update.
        relabel: which remembered transitions the bonus prices again: never, bounded, always;
            see `pricing.Relabelling`.
        relabel_per_step: older transitions priced per new one, if bounded.
        separate_critics: whether extrinsic and intrinsic value have an ensemble each. The
            intrinsic one is of bonuses in units of their standard deviation over all that is
            remembered: a small bonus is learnt as well as a large one, and counts as what it is.
    """

    discount: float = 0.98
    minibatch: int = 256
    updates_per_step: float = 2.0
    polyak: float = 0.005
    buffer_capacity: int = 300_000
    reward_scale: float = 1.0
    hidden: tuple[int, ...] = (128, 128)
    critics: int = 6
    layer_norm: bool = True
    critic_rate: float = 3e-4
    policy_rate: float = 3e-4
    temperature_rate: float = 3e-4
    temperature: float = 0.02
    entropy_per_action: float = -0.5
    soft_targets: bool = False
    policy_delay: int = 2
    clipped: bool = False
    value_low: float = 0.0
    value_high: float = 1.0
    cloning: float = 0.1
    shown_share: float = 0.5
    shown_capacity: int = 50_000
    keep_successes: bool = False
    relabel: str = "bounded"
    relabel_per_step: float = 10.0
    separate_critics: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_above_zero(self, "critic_rate", "policy_rate", "temperature_rate", "temperature")
        require_above_zero(self, "policy_delay", "shown_capacity")
        if self.critics < 2:
            raise ConfigError(f"critics = {self.critics}; a target takes two")
        if not self.value_low < self.value_high:
            raise ConfigError(f"value_low = {self.value_low} must be < {self.value_high}")
        if not 0 < self.shown_share < 1 or not self.cloning >= 0:
            raise ConfigError(
                f"shown_share = {self.shown_share} belongs in (0, 1), cloning = {self.cloning} "
                "must be ≥ 0"
            )
        Relabelling(self.relabel, self.relabel_per_step)  # which checks both

    @property
    def streams(self) -> int:
        """Values that are learnt apart."""
        return 2 if self.separate_critics else 1


class Sac(OffPolicy):
    """Maximise return plus α × entropy, off policy.

    Members of the ensemble are critics of the extrinsic value first, then, where they are
    separate, as many of the intrinsic one.

    Attributes:
        shown: demonstrations and corrections, apart from what the policy did itself.
    """

    def __init__(
        self,
        center: np.ndarray,
        scale: np.ndarray,
        action_size: int,
        config: SacConfig,
        rng: np.random.Generator,
    ) -> None:
        self.config = config
        self.policy = SquashedPolicy(center, scale, action_size, config.hidden, rng)
        pricing = Relabelling(config.relabel, config.relabel_per_step)
        super().__init__(self.policy, action_size, config, pricing, rng)
        sizes, count = (len(center) + action_size, *config.hidden), config.critics * config.streams
        self.critics = Ensemble(count, sizes, rng, config.layer_norm)
        self.target_critics = Ensemble(count, sizes, rng, config.layer_norm)
        self.target_critics.parameters.copy_(self.critics.parameters)
        self.log_temperature = torch.tensor(config.temperature).log()
        self.critics_adam = Adam(self.critics.parameters, config.critic_rate, fused=True)
        self.policy_adam = Adam(self.policy.network.parameters, config.policy_rate, fused=True)
        self.temperature_adam = Adam(self.log_temperature, config.temperature_rate)
        self.updates = torch.zeros((), dtype=torch.int64)
        self.bonus_unit = torch.ones(())
        self.shown = Buffer("shown", config.shown_capacity, len(center), action_size)
        self._shown_pricing = Relabelling(config.relabel, config.relabel_per_step)

    def remember(self, episodes: Episodes) -> None:
        """Keep demonstrations or corrections, to be learnt from at every later update."""
        self.shown.add(episodes)

    def take(self, episodes: Episodes, bonus: Bonus) -> float:
        if self.config.keep_successes and episodes.succeeded.any():
            self.remember(episodes.only(episodes.succeeded))
        return super().take(episodes, bonus)

    def explore(self) -> Behaviour:
        if self.warming_up(self.buffer.added):
            return UniformAction(self.policy.action_size)
        return SampledAction(self.policy)

    def exploit(self) -> Behaviour:
        return MeanAction(self.policy)

    def warming_up(self, steps: int) -> bool:
        return not len(self.shown) and super().warming_up(steps)

    def price(self, bonus: Bonus) -> float:
        if not isinstance(bonus, GatheredBonus):  # which knows what was just gathered alone
            self._shown_pricing.price(self.shown, bonus)
        found = super().price(bonus)
        if self.config.separate_critics:
            remembered = [buffer.intrinsic[: len(buffer)] for buffer in (self.buffer, self.shown)]
            self.bonus_unit.fill_(float(np.concatenate(remembered).std()) or 1.0)
        return found

    def draw(self, updates: int) -> Sequence[tuple[Buffer, np.ndarray]]:
        if not len(self.shown):
            return super().draw(updates)
        size = self.config.minibatch
        shown = min(max(1, round(size * self.config.shown_share)), size - 1)
        return [
            (buffer, self.rng.integers(len(buffer), size=(updates, count)))
            for buffer, count in ((self.buffer, size - shown), (self.shown, shown))
        ]

    def learn(self, minibatch: Minibatch) -> Tensor:
        error = self._improve_critics(minibatch)
        self.updates += 1
        if self.updates % self.config.policy_delay == 0:
            sample = self._improve_policy(minibatch)
            self._improve_temperature(sample.log_probability)
        parameters = self.critics.parameters
        move_towards(self.target_critics.parameters, parameters, self.config.polyak)
        return error

    def _improve_critics(self, minibatch: Minibatch) -> Tensor:
        """One temporal-difference step; the errors (members, B) before it."""
        targets = self._targets(minibatch).repeat_interleave(self.config.critics, 0)
        linearized = self.critics.linearize(minibatch.pairs)
        error = linearized.output - targets
        self.critics_adam.descend(linearized.vjp(error / error.shape[1]))
        return error

    def _targets(self, minibatch: Minibatch) -> Tensor:
        """r + γ min of two critics at the policy's next actions: (streams, B)."""
        config = self.config
        sample = self.policy.draw(minibatch.next_inputs, self._noise(minibatch.next_inputs))
        pairs = torch.cat([minibatch.next_inputs, sample.actions], 1)
        following = smaller_of_two(self.target_critics, pairs, config.streams, self.rng)
        if config.soft_targets:
            following[0] -= self.log_temperature.exp() * sample.log_probability
        rewards = self._rewards(minibatch)
        targets = config.reward_scale * rewards + minibatch.continuation * following
        if config.clipped:
            targets[0].clamp_(config.value_low, config.value_high)
        return targets

    def _rewards(self, minibatch: Minibatch) -> Tensor:
        """(streams, B), or (B,) where there is one."""
        extrinsic, intrinsic = minibatch.rewards.T
        if self.config.separate_critics:
            return torch.stack([extrinsic, intrinsic / self.bonus_unit])
        return extrinsic + intrinsic

    def _improve_policy(self, minibatch: Minibatch) -> SquashedSample:
        """Up the mean of the critics and of α × entropy, and towards what was demonstrated."""
        inputs, size = minibatch.inputs, len(minibatch.inputs)
        linearized = self.policy.linearize(inputs)
        sample = linearized.draw(self._noise(inputs))
        value = self.critics.linearize(torch.cat([inputs, sample.actions], 1))
        weights = torch.full_like(value.output, -1 / (self.config.critics * size))
        weights[self.config.critics :] *= self.bonus_unit
        slope = value.input_gradient(weights, inputs.shape[1])
        entropy_weight = float(self.log_temperature.exp()) / size
        mean, log_std = sample.pull_back(slope, entropy_weight)
        if minibatch.shown and self.config.cloning:
            shown = slice(size - minibatch.shown, None)
            pull = cloning_gradient(sample.mean[shown], minibatch.actions[shown])
            mean[shown] += self.config.cloning * pull
        self.policy_adam.descend(linearized.vjp(mean, log_std))
        return sample

    def _improve_temperature(self, log_probability: Tensor) -> None:
        wanted = self.config.entropy_per_action * self.policy.action_size
        self.temperature_adam.descend(temperature_gradient(log_probability, wanted))

    def _noise(self, inputs: Tensor) -> Tensor:
        size = (len(inputs), self.policy.action_size)
        return torch.from_numpy(self.rng.standard_normal(size, dtype=np.float32))

    def parts(self) -> dict[str, Tensor | Adam]:
        return {
            "policy": self.policy.network.parameters,
            "critics": self.critics.parameters,
            "target_critics": self.target_critics.parameters,
            "log_temperature": self.log_temperature,
            "policy_adam": self.policy_adam,
            "critics_adam": self.critics_adam,
            "temperature_adam": self.temperature_adam,
            "updates": self.updates,
            "bonus_unit": self.bonus_unit,
        }

    def state_dict(self) -> dict[str, Any]:
        shown = {"buffer": self.shown.state_dict(), "pricing": self._shown_pricing.state_dict()}
        return super().state_dict() | {"shown": shown}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.shown.load_state_dict(state["shown"]["buffer"])
        self._shown_pricing.load_state_dict(state["shown"]["pricing"])


def smaller_of_two(
    critics: Ensemble, pairs: Tensor, streams: int, rng: np.random.Generator
) -> Tensor:
    """The minimum of two members drawn at random, the same two of every stream: (streams, N)."""
    count = critics.count // streams
    drawn = rng.permutation(count)[:2]
    members = [stream * count + int(member) for stream in range(streams) for member in drawn]
    return critics(pairs, members).view(streams, 2, -1).amin(1)


def cloning_gradient(mean: Tensor, actions: Tensor) -> Tensor:
    """∂/∂μ of the mean over rows of |tanh μ - a|²: (N, A)."""
    squashed = mean.tanh()
    return 2 * (squashed - actions) * (1 - squashed * squashed) / len(mean)


def temperature_gradient(log_probability: Tensor, wanted: float) -> Tensor:
    """∂/∂ log α of mean(log α × (entropy - wanted)): α rises where entropy is wanting."""
    return -log_probability.mean() - wanted


@LEARNERS.register("sac", config=SacConfig, remembers=True)
def _make(task: Task, config: SacConfig, policy: PolicyConfig, rng: np.random.Generator) -> Sac:
    center, scale = task.observation_center, task.observation_scale
    return Sac(center, scale, task.action_size, config, rng)
