"""Every kind of file that the project reads: how one is made, and what is read of it."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.bringup.table import nodes
from bayes_curiosity_ros.configuration.settings import read_yaml
from bayes_curiosity_ros.curiosity.curiosity import Curiosity, CuriosityConfig
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.model_file import SavedModel, load_model, save_model
from bayes_curiosity_ros.experiments.engine.jobs import Row
from bayes_curiosity_ros.experiments.engine.store import (
    CHECKSUM,
    END,
    ROWS,
    SETTINGS,
    all_rows,
    note_end,
    read_settings,
    settings_to_json,
    to_csv,
)
from bayes_curiosity_ros.files import ROOM, sealed
from bayes_curiosity_ros.learning.algorithm import LEARNERS
from bayes_curiosity_ros.learning.checkpoint import (
    CHECKPOINT,
    load_checkpoint,
    save_checkpoint,
)
from bayes_curiosity_ros.learning.episode_log import LOG, EpisodeLog, EpisodeRow
from bayes_curiosity_ros.learning.gatherer import Rollouts, Sampling
from bayes_curiosity_ros.learning.policy import GaussianPolicy, PolicyConfig
from bayes_curiosity_ros.learning.pretrained import load_policy, save_policy
from bayes_curiosity_ros.learning.settings import LearnerConfig, make_bonus, make_trainer
from bayes_curiosity_ros.learning.trail import NAME as TRAIL
from bayes_curiosity_ros.learning.trail import Trail, read_trail
from bayes_curiosity_ros.learning.trainer import Trainer
from bayes_curiosity_ros.spans import Spans
from bayes_curiosity_ros.tasks.demonstrations import DemonstrationConfig, Demonstrations
from benchmarks.faults.legitimate import write_bag

SIZE = 9  # numbers of an observation
EPISODES = 30


@dataclass(frozen=True)
class FileKind:
    """A kind of file.

    Attributes:
        make: writes one into a folder, and gives its path; others may lie beside it.
        load: reads it as the commands do; what was read as plain values, and what was said.
        edited: whether people write it by hand, so that another value is no damage.
    """

    make: Callable[[Path], Path]
    load: Callable[[Path], tuple[Any, str]]
    edited: bool = False


def digest(value: Any) -> str:
    """What tells two values apart; equal for equal ones, bit for bit."""
    return hashlib.sha256(pickle.dumps(_plain(value))).hexdigest()


def _plain(value: Any) -> Any:
    if hasattr(value, "numpy"):
        value = value.numpy()
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, value.tobytes())
    if isinstance(value, dict):
        return [(_plain(key), _plain(value[key])) for key in value]
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(value)
    return repr(value)


def _rows() -> list[EpisodeRow]:
    rng = np.random.default_rng(0)
    return [
        EpisodeRow(i, 3 * i, 3, "time_limit", *map(float, rng.normal(size=4)))
        for i in range(1, EPISODES + 1)
    ]


@cache
def _task() -> Any:
    return LearnerConfig().make_task()


def _trainer() -> Trainer:
    config = LearnerConfig(bonus="rnd", seed=3)
    gatherer = Rollouts(_task(), Sampling(1, 1), np.random.default_rng(4))
    settings = LEARNERS[config.learner].config()
    return make_trainer(config, settings, _task(), make_bonus(config, _task()), gatherer)


def _make_checkpoint(folder: Path) -> Path:
    """The newest of two generations."""
    trainer = _trainer()
    for iteration in (1, 2):
        trainer.timesteps = 1000 * iteration
        save_checkpoint(folder / CHECKPOINT, trainer, {"iteration": iteration, "encoder": ""})
    return folder / CHECKPOINT


def _load_checkpoint(path: Path) -> tuple[Any, str]:
    trainer = _trainer()
    extra = load_checkpoint(path, trainer)
    return (trainer.state_dict(), extra), ""


def _policy(seed: int) -> GaussianPolicy:
    return GaussianPolicy.for_task(_task(), PolicyConfig(), np.random.default_rng(seed))


def _make_policy(folder: Path) -> Path:
    save_policy(folder / "policy.pt", _policy(1), "reach")
    return folder / "policy.pt"


def _load_policy(path: Path) -> tuple[Any, str]:
    policy = _policy(2)
    load_policy(path, policy, "reach")
    return policy.state_dict(), ""


def _make_model(folder: Path) -> Path:
    encoder = Encoder(EncoderConfig(SIZE), torch.Generator().manual_seed(0))
    curiosity = Curiosity(encoder, CuriosityConfig())
    curiosity.observe(Observations(np.random.default_rng(0).normal(size=(50, SIZE))))
    save_model(folder / "model.safetensors", SavedModel(curiosity, True, Spans({1, 2})))
    return folder / "model.safetensors"


def _load_model(path: Path) -> tuple[Any, str]:
    model = load_model(path)
    return (model.curiosity.state_dict(), repr(model.curiosity.config), model.episodes.array()), ""


def _make_demonstrations(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    vectors, actions = rng.normal(size=(100, SIZE)), rng.normal(size=(100, 6))
    made = Demonstrations("reach", vectors, None, actions, 3, 2, DemonstrationConfig(100))
    made.save(folder / "demonstrations.npz")
    return folder / "demonstrations.npz"


def _load_demonstrations(path: Path) -> tuple[Any, str]:
    return vars(Demonstrations.load(path)), ""


def _make_log(folder: Path) -> Path:
    log = EpisodeLog(folder / LOG)
    for row in _rows():
        log.add(row)
    log.close()
    return folder / LOG


def _load_log(path: Path) -> tuple[Any, str]:
    """As a run is resumed."""
    log = EpisodeLog(path, until=EPISODES, count=EPISODES)
    log.close()
    return list(log.recent), ""


def _make_trail(folder: Path) -> Path:
    trail = Trail(folder / TRAIL)
    rng = np.random.default_rng(0)
    for episode in range(1, EPISODES + 1):
        trail.add(episode, rng.normal(size=(4, SIZE)))
    trail.close()
    return folder / TRAIL


def _load_trail(path: Path) -> tuple[Any, str]:
    return read_trail(path, SIZE), ""


def _make_rows(folder: Path) -> Path:
    numbers = {"int": 1, "float": 0.5, "str": "x"}
    fields = Row.__dataclass_fields__
    one = {name: numbers[str(field.type)] for name, field in fields.items()}
    rows = [Row(**{**one, "seed": seed}) for seed in range(EPISODES)]  # type: ignore[arg-type]
    (folder / ROWS).write_text(to_csv(rows, header=True))
    note_end(folder / ROWS)
    settings = {"x/x/x": {"timesteps": 1, "weight": 0.5}, CHECKSUM: ROOM.decode()}
    (folder / SETTINGS).write_bytes(sealed(settings_to_json(settings).encode()))
    return folder / ROWS


def _make_settings(folder: Path) -> Path:
    return _make_rows(folder).with_name(SETTINGS)


def _make_end(folder: Path) -> Path:
    return _make_rows(folder).with_name(END)


def _load_rows(path: Path) -> tuple[Any, str]:
    return (all_rows(path.parent), read_settings(path.parent)), ""


def _make_mcap(folder: Path) -> Path:
    return next(write_bag(folder / "bag", EPISODES).glob("*.mcap"))


def _make_sqlite(folder: Path) -> Path:
    return next(write_bag(folder / "bag", EPISODES, "sqlite3").glob("*.db3"))


def _make_metadata(folder: Path) -> Path:
    return write_bag(folder / "bag", EPISODES) / "metadata.yaml"


def _load_bag(path: Path) -> tuple[Any, str]:
    reader = BagReader(path.parent)
    records = [tuple(record) for record in reader.records()]
    return (records, sorted(reader.topics)), "; ".join(reader.losses)


def _make_parameters(folder: Path) -> Path:
    text = "# of a test\n" + "".join(
        f"/**/{node}:\n  ros__parameters:\n    {line}\n"
        for node, line in {
            "learner": "iteration_steps: 300",
            "curiosity": "curiosity:\n      weight: 0.05",
        }.items()
    )
    (folder / "parameters.yaml").write_text(text)
    return folder / "parameters.yaml"


def _load_parameters(path: Path) -> tuple[Any, str]:
    nodes({"params_file": str(path)})
    return read_yaml(path), ""


KINDS: dict[str, FileKind] = {
    "checkpoint": FileKind(_make_checkpoint, _load_checkpoint),
    "policy": FileKind(_make_policy, _load_policy),
    "model": FileKind(_make_model, _load_model),
    "demonstrations": FileKind(_make_demonstrations, _load_demonstrations),
    "episodes": FileKind(_make_log, _load_log),
    "trail": FileKind(_make_trail, _load_trail),
    "settings": FileKind(_make_settings, _load_rows),
    "rows": FileKind(_make_rows, _load_rows),
    "rows_end": FileKind(_make_end, _load_rows),
    "mcap": FileKind(_make_mcap, _load_bag),
    "sqlite": FileKind(_make_sqlite, _load_bag),
    "metadata": FileKind(_make_metadata, _load_bag),
    "parameters": FileKind(_make_parameters, _load_parameters, edited=True),
}
