"""Trust region policy optimisation (Schulman et al. 2015)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.algorithm import LEARNERS, OnPolicy, OnPolicyConfig
from bayes_curiosity_ros.learning.critic import Critic, LinearBaseline
from bayes_curiosity_ros.learning.policy import (
    Gaussian,
    GaussianPolicy,
    LinearizedPolicy,
    PolicyConfig,
)
from bayes_curiosity_ros.tasks.task import Task


@dataclass(frozen=True)
class TrpoConfig(OnPolicyConfig):
    """Settings of TRPO, besides those of `OnPolicyConfig`.

    Attributes:
        max_kl: δ, the trust region in [nat].
        cg_iterations: of conjugate gradients.
        cg_damping: added to the Fisher matrix's diagonal.
        backtrack_ratio: factor on the step after each rejection.
        max_backtracks: rejections after which the policy stays as it was.
        fisher_stride: the Fisher matrix uses every so many-th row of the batch.
    """

    max_kl: float = 0.01
    cg_iterations: int = 10
    cg_damping: float = 1e-4
    backtrack_ratio: float = 0.8
    max_backtracks: int = 15
    fisher_stride: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_kl <= 0 or not 0 < self.backtrack_ratio < 1:
            raise ConfigError(
                f"max_kl = {self.max_kl} must be > 0, "
                f"backtrack_ratio = {self.backtrack_ratio} in (0, 1)"
            )
        if min(self.cg_iterations, self.max_backtracks, self.fisher_stride) < 1:
            raise ConfigError("cg_iterations, max_backtracks and fisher_stride must be ≥ 1")


class Trpo(OnPolicy):
    """Maximise the surrogate Σ A π/π_old subject to mean KL(π_old ‖ π) ≤ δ."""

    def __init__(self, policy: GaussianPolicy, critic: Critic, config: TrpoConfig) -> None:
        super().__init__(policy, critic, config)
        self.config = config

    def improve(self, inputs: Tensor, actions: Tensor, advantages: Tensor) -> dict[str, float]:
        linearized = self.policy.linearize(inputs)
        gradient = surrogate_gradient(linearized, actions, advantages)
        if not gradient.any():
            return {"kl": 0.0, "surrogate": 0.0, "backtracks": 0.0}
        sample = self.policy.linearize(inputs[:: self.config.fisher_stride].contiguous())

        def fisher(vector: Tensor) -> Tensor:
            return fisher_vector_product(sample, vector, self.config.cg_damping)

        direction = conjugate_gradient(fisher, gradient, self.config.cg_iterations)
        curvature = float(direction @ fisher(direction))
        full_step = direction * math.sqrt(2 * self.config.max_kl / max(curvature, 1e-12))
        return self._line_search(linearized.distribution, inputs, actions, advantages, full_step)

    def _line_search(
        self,
        old: Gaussian,
        inputs: Tensor,
        actions: Tensor,
        advantages: Tensor,
        full_step: Tensor,
    ) -> dict[str, float]:
        start = self.policy.parameters.clone()
        old_log_probability = old.log_probability(actions)

        def trial(fraction: float) -> tuple[float, float]:
            torch.add(start, full_step, alpha=fraction, out=self.policy.parameters)
            new = self.policy.distribution(inputs)
            ratio = torch.exp(new.log_probability(actions) - old_log_probability)
            return float((ratio * advantages).mean()), float(new.kl_from(old).mean())

        before = float(advantages.mean())
        config = self.config
        accepted = line_search(
            trial, before, config.max_kl, config.backtrack_ratio, config.max_backtracks
        )
        if accepted is None:
            self.policy.parameters.copy_(start)
            return {"kl": 0.0, "surrogate": 0.0, "backtracks": float(config.max_backtracks)}
        backtracks, surrogate, kl = accepted
        return {"kl": kl, "surrogate": surrogate - before, "backtracks": float(backtracks)}


def surrogate_gradient(
    linearized: LinearizedPolicy, actions: Tensor, advantages: Tensor
) -> Tensor:
    """∇ mean(A π/π_old) at π = π_old, that is mean(A ∇ log π): (P,)."""
    weights = (advantages / len(advantages))[:, None]
    mean, log_std = linearized.distribution.score(actions)
    return linearized.vjp(mean * weights, log_std * weights)


def fisher_vector_product(linearized: LinearizedPolicy, vector: Tensor, damping: float) -> Tensor:
    """(F + damping I) v with F = mean(Jᵀ F_Gaussian J), the Hessian of the KL at its minimum."""
    mean, log_std = linearized.distribution.fisher_product(*linearized.jvp(vector))
    return linearized.vjp(mean, log_std).div_(len(mean)).add_(vector, alpha=damping)


def conjugate_gradient(
    product: Callable[[Tensor], Tensor], target: Tensor, iterations: int, tolerance: float = 1e-10
) -> Tensor:
    """x with A x ≈ target, for a symmetric positive definite A given as a product."""
    solution = torch.zeros_like(target)
    residual, direction = target.clone(), target.clone()
    residual_norm = residual @ residual
    floor = tolerance * residual_norm
    for _ in range(iterations):
        image = product(direction)
        length = residual_norm / (direction @ image)
        solution.addcmul_(direction, length)
        residual.addcmul_(image, -length)
        new_norm = residual @ residual
        if new_norm <= floor:
            break
        direction.mul_(new_norm / residual_norm).add_(residual)
        residual_norm = new_norm
    return solution


def line_search(
    trial: Callable[[float], tuple[float, float]],
    before: float,
    max_kl: float,
    ratio: float,
    max_backtracks: int,
) -> tuple[int, float, float] | None:
    """The first of 1, ratio, ratio², … whose surrogate improves and whose KL ≤ `max_kl`.

    Args:
        trial: fraction of the full step to (surrogate, KL); NaN is a rejection.
        before: the surrogate to beat.
        max_kl: the trust region.
        ratio: between tries.
        max_backtracks: tries.

    Returns:
        Backtracks, surrogate and KL of the accepted step, or None.
    """
    for backtracks in range(max_backtracks):
        surrogate, kl = trial(ratio**backtracks)
        if surrogate > before and kl <= max_kl:
            return backtracks, surrogate, kl
    return None


@LEARNERS.register("trpo", config=TrpoConfig)
def _make(task: Task, config: TrpoConfig, policy: PolicyConfig, rng: np.random.Generator) -> Trpo:
    baseline = LinearBaseline.for_task(task, config.discount)
    return Trpo(GaussianPolicy.for_task(task, policy, rng), baseline, config)
