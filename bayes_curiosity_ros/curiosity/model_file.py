"""A curiosity model on disk: one safetensors file with its configuration as metadata.

safetensors holds numbers and strings and nothing else, so that loading can run no code. A
checksum in the metadata covers the whole file.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.numpy import save as to_safetensors
from safetensors.torch import load as from_safetensors
from torch import Tensor

from bayes_curiosity_ros import __version__
from bayes_curiosity_ros.curiosity.curiosity import Curiosity, CuriosityConfig
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.regression import RegressionConfig
from bayes_curiosity_ros.errors import BayesCuriosityError, DamagedFileError, ModelFileError
from bayes_curiosity_ros.files import (
    ROOM,
    checksum,
    is_sealed,
    read_file,
    reason_of,
    sealed,
    write_atomically,
)
from bayes_curiosity_ros.spans import Spans

FORMAT = "bayes_curiosity_model/3"
SECOND_FORMAT = "bayes_curiosity_model/2"  # before there were checksums
FIRST_FORMAT = "bayes_curiosity_model/1"  # before there was a choice of posterior and features
HEADER_SIZE = struct.Struct("<Q")  # at the start of a safetensors file
FOURIER = ("frequencies", "phases", "length_scale")


def model_id(curiosity: Curiosity) -> str:
    """The id of its encoder."""
    return encoder_id(curiosity.encoder)


def encoder_id(encoder: Encoder) -> str:
    """Twelve hexadecimal digits that name an encoder: equal latent space, equal id."""
    digest = hashlib.sha256()
    for name, tensor in sorted(encoder.state_dict().items()):
        if name != "length_scale":  # ids are as they were before there was one
            digest.update(name.encode())
        if name not in FOURIER:
            digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()[:12]


@dataclasses.dataclass(frozen=True)
class SavedModel:
    """What a model file holds.

    Attributes:
        curiosity: encoder, posterior and configuration.
        trained: whether the encoder was trained, or is random.
        episodes: ids of the episodes in the posterior, so that none is counted twice.
    """

    curiosity: Curiosity
    trained: bool = True
    episodes: Spans = dataclasses.field(default_factory=Spans)


def save_model(path: Path, model: SavedModel) -> str:
    """Write encoder, posterior, configuration; the file is whole or absent.

    Returns:
        What `sha256sum` says of the file.
    """
    curiosity = model.curiosity
    state = curiosity.state_dict()
    tensors = {f"encoder.{name}": tensor for name, tensor in state["encoder"].items()}
    tensors["regression.factor"] = state["regression"]["factor"]
    tensors["episodes"] = torch.from_numpy(model.episodes.array())
    metadata = {
        "format": FORMAT,
        "checksum": ROOM.decode(),
        "package_version": __version__,
        "model_id": model_id(curiosity),
        "trained": json.dumps(model.trained),
        "count": str(state["regression"]["count"]),
        "encoder": json.dumps(dataclasses.asdict(curiosity.encoder.config)),
        "curiosity": json.dumps(dataclasses.asdict(curiosity.config)),
    }
    # As arrays: for every tensor that the library saves, ctypes keeps two new types for ever.
    arrays = {name: tensor.detach().contiguous().numpy() for name, tensor in tensors.items()}
    data = sealed(_in_order(to_safetensors(arrays, metadata)))
    write_atomically(path, data)
    return checksum(data)


def _in_order(data: bytes) -> bytes:
    """A safetensors file with its names in order: the library writes them in any, every time."""
    (size,) = HEADER_SIZE.unpack_from(data)
    start, end = HEADER_SIZE.size, HEADER_SIZE.size + size
    names = json.dumps(
        json.loads(data[start:end]), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return data[:start] + names.encode().ljust(size) + data[end:]


def load_model(path: Path, expected: str = "") -> SavedModel:
    """Read what `save_model` wrote.

    Args:
        path: path of the file.
        expected: what `save_model` gave for it; empty to take any.

    Raises:
        DamagedFileError: missing, damaged, or not the file that is expected.
        ModelFileError: of another kind.
    """
    data = read_file(path)
    checked, (metadata, tensors) = is_sealed(path, data), _read(path, data)
    if expected and checksum(data) != expected:
        raise DamagedFileError(
            f"{path} is not what was saved there: SHA-256 {checksum(data)}, expected {expected}"
        )
    if not checked:
        metadata, tensors = _unchecked(path, metadata, tensors)
    if metadata.get("format") != FORMAT:
        raise ModelFileError(
            f"{path} has format {metadata.get('format')!r}; expected {FORMAT!r}. "
            "Save models with curiosity/save or save_model"
        )
    try:
        model = _rebuild(metadata, tensors)
    except (BayesCuriosityError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ModelFileError(f"{path} does not fit its own configuration: {error}") from error
    if model_id(model.curiosity) != metadata.get("model_id"):
        raise DamagedFileError(
            f"{path} is damaged: it says to hold model {metadata.get('model_id')}, and holds "
            f"{model_id(model.curiosity)}"
        )
    return model


def _read(path: Path, data: bytes) -> tuple[dict[str, str], dict[str, Tensor]]:
    try:
        tensors = from_safetensors(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        return dict(header.get("__metadata__", {})), tensors
    except (SafetensorError, ValueError) as error:
        raise DamagedFileError(
            f"{path} is damaged or not a model file: {reason_of(error)}"
        ) from error


def _unchecked(
    path: Path, metadata: dict[str, str], tensors: dict[str, Tensor]
) -> tuple[dict[str, str], dict[str, Tensor]]:
    """A file without a checksum as one of today's, if it is of a version that had none."""
    if metadata.get("format") not in (FIRST_FORMAT, SECOND_FORMAT):
        if metadata.get("format") == FORMAT:
            raise DamagedFileError(f"{path} is damaged: its checksum is gone")
        return metadata, tensors
    logging.getLogger(__name__).warning(
        f"{path} is of a version that wrote no checksum: damage to its posterior would go "
        "unnoticed; save it again"
    )
    if metadata["format"] == FIRST_FORMAT:
        return _brought_up(metadata, tensors)
    return metadata | {"format": FORMAT}, tensors


