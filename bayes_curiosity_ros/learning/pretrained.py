"""A policy on disk: what imitation gives and reinforcement learning starts from."""

from __future__ import annotations

from pathlib import Path

from bayes_curiosity_ros.errors import ModelFileError
from bayes_curiosity_ros.files import load_state, reason_of, save_state
from bayes_curiosity_ros.learning.policy import GaussianPolicy

FORMAT = "bayes_curiosity_policy/1"


def save_policy(path: Path, policy: GaussianPolicy, task: str, encoder: str = "") -> None:
    """Write the policy's parameters: whole, or not at all.

    Args:
        path: of the file.
        policy: to be written.
        task: that it is for.
        encoder: id of the encoder that it sees with (`model_file.encoder_id`); "" for none.
    """
    about = {"format": FORMAT, "task": task, "encoder": encoder, "sizes": _sizes(policy)}
    save_state(path, about | policy.state_dict())


def load_policy(path: Path, policy: GaussianPolicy, task: str, encoder: str = "") -> None:
    """Put saved parameters into a policy of the same shape, task and encoder.

    Raises:
        ModelFileError: missing, damaged, or of another task, encoder or shape; the policy is
            unchanged.
    """
    state = load_state(path)
    for key, value in {"format": FORMAT, "task": task}.items():
        if state.get(key) != value:
            raise ModelFileError(f"{path} has {key} {state.get(key)!r}; expected {value!r}")
    if state.get("encoder", "") != encoder:
        raise ModelFileError(
            f"{path} sees with encoder {state.get('encoder')!r}, this run with {encoder!r}; "
            "give the model that the policy was prepared with, or prepare both again"
        )
    if state.get("sizes") != _sizes(policy):
        raise ModelFileError(f"{path} has sizes {state.get('sizes')}; expected {_sizes(policy)}")
    try:
        policy.load_state_dict(state)
    except (KeyError, TypeError, RuntimeError) as error:
        raise ModelFileError(f"{path} does not fit this policy: {reason_of(error)}") from error


def _sizes(policy: GaussianPolicy) -> list[int]:
    return list(policy.mean_network.sizes)
