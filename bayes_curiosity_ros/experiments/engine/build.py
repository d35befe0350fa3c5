"""From a cell's settings to a trainer before its first iteration, and what it starts from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bayes_curiosity_ros.curiosity.bonus import BONUSES, Bonus, BonusInputs
from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.encoder import Encoder
from bayes_curiosity_ros.curiosity.model_file import SavedModel, load_model, save_model
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.experiments.engine.methods import merged
from bayes_curiosity_ros.experiments.engine.placebo import Shuffled
from bayes_curiosity_ros.experiments.engine.settings import CellSettings, digest
from bayes_curiosity_ros.learning.algorithm import Algorithm, make_learner
from bayes_curiosity_ros.learning.demonstrated import demonstrated, remembering
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.gatherer import Rollouts
from bayes_curiosity_ros.learning.off_policy import OffPolicy
from bayes_curiosity_ros.learning.perception import PerceivedTask, encoder_config, perceived
from bayes_curiosity_ros.learning.policy import GaussianPolicy
from bayes_curiosity_ros.learning.preparation import (
    Preparation,
    PreparedFiles,
    Tell,
    observations_of,
    train_encoder,
)
from bayes_curiosity_ros.learning.side_by_side import Executor
from bayes_curiosity_ros.learning.trainer import Trainer
from bayes_curiosity_ros.locks import locked
from bayes_curiosity_ros.tasks.arm.task import ArmTask
from bayes_curiosity_ros.tasks.demonstrations import Demonstrations, collect
from bayes_curiosity_ros.tasks.registry import TASKS, make_task
from bayes_curiosity_ros.tasks.task import Task


class Ground:
    """What the runs of one cell start from: its task, its preparation, its learner and bonus.

    Files are named by the settings they depend on, so that cells share them.

    Args:
        cell: its settings.
        folder: of the files.
        tell: told one line per thing made.
        line: of the terminal that progress is shown on, where several are.

    Attributes:
        simulated: the task as it is simulated.
        cell: the settings, with the digest of that task.
        preparation: demonstrations, embedding and imitation, in files.
    """

    def __init__(
        self, cell: CellSettings, folder: Path, tell: Tell = lambda line: None, line: int = 0
    ) -> None:
        self.simulated = _task(cell.cell.task, cell.options)
        self.cell = replace(cell, world=world_of(self.simulated))
        self._folder = folder
        files, shown = self.files(seed=0), _shown_task(cell)
        self.preparation = Preparation(self.simulated, cell.preparation, files, tell, line, shown)

    @property
    def task(self) -> Task:
        """The task as policies see it: a visual one through the trained encoder."""
        return self.preparation.seen_task

    def files(self, seed: int) -> PreparedFiles:
        """Where the preparation of a seed is kept; only its policy is the seed's own."""
        cell = self.cell
        config, name = cell.preparation, cell.cell.task
        demonstrated = [part for part in (cell.embedding_from, cell.shown) if part]
        shown = digest([name, cell.world, asdict(config.demonstrations), *demonstrated])
        model = digest([shown, config.encoder, asdict(config.embedding)])
        seen = model if self.simulated.visual else shown
        learner = [cell.cell.learner, asdict(cell.learning.policy), asdict(config.imitation)]
        return PreparedFiles(
            self._folder / f"{name}_demonstrations_{shown}.npz",
            self._folder / f"{name}_model_{model}.safetensors",
            self._folder / f"{name}_policy_{seed}_{digest([seen, learner])}.pt",
            self._folder / f"{name}_shown_{shown}.npz",
        )

    def ready(self, seeds: Iterable[int]) -> bool:
        """Whether all files that runs of these seeds start from are there."""
        shared = {
            self.files(0).model: self._needs_model,
            self.files(0).demonstrations: self._needs_demonstrations,
        }
        policies = [self.files(seed).policy for seed in seeds if self.cell.method.pretrained]
        needed = [path for path, wanted in shared.items() if wanted] + policies
        return all(path.exists() for path in needed)

    def make(self, seeds: Iterable[int]) -> None:
        """Make what is missing for runs of these seeds.

        Another process may be at work on other cells of the same task: one makes, one waits.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        with locked(self._folder / f".{self.cell.cell.task}.lock"):
            if self._needs_model:
                _ = self.preparation.encoder
            if self._needs_demonstrations:
                _ = self.preparation.demonstrations
            if self.cell.method.pretrained:
                for seed in seeds:
                    self.learner(seed)

    def trainer(self, seed: int, executor: Executor | None = None) -> Trainer:
        """A run before its first iteration; the seed decides everything random.

        Learner, rollouts and bonus draw from streams of their own, so that a seed's first policy
        and initial states are the same whatever the method.

        Args:
            seed: of the run.
            executor: runs its episodes and updates.
        """
        executor = executor or Executor()
        bonus = self._bonus(self.task, lambda: self.encoder(seed), seed)
        sampling, run = self.cell.learning.sampling, executor.run_wave
        rollouts = Rollouts(self.task, sampling, rollout_rng(seed), run)
        learner = self.learner(seed)
        if isinstance(learner, OffPolicy):
            learner.run = executor.run_updates
        return Trainer(self.task, learner, bonus, rollouts, run)

    def learner(self, seed: int) -> Algorithm:
        """The learner as a run starts with it."""
        learner = self._fresh_learner(self.task, seed)
        if self.cell.method.pretrained:
            self.preparation.files = self.files(seed)
            self.preparation.imitate(_imitator(learner), np.random.default_rng([seed, 3]))
        if self.cell.method.demonstrated_episodes:
            remembering(learner).remember(self.demonstrated(seed))
        return learner

    def demonstrated(self, seed: int) -> Episodes:
        """Whole episodes of the expert, as the task is demonstrated, for a learner's memory."""
        shown = self.preparation.shown_task
        return demonstrated(
            self.task,
            self.cell.method.demonstrated_episodes,
            self.cell.preparation.demonstrations.noise_std,
            np.random.default_rng([seed, 4]),
            None if shown is self.simulated else shown,
        )

    def encoder(self, seed: int) -> Encoder:
        """The encoder of a bonus that has one."""
        embedding = self.cell.method.embedding
        if embedding == "demonstrations":
            return self._trained_encoder(seed)
        encoder = self.preparation.random_encoder(seed)
        if embedding == "random":
            encoder.standardise_inputs(self.demonstrations(seed).vectors)
        else:
            encoder.offset.copy_(torch.from_numpy(self.task.observation_center))
            encoder.scale.copy_(torch.from_numpy(1.0 / self.task.observation_scale))
        return encoder

    def demonstrations(self, seed: int) -> Demonstrations:
        """What the embedding of a seed's runs learns from."""
        if not self.cell.demonstrations_per_seed:
            return self.preparation.demonstrations
        config = self.cell.preparation.demonstrations
        return collect(self.preparation.shown_task, config, rng=np.random.default_rng([seed, 1]))

    def check(self) -> None:
        """Make learner and bonus once without preparation, so that a bad setting fails now.

        Raises:
            ConfigError: a setting is bad.
        """
        method, encoder = self.cell.method, self.preparation.random_encoder(0)
        if self.simulated.visual and (method.encoder or method.embedding != "demonstrations"):
            raise ConfigError(
                f"{self.cell.cell}: a method has its own encoder; every method sees a visual task "
                "through the same one, so set `encoder` of the task instead"
            )
        task = perceived(self.simulated, encoder)
        learner = self._fresh_learner(task, 0)
        if method.pretrained:
            _imitator(learner)
        if method.demonstrated_episodes:
            remembering(learner)
        self._bonus(task, lambda: encoder, 0)

    @property
    def _has_encoder(self) -> bool:
        return BONUSES[self.cell.method.bonus].encoder and not self.cell.demonstrations_per_seed

    @property
    def _needs_model(self) -> bool:
        trained = self._has_encoder and self.cell.method.embedding == "demonstrations"
        return self.simulated.visual or trained

    @property
    def _needs_demonstrations(self) -> bool:
        return self._has_encoder and self.cell.method.embedding == "random"

    def _trained_encoder(self, seed: int) -> Encoder:
        if not self.cell.demonstrations_per_seed:
            return self.preparation.encoder
        model = self.files(seed).model
        path = model.with_stem(f"{model.stem}_{seed}")
        if not path.exists():  # learners share it; whoever else makes it makes the same
            path.parent.mkdir(parents=True, exist_ok=True)
            save_model(path, SavedModel(Curiosity(self._own_encoder(seed))))
        return load_model(path).curiosity.encoder

    def _own_encoder(self, seed: int) -> Encoder:
        """One that is trained on a seed's own demonstrations."""
        shown = self.demonstrations(seed)
        encoder, _ = train_encoder(
            self.preparation.random_encoder(seed),
            observations_of(shown),
            shown.actions,
            self.cell.preparation.embedding,
            seed,
            progress=False,
        )
        return encoder

    def _fresh_learner(self, task: Task, seed: int) -> Algorithm:
        """A learner before any imitation; a seed's first policy is the same for every method."""
        settings = self.cell.learning
        name = self.cell.cell.learner
        return make_learner(name, task, settings.options, settings.policy, learner_rng(seed))

    def _bonus(self, task: Task, encoder: Callable[[], Encoder], seed: int) -> Bonus:
        """The bonus before it has seen anything."""
        method = self.cell.method
        inputs = BonusInputs(
            task.observation_size,
            task.action_size,
            seed,
            encoder,
            latent_last=isinstance(task, PerceivedTask),
        )
        bonus = BONUSES[method.bonus].make(method.options, inputs)
        return Shuffled(bonus, seed) if method.shuffled else bonus