def _brought_up(
    metadata: dict[str, str], tensors: dict[str, Tensor]
) -> tuple[dict[str, str], dict[str, Tensor]]:
    """A file of the first format as one of today's: its posterior was frozen in an episode."""
    encoder = json.loads(metadata["encoder"])
    features = "fourier" if encoder["fourier_features"] else "plain"
    settings = {**json.loads(metadata["curiosity"]), "posterior": "frozen", "features": features}
    scale = torch.tensor(float(encoder["fourier_length_scale"]))
    changed = {"format": FORMAT, "curiosity": json.dumps(settings)}
    return metadata | changed, tensors | {"encoder.length_scale": scale}


def _rebuild(metadata: Mapping[str, str], tensors: Mapping[str, Tensor]) -> SavedModel:
    settings: dict[str, Any] = json.loads(metadata["curiosity"])
    regression = RegressionConfig(**settings.pop("regression"))
    curiosity = Curiosity(
        Encoder(EncoderConfig(**json.loads(metadata["encoder"]))),
        CuriosityConfig(regression=regression, **settings),
    )
    weights = {
        name.removeprefix("encoder."): tensor
        for name, tensor in tensors.items()
        if name.startswith("encoder.")
    }
    size = curiosity.regression.size
    posterior = {
        "factor": tensors["regression.factor"],
        "moment": torch.zeros(size, 0, dtype=torch.float64),
        "count": int(metadata["count"]),
    }
    curiosity.load_state_dict({"encoder": weights, "regression": posterior})
    if not all(torch.isfinite(tensor).all() for tensor in weights.values()):
        raise ValueError("an encoder weight is not finite")
    return SavedModel(
        curiosity, bool(json.loads(metadata["trained"])), Spans.of(tensors["episodes"].numpy())
    )
