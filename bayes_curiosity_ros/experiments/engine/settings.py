"""What an experiment's configuration file says, checked before any work is spent.

A file may begin with `extends: other.yaml`, a file beside it: mappings are merged deeply, so that
it says only what differs. `every_task` is merged beneath each task. A method may say `like: NAME`,
another method of the same task, and then only what differs from that.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bayes_curiosity_ros.configuration.settings import build, read_yaml
from bayes_curiosity_ros.curiosity.embedding import EmbeddingConfig
from bayes_curiosity_ros.errors import ConfigError, unknown_name
from bayes_curiosity_ros.experiments.engine.jobs import Cell
from bayes_curiosity_ros.experiments.engine.methods import Method, merged, parse_method
from bayes_curiosity_ros.learning.algorithm import LEARNERS
from bayes_curiosity_ros.learning.gatherer import Sampling
from bayes_curiosity_ros.learning.policy import PolicyConfig
from bayes_curiosity_ros.learning.preparation import ImitationConfig, PreparationConfig
from bayes_curiosity_ros.tasks.demonstrations import DemonstrationConfig
from bayes_curiosity_ros.tasks.registry import TASKS

# Options of learners that are younger than stored results, with their defaults.
LATE_OPTIONS = {"keep_successes": False}


@dataclass(frozen=True)
class LearnerSettings:
    """A learner on a task: the same for every method.

    Attributes:
        timesteps: budget of a run, in environment steps.
        parallel: episodes side by side.
        min_steps: environment steps of an iteration, at least.
        options: of the learner's configuration.
        policy: shape of the policy of a learner that has a Gaussian one.
        points: replaces the experiment's rows of a run; 0 does not.
    """

    timesteps: int
    parallel: int
    min_steps: int
    options: dict = field(default_factory=dict)
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    points: int = 0

    def __post_init__(self) -> None:
        if self.timesteps < 1 or self.points < 0:
            raise ConfigError(
                f"timesteps = {self.timesteps} must be ≥ 1, points = {self.points} ≥ 0"
            )
        _ = self.sampling  # which checks its numbers

    @property
    def sampling(self) -> Sampling:
        """Experience of an iteration."""
        return Sampling(self.parallel, self.min_steps)


@dataclass(frozen=True)
class TaskSettings:
    """A task: what its learners and methods are, and what all of them start from.

    Attributes:
        learners: `LearnerSettings` by name.
        methods: `Method` by name.
        embedding_from: task whose demonstrations embedding and imitation learn from; "" for the
            task itself.
        options: of the task, those that differ from its defaults.
        shown: options of the demonstrated task that differ from `options`, such as where its
            arm is parked.
        demonstrations: what embedding and imitation learn from.
        demonstrations_per_seed: whether every seed has demonstrations and an encoder of its own,
            which no file keeps; else all runs share one set.
        encoder: options of `EncoderConfig` that differ from what fits the task.
        embedding: Algorithm 1.
        imitation: pre-training of policies.
        pretrained: whether policies have imitated the demonstrations, unless a method says.
    """

    learners: dict
    methods: dict
    embedding_from: str = ""
    options: dict = field(default_factory=dict)
    shown: dict = field(default_factory=dict)
    demonstrations: DemonstrationConfig = field(default_factory=DemonstrationConfig)
    demonstrations_per_seed: bool = False
    encoder: dict = field(default_factory=dict)
    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    imitation: ImitationConfig = field(default_factory=ImitationConfig)
    pretrained: bool = False


@dataclass(frozen=True)
class CellSettings:
    """All that the rows of one cell depend on, but for the seed.

    Attributes:
        cell: task, learner and method by name.
        points: rows of a run, evenly spaced over its budget.
        evaluation_episodes: episodes without noise at each row, and before training; 0 for none.
        learning: the learner's settings.
        method: how the runs explore.
        preparation: what they start from.
        demonstrations_per_seed, embedding_from, options, shown: see `TaskSettings`.
        world: digest of the task's own definition, where it has one; see `build.world_of`.
    """

    cell: Cell
    points: int
    evaluation_episodes: int
    learning: LearnerSettings
    method: Method
    preparation: PreparationConfig
    demonstrations_per_seed: bool
    embedding_from: str = ""
    options: dict = field(default_factory=dict)
    shown: dict = field(default_factory=dict)
    world: str = ""

    @property
    def timesteps(self) -> int:
        """Budget of a run."""
        return self.learning.timesteps

    def fingerprint(self) -> dict[str, Any]:
        """Settings as plain values, stored beside results and compared on resume.

        What is left at its default need not be there, so that a new setting spoils no results.
        """
        values = dataclasses.asdict(self)
        for part, name in (
            ("method", "shuffled"),
            ("method", "demonstrated_episodes"),
            ("method", "learner_options"),
            ("learning", "points"),
        ):
            if not values[part][name]:
                del values[part][name]
        options = values["learning"]["options"]
        for name in [name for name, value in LATE_OPTIONS.items() if options.get(name) == value]:
            del options[name]
        late = ("embedding_from", "options", "shown")
        return {key: value for key, value in values.items() if value or key not in late}


@dataclass(frozen=True)
class Selection:
    """Names that an experiment is confined to; none for all.

    Attributes:
        tasks: of these only.
        learners: of these only.
        methods: of these only; where none is named and there are panels, of theirs.
    """

    tasks: tuple[str, ...] = ()
    learners: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExperimentSettings:
    """A whole experiment.

    Attributes:
        points: rows of a run, evenly spaced over its budget.
        tasks: `TaskSettings` by name.
        evaluation_episodes: episodes without noise at each row, and before training; 0 for none.
        panels: names of the methods to draw together, by title; empty for a panel per task.
    """

    points: int
    tasks: dict
    evaluation_episodes: int = 0
    panels: dict = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.points < 1 or self.evaluation_episodes < 0:
            raise ConfigError(
                f"points = {self.points}, evaluation_episodes = {self.evaluation_episodes}; need "
                "points ≥ 1 and evaluation_episodes ≥ 0"
            )

    def cells(self) -> list[Cell]:
        """Every cell, in the file's order."""
        return [
            Cell(name, learner, method)
            for name, task in self.tasks.items()
            for learner in task.learners
            for method in task.methods
        ]

    def cell(self, cell: Cell) -> CellSettings:
        """The settings of one cell."""
        task: TaskSettings = self.tasks[cell.task]
        learner: LearnerSettings = task.learners[cell.learner]
        method: Method = task.methods[cell.method]
        budget, encoder = method.timesteps or learner.timesteps, {**task.encoder, **method.encoder}
        return CellSettings(
            cell,
            learner.points or self.points,
            self.evaluation_episodes,
            dataclasses.replace(
                learner, timesteps=budget, options=learner.options | method.learner_options
            ),
            method,
            PreparationConfig(task.demonstrations, encoder, task.embedding, task.imitation),
            task.demonstrations_per_seed,
            task.embedding_from,
            task.options,
            task.shown,
        )

    def only(self, selection: Selection) -> ExperimentSettings:
        """The same, confined to these names.

        Raises:
            ConfigError: a name is none of this experiment's.
        """
        tasks = _chosen("task", selection.tasks, self.tasks)
        rows = [(name, self.tasks[name]) for name in tasks]
        learners = _chosen("learner", selection.learners, _names(t.learners for _, t in rows))
        methods = _chosen("method", selection.methods, _names(t.methods for _, t in rows))
        confined = {
            name: dataclasses.replace(
                task,
                learners={key: task.learners[key] for key in learners if key in task.learners},
                methods={key: task.methods[key] for key in methods if key in task.methods},
            )
            for name, task in rows
        }
        return dataclasses.replace(self, tasks=confined)

    def with_timesteps(self, timesteps: int) -> ExperimentSettings:
        """The same with every budget replaced."""
        tasks = {
            name: dataclasses.replace(
                task,
                learners=_with_timesteps(task.learners, timesteps),
                methods=_with_timesteps(task.methods, 0),
            )
            for name, task in self.tasks.items()
        }
        return dataclasses.replace(self, tasks=tasks)


