"""What the learning curves are made with, read from `config/` and checked before any work."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bayes_curiosity_ros.configuration.settings import build
from bayes_curiosity_ros.curiosity.continual import ContinualConfig
from bayes_curiosity_ros.curiosity.embedding import EmbeddingConfig
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.experiments.table1.settings import BONUSES, known_name, parse_file
from bayes_curiosity_ros.learning.gatherer import Sampling
from bayes_curiosity_ros.learning.trpo import TrpoConfig
from bayes_curiosity_ros.tasks.demonstrations import DemonstrationConfig
from bayes_curiosity_ros.tasks.registry import ARM_TASKS

ENCODERS = ("demonstrations", "random", "continual")


@dataclass(frozen=True)
class ImitationSettings:
    """How every policy is pre-trained.

    Attributes:
        epochs: passes of behaviour cloning. Few leave the policy with something to learn.
        learning_rate: of Adam.
        pairs: of the demonstrations, the first ones; 0 for all.
    """

    epochs: int = 2
    learning_rate: float = 3e-3
    pairs: int = 0

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.pairs < 0 or not self.learning_rate > 0:
            raise ConfigError(
                f"imitation: epochs = {self.epochs}, pairs = {self.pairs}, learning_rate = "
                f"{self.learning_rate}; need epochs ≥ 1, pairs ≥ 0, learning_rate > 0"
            )


@dataclass(frozen=True)
class PolicySettings:
    """Shape of the policy's two networks, as of `GaussianPolicy`."""

    hidden: tuple[int, ...] = (32, 32)
    output_scale: float = 0.01
    initial_std: float = 1.0


@dataclass(frozen=True)
class TaskSettings:
    """One task: the same for every method.

    Attributes:
        timesteps: budget of environment steps.
        parallel: episodes side by side.
        min_steps: of an iteration, at least.
        learner: TRPO.
        policy: shape of the policy.
        demonstrations: what embedding and imitation learn from.
        encoder: keyword arguments of `EncoderConfig`.
        embedding: Algorithm 1.
        imitation: pre-training of the policy.
    """

    timesteps: int
    parallel: int
    min_steps: int
    learner: TrpoConfig = field(default_factory=TrpoConfig)
    policy: PolicySettings = field(default_factory=PolicySettings)
    demonstrations: DemonstrationConfig = field(default_factory=DemonstrationConfig)
    encoder: dict = field(default_factory=dict)
    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    imitation: ImitationSettings = field(default_factory=ImitationSettings)

    def __post_init__(self) -> None:
        if self.timesteps < 1:
            raise ConfigError(f"timesteps = {self.timesteps} must be ≥ 1")
        _ = self.sampling  # which checks its numbers

    @property
    def sampling(self) -> Sampling:
        """Experience of an iteration."""
        return Sampling(self.parallel, self.min_steps)


@dataclass(frozen=True)
class Method:
    """How a run explores.

    Attributes:
        bonus: curiosity, rnd, vime or none.
        options: keyword arguments of the bonus's configuration.
        embedding: what curiosity's encoder learns from: the "demonstrations" by Algorithm 1;
            nothing ("random"); or the run itself, "continual"ly.
        encoder: keyword arguments of `EncoderConfig` that replace the task's.
        continual: when it is learnt anew, if it is.
        pretrained: whether the policy has imitated the demonstrations.
        timesteps: replaces the task's budget; 0 does not.
    """

    bonus: str
    options: dict = field(default_factory=dict)
    embedding: str = "demonstrations"
    encoder: dict = field(default_factory=dict)
    continual: ContinualConfig = field(default_factory=ContinualConfig)
    pretrained: bool = True
    timesteps: int = 0

    def __post_init__(self) -> None:
        known_name("bonus", self.bonus, BONUSES)
        known_name("embedding", self.embedding, ENCODERS)
        if self.timesteps < 0:
            raise ConfigError(f"timesteps = {self.timesteps} must be ≥ 0")


