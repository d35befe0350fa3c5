"""What every run of a task starts from, made once: demonstrations, embedding, imitation."""

from __future__ import annotations

import dataclasses
import fcntl
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.embedding import EmbeddingTrainer, train_embedding
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.model_file import SavedModel, load_model, save_model
from bayes_curiosity_ros.experiments.curves.settings import CellSettings, digest
from bayes_curiosity_ros.experiments.table1.build import build_algorithm, make_config
from bayes_curiosity_ros.experiments.table1.settings import CellSettings as LearnerSettings
from bayes_curiosity_ros.learning.imitation import imitate
from bayes_curiosity_ros.learning.perception import (
    encoder_config,
    perceived,
    seen_with,
    vectors_for,
)
from bayes_curiosity_ros.learning.pretrained import load_policy, save_policy
from bayes_curiosity_ros.learning.trpo import Trpo
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.tasks.arm.names import named_arm_task
from bayes_curiosity_ros.tasks.arm.task import ArmTask
from bayes_curiosity_ros.tasks.demonstrations import Demonstrations, collect
from bayes_curiosity_ros.tasks.task import Task

Tell = Callable[[str], object]


class Groundwork:
    """Files of one cell, named by the settings they depend on; cells of a task share them.

    Args:
        folder: where they are kept.
        cell: whose.

    Attributes:
        arm: the task as it is simulated.
        world: a digest of the task's definition: other numbers there make other results.
    """

    def __init__(self, folder: Path, cell: CellSettings) -> None:
        self.cell = cell
        # One thread: runs go side by side in processes.
        self.arm: ArmTask = named_arm_task(cell.task, RobotConfig.load(), threads=1)
        self.world = _digest_of(self.arm)
        self._stem = folder / cell.task
        training = cell.training
        shown = digest([cell.task, self.world, dataclasses.asdict(training.demonstrations)])
        embedding = digest([shown, self._encoder, dataclasses.asdict(training.embedding)])
        policy = [dataclasses.asdict(part) for part in (training.policy, training.imitation)]
        seen = embedding if self.arm.visual else shown
        self._policy_digest = digest([seen, policy])
        self.demonstrations = self._named("demonstrations", shown, "npz")
        self.embedding = self._named("embedding", embedding, "safetensors")

    @cached_property
    def task(self) -> Task:
        """The task as policies see it: a visual one through the trained encoder."""
        return perceived(self.arm, self.trained_encoder()) if self.arm.visual else self.arm

    def policy(self, seed: int) -> Path:
        """The imitated policy of a seed."""
        return self._named(f"policy_{seed}", self._policy_digest, "pt")

    def ready(self, seeds: Iterable[int]) -> bool:
        """Whether all that runs of these seeds start from is there."""
        return next(self._missing(seeds), None) is None

    def make(self, seeds: Iterable[int], tell: Tell, line: int = 0) -> None:
        """Make what is missing for runs of these seeds.

        Args:
            seeds: of the runs.
            tell: told one line per thing made.
            line: of the terminal that progress is shown on.
        """
        self._stem.parent.mkdir(parents=True, exist_ok=True)
        # Another process may be at work on other cells of the same task: one makes, one waits.
        with self._stem.with_name(f".{self._stem.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for step in self._missing(seeds, line):
                step(tell)

    def _missing(self, seeds: Iterable[int], line: int = 0) -> Iterator[Callable[[Tell], None]]:
        """What makes the next thing that is not there, one after the other."""
        if not self.demonstrations.exists():
            yield self._demonstrate
        if self._needs_embedding and not self.embedding.exists():
            yield partial(self._embed, line)
        if self.cell.method.pretrained:
            for seed in seeds:
                if not self.policy(seed).exists():
                    yield partial(self._imitate, seed)

    def shown(self) -> Demonstrations:
        """The demonstrations."""
        return Demonstrations.load(self.demonstrations)

    def trained_encoder(self) -> Encoder:
        """The encoder that Algorithm 1 made of them."""
        return load_model(self.embedding).curiosity.encoder

    def random_encoder(self, seed: int) -> Encoder:
        """An encoder that nobody trained."""
        shape = dataclasses.asdict(encoder_config(self.arm)) | self._encoder
        config = make_config(EncoderConfig, shape)
        return Encoder(config, torch.Generator().manual_seed(seed))

    def fresh_learner(self, task: Task, seed: int) -> Trpo:
        """TRPO before any imitation; a seed's first policy is the same for every method."""
        training = self.cell.training
        settings = LearnerSettings(
            self.cell.timesteps,
            training.sampling,
            vars(training.learner),
            vars(training.policy),
        )
        algorithm = build_algorithm("trpo", task, settings, learner_rng(seed))
        assert isinstance(algorithm, Trpo)
        return algorithm

    def learner(self, seed: int) -> Trpo:
        """TRPO as a run starts with it."""
        learner = self.fresh_learner(self.task, seed)
        if self.cell.method.pretrained:
            load_policy(self.policy(seed), learner.policy, self.task.name, seen_with(self.task))
        return learner

    @property
    def _encoder(self) -> dict[str, Any]:
        """Keyword arguments of `EncoderConfig`."""
        return {**self.cell.training.encoder, **self.cell.method.encoder}

    @property
    def _needs_embedding(self) -> bool:
        method = self.cell.method
        curious = method.bonus == "curiosity" and method.embedding == "demonstrations"
        return self.arm.visual or curious

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """What imitation learns from: observations as the policy sees them, and actions."""
        shown, rows = self.shown(), slice(self.cell.training.imitation.pairs or None)
        seen = Observations(shown.vectors, shown.images)
        return vectors_for(self.task, seen)[rows], shown.actions[rows]

    def _named(self, what: str, name: str, suffix: str) -> Path:
        return self._stem.with_name(f"{self._stem.name}_{what}_{name}.{suffix}")

    def _demonstrate(self, tell: Tell) -> None:
        shown = collect(self.arm, self.cell.training.demonstrations)
        shown.save(self.demonstrations)
        tell(
            f"{self.cell.task}: {len(shown.actions)} demonstrations, {shown.successes} of "
            f"{shown.episodes} episodes succeeded"
        )

    def _embed(self, line: int, tell: Tell) -> None:
        """Algorithm 1; interrupted, it goes on at the last epoch."""
        shown, seed = self.shown(), self.cell.training.demonstrations.seed
        seen = Observations(shown.vectors, shown.images)
        settings = self.cell.training.embedding
        trainer = EmbeddingTrainer(self.random_encoder(seed), seen, shown.actions, settings, seed)
        part = self.embedding.with_suffix(".part")
        encoder = train_embedding(trainer, checkpoint=part, label=self.cell.task, line=line)
        save_model(self.embedding, SavedModel(Curiosity(encoder)))
        part.unlink()
        tell(
            f"{self.cell.task}: embedding, held-out negative log-likelihood "
            f"{trainer.losses[0]:.2f} → {trainer.best_loss:.2f} nats in {trainer.epoch} epochs"
        )

    def _imitate(self, seed: int, tell: Tell) -> None:
        settings = self.cell.training.imitation
        policy = self.fresh_learner(self.task, seed).policy
        observations, actions = self._pairs
        loss = imitate(
            policy,
            observations,
            actions,
            np.random.default_rng([seed, 3]),
            epochs=settings.epochs,
            learning_rate=settings.learning_rate,
        )
        save_policy(self.policy(seed), policy, self.task.name, seen_with(self.task))
        tell(f"{self.cell.task}: policy of seed {seed}, negative log-likelihood {loss:.2f} nats")


def learner_rng(seed: int) -> np.random.Generator:
    """Source of a learner's first weights, whatever the bonus."""
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0])


def rollout_rng(seed: int) -> np.random.Generator:
    """Source of a run's placements and noise, whatever the bonus."""
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[1])


def _digest_of(task: ArmTask) -> str:
    parts = [task.config, task.placement, task.robot]  # type: ignore[attr-defined]
    if task.visual:  # how it is looked at decides what it is
        parts.append(encoder_config(task))
    return digest([task.horizon, *(dataclasses.asdict(part) for part in parts)])