def load_settings(path: Path) -> ExperimentSettings:
    """Read and check a configuration file.

    Raises:
        ConfigError: a file is missing, not YAML, or holds an unknown or bad value.
    """
    raw = read_extended(path)
    selection = build(Selection, raw.pop("only", {}), f"{path.name}: only")
    common = raw.pop("every_task", {})
    if not isinstance(raw.get("tasks"), Mapping):
        raise ConfigError(f"{path}: missing tasks")
    raw["tasks"] = {
        name: parse_task(name, merged(common, values), path.name)
        for name, values in raw["tasks"].items()
    }
    settings = build(ExperimentSettings, raw, path.name)
    shown = tuple(dict.fromkeys(name for names in settings.panels.values() for name in names))
    settings.only(Selection(methods=shown))  # which checks the panels' names
    return settings.only(dataclasses.replace(selection, methods=selection.methods or shown))


def parse_task(name: str, raw: Mapping[str, Any], where: str) -> TaskSettings:
    """A task's settings, names checked.

    Args:
        name: of the task.
        raw: values as in the file.
        where: file to name in an error.
    """
    TASKS.require(name, *filter(None, [raw.get("embedding_from")]))
    place, values = f"{where}: tasks.{name}", dict(raw)
    methods, pretrained = values.get("methods") or {}, values.get("pretrained", False)
    values["learners"] = {
        key: _learner(key, options, f"{place}.learners.{key}")
        for key, options in (values.get("learners") or {}).items()
    }
    values["methods"] = {
        key: parse_method(key, methods, pretrained, f"{place}.{key}") for key in methods
    }
    return build(TaskSettings, values, place)


def read_extended(path: Path) -> dict[str, Any]:
    """A file's values on top of those of the file that it extends.

    Raises:
        ConfigError: a file is missing or not YAML.
    """
    try:
        raw = dict(read_yaml(path))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    base = raw.pop("extends", None)
    return raw if base is None else merged(read_extended(path.parent / str(base)), raw)


def digest(value: Any) -> str:
    """Ten hexadecimal digits that name a value made of numbers, strings, lists and dicts."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:10]


def _learner(name: str, raw: Mapping[str, Any], where: str) -> LearnerSettings:
    """A learner's settings, its options with their defaults: results depend on those too."""
    learner = build(LearnerSettings, raw, where)
    options: Any = build(LEARNERS[name].config, learner.options, f"{where}.options")
    return dataclasses.replace(learner, options=dataclasses.asdict(options))


def _with_timesteps(named: Mapping[str, Any], timesteps: int) -> dict[str, Any]:
    return {k: dataclasses.replace(value, timesteps=timesteps) for k, value in named.items()}


def _chosen(kind: str, names: Sequence[str], valid: Iterable[str]) -> list[str]:
    """The names asked for, all of them valid ones; all valid ones if none is."""
    known = list(valid)
    for name in names:
        if name not in known:
            raise unknown_name(kind, name, known)
    return list(dict.fromkeys(names)) or known


def _names(mappings: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for mapping in mappings for name in mapping))
