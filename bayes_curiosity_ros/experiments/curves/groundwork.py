"""What every run of a task starts from, made once: demonstrations, embedding, imitation."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import torch

from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.embedding import EmbeddingTrainer, train_embedding
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.model_file import SavedModel, load_model, save_model
from bayes_curiosity_ros.experiments.build import build_algorithm, make_config
from bayes_curiosity_ros.experiments.curves.settings import CellSettings, digest
from bayes_curiosity_ros.experiments.settings import CellSettings as LearnerSettings
from bayes_curiosity_ros.learning.imitation import imitate
from bayes_curiosity_ros.learning.pretrained import save_policy
from bayes_curiosity_ros.learning.trainer import Sampling
from bayes_curiosity_ros.learning.trpo import Trpo
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.tasks.arm.demonstrations import Demonstrations, collect
from bayes_curiosity_ros.tasks.arm.names import named_arm_task
from bayes_curiosity_ros.tasks.arm.task import ArmTask
from bayes_curiosity_ros.tasks.task import Task

Tell = Callable[[str], object]


class Groundwork:
    """Files of one cell, named by the settings they depend on; cells of a task share them.

    Args:
        folder: where they are kept.
        cell: whose.
        threads: to simulate on; what is made does not depend on it.
    """

    def __init__(self, folder: Path, cell: CellSettings, threads: int = 1) -> None:
        self.cell = cell
        self.arm: ArmTask = named_arm_task(cell.task, RobotConfig.load(), threads=threads)
        self.task: Task = self.arm
        training = cell.training
        shown = digest([cell.task, self.world, dataclasses.asdict(training.demonstrations)])
        embedding = digest([shown, self.encoder, dataclasses.asdict(training.embedding)])
        policy = [dataclasses.asdict(part) for part in (training.policy, training.imitation)]
        self._stem = folder / cell.task
        self.demonstrations = self._named("demonstrations", shown, "npz")
        self.embedding = self._named("embedding", embedding, "safetensors")
        self._policy_digest = digest([shown, policy])

    @property
    def world(self) -> str:
        """A digest of the task's definition: other numbers there make other results."""
        task = self.arm
        parts = [task.config, task.placement, task.robot]  # type: ignore[attr-defined]
        return digest([task.horizon, *(dataclasses.asdict(part) for part in parts)])

    @property
    def encoder(self) -> dict[str, object]:
        """Keyword arguments of `EncoderConfig`."""
        return {**self.cell.training.encoder, **self.cell.method.encoder}

    def policy(self, seed: int) -> Path:
        """The imitated policy of a seed."""
        return self._named(f"policy_{seed}", self._policy_digest, "pt")

    def make(self, seeds: Iterable[int], tell: Tell) -> None:
        """Make what is missing for runs of these seeds.

        Args:
            seeds: of the runs.
            tell: told one line per thing made.
        """
        self.demonstrations.parent.mkdir(parents=True, exist_ok=True)
        if not self.demonstrations.exists():
            self._demonstrate(tell)
        method = self.cell.method
        trained = method.bonus == "curiosity" and method.embedding == "demonstrations"
        if trained and not self.embedding.exists():
            self._embed(tell)
        if method.pretrained:
            for seed in seeds:
                if not self.policy(seed).exists():
                    self._imitate(seed, tell)

    def shown(self) -> Demonstrations:
        """The demonstrations."""
        return Demonstrations.load(self.demonstrations)

    def trained_encoder(self) -> Encoder:
        """The encoder that Algorithm 1 made of them."""
        return load_model(self.embedding).curiosity.encoder

    def random_encoder(self, seed: int) -> Encoder:
        """An encoder that nobody trained."""
        sizes = {"vector_size": self.task.observation_size}
        config = make_config(EncoderConfig, sizes | self.encoder)
        return Encoder(config, torch.Generator().manual_seed(seed))

    def learner(self, rng: np.random.Generator) -> Trpo:
        """TRPO with a fresh policy."""
        training = self.cell.training
        settings = LearnerSettings(
            self.cell.timesteps,
            Sampling(training.parallel, training.min_steps),
            vars(training.learner),
            vars(training.policy),
        )
        algorithm = build_algorithm("trpo", self.task, settings, rng)
        assert isinstance(algorithm, Trpo)
        return algorithm

    def _named(self, what: str, name: str, suffix: str) -> Path:
        return self._stem.with_name(f"{self._stem.name}_{what}_{name}.{suffix}")

    def _demonstrate(self, tell: Tell) -> None:
        shown = collect(self.arm, self.cell.training.demonstrations)
        shown.save(self.demonstrations)
        tell(
            f"{self.cell.task}: {len(shown.actions)} demonstrations, {shown.successes} of "
            f"{shown.episodes} episodes succeeded"
        )

    def _embed(self, tell: Tell) -> None:
        shown, seed = self.shown(), self.cell.training.demonstrations.seed
        trainer = EmbeddingTrainer(
            self.random_encoder(seed),
            Observations(shown.vectors, shown.images),
            shown.actions,
            self.cell.training.embedding,
            seed,
        )
        save_model(self.embedding, SavedModel(Curiosity(train_embedding(trainer))))
        tell(
            f"{self.cell.task}: embedding, held-out negative log-likelihood "
            f"{trainer.losses[0]:.2f} → {trainer.best_loss:.2f} nats in {trainer.epoch} epochs"
        )

    def _imitate(self, seed: int, tell: Tell) -> None:
        shown, settings = self.shown(), self.cell.training.imitation
        policy = self.learner(learner_rng(seed)).policy
        rows = slice(settings.pairs or None)
        loss = imitate(
            policy,
            shown.vectors[rows],
            shown.actions[rows],
            np.random.default_rng([seed, 3]),
            epochs=settings.epochs,
            learning_rate=settings.learning_rate,
        )
        save_policy(self.policy(seed), policy, self.task.name)
        tell(f"{self.cell.task}: policy of seed {seed}, negative log-likelihood {loss:.2f} nats")


def learner_rng(seed: int) -> np.random.Generator:
    """Source of a learner's first weights, whatever the bonus."""
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0])


def rollout_rng(seed: int) -> np.random.Generator:
    """Source of a run's placements and noise, whatever the bonus."""
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[1])