def _task(name: str, options: Mapping[str, Any]) -> Task:
    """One thread: runs go side by side in processes."""
    return make_task(name, **options, **({"threads": 1} if TASKS[name].arm else {}))


def _shown_task(cell: CellSettings) -> Task | None:
    """The task that is demonstrated instead of a cell's own; None where it is the same."""
    if not cell.embedding_from and not cell.shown:
        return None
    return _task(cell.embedding_from or cell.cell.task, merged(cell.options, cell.shown))


def learner_rng(seed: int) -> np.random.Generator:
    """Source of a learner's first weights, whatever the method."""
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0])


def rollout_rng(seed: int) -> np.random.Generator:
    """Source of a run's initial states and noise, whatever the method."""
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[1])


def world_of(task: Task) -> str:
    """Digest of an arm task's definition, whose numbers results depend on; "" for other tasks."""
    if not isinstance(task, ArmTask):
        return ""
    robot = asdict(task.robot)
    del robot["safety"]["max_overspeed"]  # of supervised arms; no result in process has it
    parts = [asdict(task.config), asdict(task.placement), robot]  # type: ignore[attr-defined]
    if task.visual:  # how it is looked at decides what it is
        parts.append(asdict(encoder_config(task)))
    return digest([task.horizon, *parts])


def _imitator(learner: Algorithm) -> GaussianPolicy:
    if learner.imitator is None:
        raise ConfigError(
            f"{type(learner).__name__} cannot begin with an imitated policy; set `pretrained: "
            "false`"
        )
    return learner.imitator
