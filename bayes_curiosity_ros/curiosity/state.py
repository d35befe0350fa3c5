"""Saving and restoring networks and optimisers as plain nested dicts of tensors.

`torch.optim`'s own state holds lists and None, which the bonus protocol leaves out so that any
tensor file can carry a state; and `nn.Module.load_state_dict` copies half of a state before it
finds that the other half does not fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bayes_curiosity_ros.errors import InputError


def copy_of(module: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers, independent of the module's later changes."""
    return {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}


def check_fit(module: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Raise an error that names the first tensor of `state` that does not fit the module."""
    expected = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    if set(expected) != set(state):
        raise InputError(
            f"the state holds {sorted(state)}; this network has {sorted(expected)}. "
            "Was it saved with another configuration?"
        )
    for name, shape in expected.items():
        if tuple(state[name].shape) != shape:
            raise InputError(f"{name} has shape {tuple(state[name].shape)}; expected {shape}")


def adam_state(optimiser: torch.optim.Adam) -> dict[str, dict[str, Tensor]]:
    """Adam's moments by position of their parameter; empty before the first step."""
    return {
        str(index): {name: tensor.detach().clone() for name, tensor in moments.items()}
        for index, moments in optimiser.state_dict()["state"].items()
    }


def load_adam_state(optimiser: torch.optim.Adam, state: Mapping[str, Any]) -> None:
    """Restore what `adam_state` gave."""
    groups = optimiser.state_dict()["param_groups"]
    moments = {int(index): dict(tensors) for index, tensors in state.items()}
    optimiser.load_state_dict({"state": moments, "param_groups": groups})


def same_state(left: Any, right: Any) -> bool:
    """Bit-for-bit equality of two state dicts: what an exact resume must show."""
    if isinstance(left, Mapping):
        return left.keys() == right.keys() and all(same_state(left[k], right[k]) for k in left)
    if isinstance(left, Tensor):
        return torch.equal(left, right)
    if isinstance(left, np.ndarray):
        return np.array_equal(left, right)
    return bool(left == right)
