"""A curiosity model on disk: one safetensors file with its configuration as metadata.

safetensors holds numbers and strings and nothing else, so that loading can run no code.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_safetensors
from torch import Tensor

from bayes_curiosity_ros import __version__
from bayes_curiosity_ros.curiosity.curiosity import Curiosity, CuriosityConfig
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.regression import RegressionConfig
from bayes_curiosity_ros.errors import BayesCuriosityError, ModelFileError
from bayes_curiosity_ros.files import write_atomically

FORMAT = "bayes_curiosity_model/2"
FIRST_FORMAT = "bayes_curiosity_model/1"  # before there was a choice of posterior and features
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
    episodes: frozenset[int] = frozenset()


def save_model(path: Path, model: SavedModel) -> None:
    """Write encoder, posterior, configuration; the file is whole or absent."""
    curiosity = model.curiosity
    state = curiosity.state_dict()
    tensors = {f"encoder.{name}": tensor for name, tensor in state["encoder"].items()}
    tensors["regression.factor"] = state["regression"]["factor"]
    tensors["episodes"] = torch.tensor(sorted(model.episodes), dtype=torch.uint64)
    metadata = {
        "format": FORMAT,
        "package_version": __version__,
        "model_id": model_id(curiosity),
        "trained": json.dumps(model.trained),
        "count": str(state["regression"]["count"]),
        "encoder": json.dumps(dataclasses.asdict(curiosity.encoder.config)),
        "curiosity": json.dumps(dataclasses.asdict(curiosity.config)),
    }
    contiguous = {name: tensor.contiguous() for name, tensor in tensors.items()}
    write_atomically(path, to_safetensors(contiguous, metadata))


def load_model(path: Path) -> SavedModel:
    """Read what `save_model` wrote; anything else raises ModelFileError and says what it is."""
    metadata, tensors = _read(path)
    if metadata.get("format") == FIRST_FORMAT:
        metadata, tensors = _brought_up(metadata, tensors)
    if metadata.get("format") != FORMAT:
        raise ModelFileError(
            f"{path} has format {metadata.get('format')!r}; expected {FORMAT!r}. "
            "Save models with curiosity/save or save_model"
        )
    try:
        return _rebuild(metadata, tensors)
    except (BayesCuriosityError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ModelFileError(f"{path} does not fit its own configuration: {error}") from error


def _read(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    if not path.is_file():
        raise ModelFileError(f"{path} does not exist; train one or leave `model` empty")
    try:
        with safe_open(str(path), framework="pt") as file:
            return dict(file.metadata() or {}), {
                name: file.get_tensor(name)
                for name in file.keys()  # noqa: SIM118
            }
    except (SafetensorError, OSError) as error:
        raise ModelFileError(f"{path} is damaged or not a model file: {error}") from error


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
        curiosity, bool(json.loads(metadata["trained"])), frozenset(tensors["episodes"].tolist())
    )
