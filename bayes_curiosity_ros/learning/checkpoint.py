"""A training run on disk: whole or absent, loaded without running code, resumed exactly.

Two generations are kept: where the newest is damaged, a run goes on from the one before. What a
learner remembers of its episodes is in files beside them, which grow (`row_log`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bayes_curiosity_ros import __version__
from bayes_curiosity_ros.errors import DamagedFileError, ModelFileError
from bayes_curiosity_ros.files import load_state, save_state
from bayes_curiosity_ros.learning.row_log import RowLog, forget_rows, read_rows
from bayes_curiosity_ros.learning.trainer import Trainer

FORMAT = "bayes_curiosity_training/3"
ARRAY = "numpy array"
ROWS = "rows in files"
CHECKPOINT = "checkpoint.pt"  # in the folder of a run
MODELS = "models"  # folder of the curiosity's models in the folder of a run


def generations(path: Path) -> tuple[Path, Path]:
    """Where a checkpoint and the one before it are."""
    return path, path.with_name(f"{path.stem}.previous{path.suffix}")


def has_checkpoint(path: Path) -> bool:
    """Whether there is a checkpoint of any generation."""
    return any(each.exists() for each in generations(path))


def forget_checkpoint(path: Path) -> None:
    """Remove a checkpoint and the one before it, and what is in files beside them."""
    for each in generations(path):
        each.unlink(missing_ok=True)
    forget_rows(path)


def model_name(iteration: int) -> str:
    """Name of the curiosity's model that a checkpoint after this iteration goes with.

    Three take turns: while one is written, those of both checkpoints stay.
    """
    return f"curiosity_{iteration % 3}.safetensors"


def save_checkpoint(path: Path, trainer: Trainer, extra: Mapping[str, Any] | None = None) -> None:
    """Write everything a later process needs to go on as this one would; keep the one before.

    Args:
        path: path of the newest checkpoint.
        trainer: what is saved.
        extra: what the caller wants back from `load_checkpoint`: numbers, strings, arrays.
    """
    state = {"format": FORMAT, "package_version": __version__, "trainer": trainer.state_dict()}
    newest, previous = generations(path)
    save_state(newest, _plain(state | {"extra": dict(extra or {})}, path), previous)


def load_checkpoint(
    path: Path, trainer: Trainer, accept: Callable[[dict[str, Any]], None] = lambda extra: None
) -> dict[str, Any]:
    """Restore a trainer built with the same task, learner, bonus and settings.

    Where the newest checkpoint is damaged the one before is taken, and a warning says what is
    lost with it.

    Args:
        path: path of the newest checkpoint.
        trainer: what is restored.
        accept: given what was saved as `extra`; DamagedFileError says that what belongs to the
            checkpoint cannot be had.

    Returns:
        What was saved as `extra`.

    Raises:
        ModelFileError: missing, damaged, or of another kind of run.
    """
    failures: list[DamagedFileError] = []
    for each in generations(path):
        try:
            state = _restored(_read(each), path)
            extra = state.get("extra", {})
            accept(extra)
        except DamagedFileError as error:
            failures.append(error)
            continue
        _restore(each, trainer, state)
        if failures:
            _warn(each, trainer, failures[0])
        return extra
    raise failures[0]


def _read(path: Path) -> dict[str, Any]:
    state = load_state(path)
    if state.get("format") != FORMAT:
        raise ModelFileError(f"{path} has format {state.get('format')!r}; expected {FORMAT!r}")
    return state


def _restore(path: Path, trainer: Trainer, state: Mapping[str, Any]) -> None:
    try:
        trainer.load_state_dict(state["trainer"])
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{path} does not fit this run: {error}; use the settings it was made with"
        ) from error


def _warn(path: Path, trainer: Trainer, failure: DamagedFileError) -> None:
    logging.getLogger(__name__).warning(
        f"{failure}. Going on from {path}: what came after timestep {trainer.timesteps} is lost, "
        "and done again"
    )


def _plain(value: Any, path: Path) -> Any:
    """Arrays as marked tensors, as `torch.load(weights_only=True)` takes no NumPy; logs of rows
    as what says where their files are."""
    if isinstance(value, Mapping):
        return {key: _plain(item, path) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, path) for item in value]
    if isinstance(value, RowLog):
        return {ROWS: value.save(path)}
    if isinstance(value, np.ndarray):
        return {ARRAY: torch.from_numpy(value.copy())}
    if isinstance(value, np.generic):
        return value.item()
    return value


def _restored(value: Any, path: Path) -> Any:
    """What `_plain` was given, tuples as lists, and of logs of rows what their files hold."""
    if isinstance(value, list):
        return [_restored(item, path) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {ARRAY}:
        return value[ARRAY].numpy()
    if value.keys() == {ROWS}:
        return read_rows(path, value[ROWS])
    return {key: _restored(item, path) for key, item in value.items()}
