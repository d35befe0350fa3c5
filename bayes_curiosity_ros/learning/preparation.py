"""What learning starts from: demonstrations, their embedding, an imitated policy. Made once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bayes_curiosity_ros.configuration.settings import build
from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.embedding import (
    EmbeddingConfig,
    EmbeddingTrainer,
    train_embedding,
)
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.model_file import SavedModel, load_model, save_model
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.demonstrated import demonstrated
from bayes_curiosity_ros.learning.episode_file import save_episodes
from bayes_curiosity_ros.learning.imitation import imitate
from bayes_curiosity_ros.learning.perception import (
    encoder_config,
    perceived,
    seen_with,
    vectors_for,
)
from bayes_curiosity_ros.learning.policy import GaussianPolicy
from bayes_curiosity_ros.learning.pretrained import load_policy, save_policy
from bayes_curiosity_ros.tasks.demonstrations import (
    DemonstrationConfig,
    Demonstrations,
    collect,
)
from bayes_curiosity_ros.tasks.task import Task

Tell = Callable[[str], object]


@dataclass(frozen=True)
class ImitationConfig:
    """How a policy is pre-trained.

    Attributes:
        epochs: passes of behaviour cloning. Few leave the policy with something to learn.
        learning_rate: of Adam.
        pairs: of the demonstrations, so many of the first; 0 for all.
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
class PreparationConfig:
    """How much is prepared, and how.

    Attributes:
        demonstrations: what embedding and imitation learn from; its seed is the embedding's too.
        encoder: options of `EncoderConfig` that differ from what fits the task.
        embedding: Algorithm 1.
        imitation: pre-training of policies.
    """

    demonstrations: DemonstrationConfig = field(default_factory=DemonstrationConfig)
    encoder: dict[str, Any] = field(default_factory=dict)
    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    imitation: ImitationConfig = field(default_factory=ImitationConfig)


@dataclass(frozen=True)
class PreparedFiles:
    """Where it is kept; each file is whole or absent.

    Attributes:
        demonstrations: pairs of observation and action.
        model: the encoder that Algorithm 1 made of them, with a posterior at its prior.
        policy: that has imitated them.
        shown: whole demonstrated episodes, for a learner with a memory for them.
    """

    demonstrations: Path
    model: Path
    policy: Path
    shown: Path

    @staticmethod
    def within(folder: Path) -> PreparedFiles:
        """Files of one run, under the names that every command knows."""
        names = ("demonstrations.npz", "model.safetensors", "policy.pt", "shown.npz")
        return PreparedFiles(*(folder / name for name in names))


