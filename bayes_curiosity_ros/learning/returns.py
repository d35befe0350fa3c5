"""Discounted sums and generalised advantage estimates over padded episodes."""

from __future__ import annotations

import numpy as np


def discounted_sums(values: np.ndarray, discount: float) -> np.ndarray:
    """Σ_k discount^k values[:, t + k], for every t: (E, H). Padding must be zero."""
    sums = np.zeros_like(values)
    running: np.ndarray = np.zeros(len(values))
    for step in reversed(range(values.shape[1])):
        running = values[:, step] + discount * running
        sums[:, step] = running
    return sums


def generalised_advantages(
    rewards: np.ndarray,
    values: np.ndarray,
    mask: np.ndarray,
    discount: float,
    gae_lambda: float,
) -> np.ndarray:
    """GAE (Schulman et al. 2016): Σ_k (γλ)^k δ_t+k with δ_t = r_t + γ V_t+1 - V_t.

    Args:
        rewards: (E, H).
        values: (E, H + 1), V of every observation; the caller sets V of the last one to zero
            where the episode terminated and leaves it where the clock truncated it.
        mask: (E, H) bool, True where a step was taken.
        discount: γ.
        gae_lambda: λ.

    Returns:
        Advantages (E, H), zero in the padding.
    """
    deltas = np.where(mask, rewards + discount * values[:, 1:] - values[:, :-1], 0.0)
    return discounted_sums(deltas, discount * gae_lambda)
