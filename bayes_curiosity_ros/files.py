"""Files that are whole or absent, and that run no code when they are read."""

from __future__ import annotations

import io
import os
import pickle
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bayes_curiosity_ros.errors import ModelFileError


def write_atomically(path: Path, data: bytes) -> None:
    """Write under a temporary name, sync, rename: readers see the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def save_state(path: Path, state: Mapping[str, Any]) -> None:
    """Save nested dicts and lists of tensors, numbers and strings."""
    import torch  # here, as most who write files need none of it

    buffer = io.BytesIO()
    torch.save(dict(state), buffer)
    write_atomically(path, buffer.getvalue())


def load_state(path: Path) -> dict[str, Any]:
    """Load what `save_state` wrote; plain data only, so that loading can run no code."""
    import torch

    try:
        state = torch.load(path, weights_only=True)
    except FileNotFoundError:
        raise ModelFileError(f"{path} does not exist") from None
    except (
        RuntimeError,
        EOFError,
        pickle.UnpicklingError,
        OSError,
        ValueError,
        KeyError,
    ) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelFileError(f"{path} is damaged or not a checkpoint: {reason}") from error
    if not isinstance(state, dict):
        raise ModelFileError(f"{path} holds a {type(state).__name__}, not a checkpoint")
    return state


def _sync_folder(folder: Path) -> None:
    """Make a rename durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