@dataclass(frozen=True)
class CellSettings:
    """All that the rows of one (task, method) depend on, but for the seed.

    Attributes:
        task: name of it.
        points: rows of a run, evenly spaced over its budget.
        training: the task's settings.
        method: how the runs explore.
        world: a digest of the task's own definition; see `world_digest`.
    """

    task: str
    points: int
    training: TaskSettings
    method: Method
    world: str = ""

    @property
    def timesteps(self) -> int:
        """Budget of a run."""
        return self.method.timesteps or self.training.timesteps

    def budget(self, job: Any) -> int | None:
        """Budget of a run of this cell."""
        return self.timesteps

    def fingerprint(self) -> str:
        """Settings as canonical JSON, stored beside results and compared on resume."""
        return json.dumps(dataclasses.asdict(self), indent=1, sort_keys=True)


@dataclass(frozen=True)
class CurveSettings:
    """A whole set of curves.

    Attributes:
        points: rows of a run.
        tasks: by name.
        methods: by task, then by name; a curve each.
        panels: which methods to draw together, by title; empty for a panel per task.
    """

    points: int
    tasks: Mapping[str, TaskSettings]
    methods: Mapping[str, Mapping[str, Method]]
    panels: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.points < 1:
            raise ConfigError(f"points = {self.points} must be ≥ 1")

    def cell(self, task: str, method: str) -> CellSettings:
        """The settings of a (task, method)."""
        return CellSettings(task, self.points, self.tasks[task], self.methods[task][method])

    def with_timesteps(self, timesteps: int) -> CurveSettings:
        """The same with every budget replaced."""
        tasks = {n: dataclasses.replace(t, timesteps=timesteps) for n, t in self.tasks.items()}
        methods = {
            task: {n: dataclasses.replace(m, timesteps=0) for n, m in row.items()}
            for task, row in self.methods.items()
        }
        return dataclasses.replace(self, tasks=tasks, methods=methods)


def load_curves(path: Path) -> CurveSettings:
    """Read and check `config/experiments/curves.yaml` or a file like it.

    Raises:
        ConfigError: the file is missing, not YAML, or holds an unknown or bad value.
    """
    return parse_file(path, _parse_curves)


def load_ablations(path: Path) -> CurveSettings:
    """Read `config/experiments/ablations.yaml`: variants of one method of another file's task.

    Raises:
        ConfigError: a file is missing, not YAML, or holds an unknown or bad value.
    """
    return parse_file(path, lambda raw: _parse_ablations(raw, path))


def digest(value: Any) -> str:
    """Ten hexadecimal digits that name a value made of numbers, strings, lists and dicts."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:10]


def _parse_curves(raw: Mapping[str, Any]) -> CurveSettings:
    tasks, methods = {}, {}
    for name, values in raw["tasks"].items():
        known_name("task", name, ARM_TASKS)
        values = dict(values)
        row = values.pop("bonuses")
        tasks[name] = build(TaskSettings, values, name)
        methods[name] = {
            bonus: _method({"bonus": bonus} | dict(options or {}), f"{name}.bonuses.{bonus}")
            for bonus, options in row.items()
        }
    return CurveSettings(int(raw["points"]), tasks, methods)


def _parse_ablations(raw: Mapping[str, Any], path: Path) -> CurveSettings:
    curves = load_curves(path.parent / raw["curves"])
    task = raw["task"]
    known_name("task", task, curves.tasks)
    bases, methods = curves.methods[task], {}
    for name, changes in raw["variants"].items():
        changes = dict(changes or {})
        bonus = changes.get("bonus", "curiosity")
        known_name(f"bonus of {name}:", bonus, bases)
        base = dataclasses.asdict(bases[bonus])
        base |= base.pop("options")
        encoder = base["encoder"] | changes.pop("encoder", {})
        methods[name] = _method(base | changes | {"encoder": encoder}, f"variants.{name}")
    panels = {title: list(names) for title, names in raw["panels"].items()}
    for name in {name for names in panels.values() for name in names}:
        known_name("variant", name, methods)
    return CurveSettings(curves.points, {task: curves.tasks[task]}, {task: methods}, panels)


def _method(values: Mapping[str, Any], where: str) -> Method:
    """What is not a field of `Method` is an option of the bonus."""
    own = {item.name for item in dataclasses.fields(Method)} - {"options"}
    fields = {key: value for key, value in values.items() if key in own}
    options = {key: value for key, value in values.items() if key not in own}
    return build(Method, {**fields, "options": options}, where)
