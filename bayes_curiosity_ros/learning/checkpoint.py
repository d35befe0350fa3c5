"""A training run on disk: whole or absent, loaded without running code, resumed exactly."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bayes_curiosity_ros import __version__
from bayes_curiosity_ros.errors import ModelFileError
from bayes_curiosity_ros.files import load_state, save_state
from bayes_curiosity_ros.learning.trainer import Trainer

FORMAT = "bayes_curiosity_training/2"
ARRAY = "numpy array"


def save_checkpoint(path: Path, trainer: Trainer, extra: Mapping[str, Any] | None = None) -> None:
    """Write everything a later process needs to go on as this one would.

    Args:
        extra: what the caller wants back from `load_checkpoint`: numbers, strings, arrays.
    """
    state = {"format": FORMAT, "package_version": __version__, "trainer": trainer.state_dict()}
    save_state(path, _plain(state | {"extra": dict(extra or {})}))


def load_checkpoint(path: Path, trainer: Trainer) -> dict[str, Any]:
    """Restore a trainer built with the same task, learner, bonus and settings.

    Returns:
        What was saved as `extra`.

    Raises:
        ModelFileError: missing, damaged, or of another kind of run.
    """
    state = load_state(path)
    if state.get("format") != FORMAT:
        raise ModelFileError(f"{path} has format {state.get('format')!r}; expected {FORMAT!r}")
    try:
        trainer.load_state_dict(_restored(state["trainer"]))
    except (KeyError, RuntimeError, ValueError) as error:
        raise ModelFileError(
            f"{path} does not fit this run: {error}; use the settings it was made with"
        ) from error
    return _restored(state.get("extra", {}))


def _plain(value: Any) -> Any:
    """Arrays as marked tensors: `torch.load(weights_only=True)` takes no NumPy."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return {ARRAY: torch.from_numpy(value.copy())}
    if isinstance(value, np.generic):
        return value.item()
    return value


def _restored(value: Any) -> Any:
    """What `_plain` was given, tuples as lists."""
    if isinstance(value, list):
        return [_restored(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {ARRAY}:
        return value[ARRAY].numpy()
    return {key: _restored(item) for key, item in value.items()}
