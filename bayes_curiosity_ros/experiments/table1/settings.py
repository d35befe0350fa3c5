"""What a table's configuration file says, checked before any work is spent."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml

from bayes_curiosity_ros.errors import ConfigError, unknown_name
from bayes_curiosity_ros.learning.gatherer import Sampling
from bayes_curiosity_ros.tasks.registry import TASKS

ALGORITHMS = ("trpo", "ddpg", "reinforce")
BONUSES = ("curiosity", "vime", "rnd", "none")
T = TypeVar("T")


@dataclass(frozen=True)
class CellSettings:
    """One (task, algorithm): the same for every bonus.

    Attributes:
        timesteps: budget of environment steps.
        sampling: experience per iteration.
        learner: keyword arguments of the algorithm's configuration.
        policy: keyword arguments of `GaussianPolicy`; empty for DDPG.
    """

    timesteps: int
    sampling: Sampling
    learner: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    policy: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.timesteps < 1:
            raise ConfigError(f"timesteps = {self.timesteps} must be ≥ 1")


@dataclass(frozen=True)
class TableSettings:
    """A whole table.

    Attributes:
        evaluations: per run, evenly spaced over its budget, besides the one before training.
        evaluation_episodes: episodes of each, without exploration noise.
        demonstrations: (observation, action) pairs that the embedding learns from.
        demonstration_noise: standard deviation of their action noise.
        cells: by task, then algorithm.
        bonuses: keyword arguments of each bonus, by task, then bonus.
    """

    evaluations: int
    evaluation_episodes: int
    demonstrations: int
    demonstration_noise: float
    cells: Mapping[str, Mapping[str, CellSettings]]
    bonuses: Mapping[str, Mapping[str, Mapping[str, Any]]]

    def cell(self, task: str, algorithm: str) -> CellSettings:
        """The settings of a (task, algorithm)."""
        return self.cells[task][algorithm]

    def budget(self, job: Any) -> int | None:
        """Timesteps of a run; None for a cell that is not in the table."""
        cell = self.cells.get(job.task, {}).get(job.algorithm)
        return None if cell is None else cell.timesteps

    def with_timesteps(self, timesteps: int) -> TableSettings:
        """The same table with every budget replaced."""
        cells = {
            task: {
                name: dataclasses.replace(cell, timesteps=timesteps) for name, cell in row.items()
            }
            for task, row in self.cells.items()
        }
        return dataclasses.replace(self, cells=cells)

    def fingerprint(self) -> str:
        """Settings as canonical JSON, stored beside results and compared on resume."""
        return json.dumps(dataclasses.asdict(self), indent=1, sort_keys=True)


def load_settings(path: Path) -> TableSettings:
    """Read and check a configuration file.

    Raises:
        ConfigError: the file is missing, not YAML, or holds an unknown or bad value.
    """
    return parse_file(path, _parse)


def parse_file(path: Path, parse: Callable[[Mapping[str, Any]], T]) -> T:
    """Read YAML and make something of it; whatever is wrong is a ConfigError."""
    try:
        raw = yaml.safe_load(path.read_text())
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML: {str(error).splitlines()[0]}") from None
    try:
        return parse(raw)
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise ConfigError(f"{path} does not fit: {error}") from None


def _parse(raw: Mapping[str, Any]) -> TableSettings:
    cells = {task: _parse_row(task, row) for task, row in raw["cells"].items()}
    return TableSettings(
        evaluations=int(raw["evaluations"]),
        evaluation_episodes=int(raw["evaluation_episodes"]),
        demonstrations=int(raw["demonstrations"]),
        demonstration_noise=float(raw["demonstration_noise"]),
        cells=cells,
        bonuses={task: _parse_bonuses(task, row) for task, row in raw["bonuses"].items()},
    )


def _parse_row(task: str, row: Mapping[str, Any]) -> dict[str, CellSettings]:
    known_name("task", task, TASKS)
    for name in row:
        known_name("algorithm", name, ALGORITHMS)
    return {
        name: CellSettings(
            timesteps=int(cell["timesteps"]),
            sampling=Sampling(int(cell["parallel"]), int(cell["min_steps"])),
            learner=dict(cell.get("learner") or {}),
            policy=dict(cell.get("policy") or {}),
        )
        for name, cell in row.items()
    }


def _parse_bonuses(task: str, row: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    known_name("task", task, TASKS)
    for name in row:
        known_name("bonus", name, BONUSES)
    return {name: dict(options or {}) for name, options in row.items()}


def known_name(kind: str, name: str, valid: Iterable[str]) -> None:
    """Raise a ConfigError that lists the valid names, unless `name` is one."""
    if name not in valid:
        raise unknown_name(kind, name, valid)