class Preparation:
    """Demonstrations → embedding → imitation of one task; what is on disk is not made again.

    Args:
        task: as it is simulated.
        config: how much.
        files: where to keep what is made.
        tell: told one line per thing made.
        line: of the terminal that progress is shown on, where several are.
        shown_task: task with the same observations and actions that is demonstrated instead.

    Raises:
        ConfigError: the demonstrated task has other observations or actions.
    """

    def __init__(
        self,
        task: Task,
        config: PreparationConfig,
        files: PreparedFiles,
        tell: Tell = lambda line: None,
        line: int = 0,
        shown_task: Task | None = None,
    ) -> None:
        self.task = task
        self.shown_task = shown_task or task
        require_same_spaces(task, self.shown_task)
        self.config = config
        self.files = files
        self._tell = tell
        self._line = line

    @cached_property
    def demonstrations(self) -> Demonstrations:
        """The demonstrations.

        Raises:
            ConfigError: the file holds those of another task.
        """
        path = self.files.demonstrations
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            shown = collect(self.shown_task, self.config.demonstrations)
            shown.save(path)
            self._tell(
                f"{shown.task}: {len(shown.actions)} demonstrations, {shown.successes} of "
                f"{shown.episodes} episodes succeeded"
            )
        # From the file even if it was made just now: its arrays lie in memory as they will later.
        shown = Demonstrations.load(path)
        if shown.task != self.shown_task.name:
            raise ConfigError(
                f"{path} holds demonstrations of {shown.task!r}, not of {self.shown_task.name!r}; "
                "give another --output"
            )
        return shown

    def random_encoder(self, seed: int) -> Encoder:
        """An encoder that nobody trained."""
        shape = asdict(encoder_config(self.task)) | self.config.encoder
        config = build(EncoderConfig, shape, f"encoder of {self.task.name}")
        return Encoder(config, torch.Generator().manual_seed(seed))

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder that Algorithm 1 makes of the demonstrations; interrupted, it goes on."""
        path = self.files.model
        if path.exists():
            return load_model(path).curiosity.encoder
        part, seed = path.with_suffix(".part"), self.config.demonstrations.seed
        encoder, summary = train_encoder(
            self.random_encoder(seed),
            observations_of(self.demonstrations),
            self.demonstrations.actions,
            self.config.embedding,
            seed,
            checkpoint=part,
            label=self.task.name,
            line=self._line,
        )
        save_model(path, SavedModel(Curiosity(encoder)))
        part.unlink()
        self._tell(f"{self.task.name}: {summary}")
        return encoder

    @cached_property
    def seen_task(self) -> Task:
        """The task as policies see it: a visual one through the trained encoder."""
        return perceived(self.task, self.encoder) if self.task.visual else self.task

    def imitate(self, policy: GaussianPolicy, rng: np.random.Generator) -> bool:
        """Give a fresh policy what imitation made of it, now or earlier.

        Args:
            policy: as `seen_task` needs it, before any learning.
            rng: source of the minibatches.

        Returns:
            Whether it was made now.
        """
        path, task = self.files.policy, self.seen_task
        if path.exists():
            load_policy(path, policy, task.name, seen_with(task))
            return False
        settings = self.config.imitation
        observations, actions = self._pairs
        loss = imitate(
            policy,
            observations,
            actions,
            rng,
            epochs=settings.epochs,
            learning_rate=settings.learning_rate,
        )
        save_policy(path, policy, task.name, seen_with(task))
        self._tell(f"{task.name}: imitation, negative log-likelihood {loss:.2f} nats")
        return True

    def show(self, count: int) -> None:
        """Have whole episodes demonstrated, unless there are some.

        Args:
            count: number of episodes.
        """
        if self.files.shown.exists():
            return
        config, shown = self.config.demonstrations, self.shown_task
        start = None if shown is self.task else shown
        rng = np.random.default_rng([config.seed, 4])
        episodes = demonstrated(self.seen_task, count, config.noise_std, rng, start)
        save_episodes(self.files.shown, self.seen_task, episodes)
        self._tell(
            f"{self.task.name}: {count} demonstrated episodes of {episodes.steps} steps, "
            f"{episodes.succeeded.sum()} of them succeeded"
        )

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """What imitation learns from: observations as the policy sees them, and actions."""
        shown, rows = self.demonstrations, slice(self.config.imitation.pairs or None)
        return vectors_for(self.seen_task, observations_of(shown))[rows], shown.actions[rows]


def require_same_spaces(task: Task, shown_task: Task) -> None:
    """Check that demonstrations of one task can stand for those of another.

    Raises:
        ConfigError: they have other observations or actions.
    """
    for name in ("observation_size", "action_size", "visual"):
        mine, theirs = getattr(task, name), getattr(shown_task, name)
        if mine != theirs:
            raise ConfigError(
                f"{task.name} has {name} = {mine}, {shown_task.name} has {theirs}; demonstrations "
                "of the one cannot serve the other"
            )


def observations_of(shown: Demonstrations) -> Observations:
    """The observations of demonstrations, as curiosity sees them."""
    return Observations(shown.vectors, shown.images)


def train_encoder(
    encoder: Encoder,
    observations: Observations,
    actions: np.ndarray,
    config: EmbeddingConfig | None = None,
    seed: int = 0,
    progress: bool = True,
    checkpoint: Path | None = None,
    label: str = "embedding",
    line: int = 0,
) -> tuple[Encoder, str]:
    """Algorithm 1 on pairs of observation and action: the frozen encoder, and a sentence on it.

    Args:
        encoder: to be trained.
        observations: N of them.
        actions: (N, A) taken there.
        config: how to train.
        seed: of split and minibatches.
        progress: show a bar on the terminal.
        checkpoint: where to save after every epoch; if it exists, training goes on from it.
        label: of the bar.
        line: of the terminal that the bar is on.
    """
    trainer = EmbeddingTrainer(encoder, observations, actions, config, seed)
    trained = train_embedding(trainer, progress, checkpoint, label, line)
    with torch.inference_mode():
        trained.fit_length_scale(trained.latent(*trained.tensors(observations)))
    return trained, (
        f"embedding, held-out negative log-likelihood {trainer.losses[0]:.2f} → "
        f"{trainer.best_loss:.2f} nats in {trainer.epoch} epochs"
    )
