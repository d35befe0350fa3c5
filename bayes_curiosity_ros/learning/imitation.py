"""Behaviour cloning: make demonstrated actions likely before reinforcement learning starts."""

from __future__ import annotations

import numpy as np
import torch

from bayes_curiosity_ros.errors import InputError
from bayes_curiosity_ros.learning.optimizer import Adam
from bayes_curiosity_ros.learning.policy import GaussianPolicy
from bayes_curiosity_ros.learning.trpo import surrogate_gradient


def imitate(
    policy: GaussianPolicy,
    observations: np.ndarray,
    actions: np.ndarray,
    rng: np.random.Generator,
    epochs: int = 20,
    minibatch: int = 128,
    learning_rate: float = 3e-3,
) -> float:
    """Maximise the mean log-likelihood of actions (N, A) at observations (N, D).

    Returns:
        The mean negative log-likelihood afterwards, in [nat].
    """
    if len(observations) != len(actions) or len(actions) == 0:
        raise InputError(
            f"{len(observations)} observations for {len(actions)} actions; need as many, and some"
        )
    inputs = torch.from_numpy(policy.inputs(observations))
    targets = torch.from_numpy(actions.astype(np.float32))
    adam = Adam(policy.parameters, learning_rate)
    for _ in range(epochs):
        order = torch.from_numpy(rng.permutation(len(inputs)))
        for rows in torch.split(order, minibatch):
            # The score weighted by one is the gradient of the log-likelihood.
            linearized = policy.linearize(inputs[rows])
            gradient = surrogate_gradient(linearized, targets[rows], torch.ones(len(rows)))
            adam.descend(-gradient)
    return float(-policy.distribution(inputs).log_probability(targets).mean())
