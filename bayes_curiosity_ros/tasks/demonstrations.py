"""What a task's expert does, with a little noise: data for the embedding and for imitation."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from bayes_curiosity_ros.errors import ConfigError, ModelFileError
from bayes_curiosity_ros.files import read_zip, reason_of, sealed_zip, write_atomically
from bayes_curiosity_ros.tasks.simulation import Simulation
from bayes_curiosity_ros.tasks.task import Task

KIND = "bayes_curiosity demonstrations 1"
MOST_PAIRS = 10**9  # that a command line may ask for


@dataclass(frozen=True)
class DemonstrationConfig:
    """How many, how noisy, from which seed.

    Attributes:
        count: pairs of observation and action.
        noise_std: standard deviation of the Gaussian noise on actions in [-1, 1].
        seed: of placements and noise.
        parallel: cells side by side; part of what the seed means.
    """

    count: int = 8000
    noise_std: float = 0.1
    seed: int = 0
    parallel: int = 32

    def __post_init__(self) -> None:
        if self.count < 1 or self.parallel < 1 or not 0 <= self.noise_std < 10:
            raise ConfigError(
                f"count = {self.count}, parallel = {self.parallel}, noise_std = {self.noise_std}; "
                "need count ≥ 1, parallel ≥ 1 and 0 ≤ noise_std < 10"
            )


@dataclass(frozen=True)
class Demonstrations:
    """Pairs of an observation and the action executed there.

    Attributes:
        task: its name.
        vectors: (N, D) observations, as of `Task.observe`.
        images: (N, 4, H, W) bytes when the task is visual, else None.
        actions: (N, A) in [-1, 1], noise included.
        episodes: episodes that ended while collecting; `successes` of them succeeded.
    """

    task: str
    vectors: np.ndarray
    images: np.ndarray | None
    actions: np.ndarray
    episodes: int
    successes: int
    config: DemonstrationConfig

    def save(self, path: Path) -> None:
        """Write an .npz file with a checksum: whole, or not at all."""
        arrays = {"vectors": self.vectors, "actions": self.actions}
        if self.images is not None:
            arrays["images"] = self.images
        about = {"kind": KIND, "task": self.task, "episodes": self.episodes}
        about |= {"successes": self.successes, "config": vars(self.config)}
        file = io.BytesIO()
        np.savez_compressed(file, about=np.array(json.dumps(about)), **arrays)  # type: ignore[arg-type]
        write_atomically(path, sealed_zip(file.getvalue()))

    @staticmethod
    def load(path: Path) -> Demonstrations:
        """Read what `save` wrote.

        Raises:
            ModelFileError: missing, damaged, or of another kind.
        """
        remedy = "make one with `bayes-curiosity demos`"
        file = read_zip(path, "file of demonstrations", remedy)
        try:
            with np.load(file, allow_pickle=False) as content:
                return _demonstrations(path, {name: content[name] for name in content.files})
        except (OSError, EOFError, ValueError, TypeError, KeyError, BadZipFile) as error:
            raise ModelFileError(
                f"{path}: not a file of demonstrations ({reason_of(error)}); {remedy}"
            ) from error


def _demonstrations(path: Path, arrays: Mapping[str, np.ndarray]) -> Demonstrations:
    about: dict[str, Any] = json.loads(str(arrays["about"]))
    if about.get("kind") != KIND:
        raise ModelFileError(f"{path}: kind {about.get('kind')!r}, expected {KIND!r}")
    return Demonstrations(
        about["task"],
        arrays["vectors"],
        arrays.get("images"),
        arrays["actions"],
        about["episodes"],
        about["successes"],
        DemonstrationConfig(**about["config"]),
    )


def collect(
    task: Task,
    config: DemonstrationConfig,
    progress: Callable[[int], object] = lambda pairs: None,
    rng: np.random.Generator | None = None,
) -> Demonstrations:
    """Let the expert act until there are `config.count` pairs.

    Args:
        task: what the expert does.
        config: how many, how noisy.
        progress: told the number of pairs each step added.
        rng: source of placements and noise, in place of the configuration's seed.
    """
    rng = rng or np.random.default_rng(config.seed)
    simulation = Simulation(task, min(config.parallel, config.count), rng)
    vectors: list[np.ndarray] = []
    images: list[np.ndarray] = []
    actions: list[np.ndarray] = []
    gathered = episodes = successes = 0
    while gathered < config.count:
        expert = task.expert_at(simulation.states)
        action = expert + config.noise_std * rng.standard_normal(expert.shape)
        vectors.append(simulation.observe())
        if task.visual:
            images.append(task.images(simulation.states))
        actions.append(np.clip(action, -1.0, 1.0))
        step = simulation.step(actions[-1])
        ended = step.terminated | step.truncated
        episodes, successes = episodes + ended.sum(), successes + (ended & step.succeeded).sum()
        simulation.restart(ended)
        progress(min(len(action), config.count - gathered))
        gathered += len(action)
    return Demonstrations(
        task.name,
        np.concatenate(vectors)[: config.count],
        np.concatenate(images)[: config.count] if task.visual else None,
        np.concatenate(actions)[: config.count],
        int(episodes),
        int(successes),
        config,
    )


def success_rate(task: Task, count: int, seed: int, batch: int = 100) -> float:
    """Share of `count` random placements that the expert, without noise, solves."""
    rng = np.random.default_rng(seed)
    successes = 0
    for start in range(0, count, batch):
        simulation = Simulation(task, min(batch, count - start), rng)
        for _ in range(task.horizon):
            if task.terminal(simulation.states).all():
                break
            simulation.step(task.expert_at(simulation.states))
        successes += int(task.successful(simulation.states).sum())
    return successes / count
