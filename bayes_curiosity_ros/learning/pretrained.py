"""A policy on disk: what imitation gives and reinforcement learning starts from."""

from __future__ import annotations

from pathlib import Path

from bayes_curiosity_ros.errors import ModelFileError
from bayes_curiosity_ros.files import load_state, save_state
from bayes_curiosity_ros.learning.policy import GaussianPolicy

FORMAT = "bayes_curiosity_policy/1"


def save_policy(path: Path, policy: GaussianPolicy, task: str) -> None:
    """Write the policy's parameters: whole, or not at all."""
    sizes = list(policy.mean_network.sizes)
    save_state(path, {"format": FORMAT, "task": task, "sizes": sizes, **policy.state_dict()})


def load_policy(path: Path, policy: GaussianPolicy, task: str) -> None:
    """Put saved parameters into a policy of the same shape.

    Raises:
        ModelFileError: missing, damaged, or of another task or shape; the policy is unchanged.
    """
    state = load_state(path)
    mine = {"format": FORMAT, "task": task, "sizes": list(policy.mean_network.sizes)}
    for key, value in mine.items():
        if state.get(key) != value:
            raise ModelFileError(f"{path} has {key} {state.get(key)!r}; expected {value!r}")
    policy.load_state_dict(state)
