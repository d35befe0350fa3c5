"""What learning on the arm starts from: demonstrations, their embedding, an imitated policy."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.embedding import (
    EmbeddingConfig,
    EmbeddingTrainer,
    train_embedding,
)
from bayes_curiosity_ros.curiosity.encoder import Encoder
from bayes_curiosity_ros.curiosity.model_file import SavedModel, load_model, save_model
from bayes_curiosity_ros.curiosity.trunks import IMAGE_TRUNKS
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.algorithm import MeanAction
from bayes_curiosity_ros.learning.imitation import imitate
from bayes_curiosity_ros.learning.perception import (
    encoder_config,
    perceived,
    seen_with,
    vectors_for,
)
from bayes_curiosity_ros.learning.policy import GaussianPolicy
from bayes_curiosity_ros.learning.pretrained import save_policy
from bayes_curiosity_ros.learning.rollout import run_episodes
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.tasks.arm.demonstrations import (
    DemonstrationConfig,
    Demonstrations,
    collect,
)
from bayes_curiosity_ros.tasks.arm.names import named_arm_task
from bayes_curiosity_ros.tasks.arm.task import ArmTask
from bayes_curiosity_ros.tasks.registry import ARM_TASKS
from bayes_curiosity_ros.tasks.task import Task


@dataclass(frozen=True)
class Preparation:
    """How much of it.

    Attributes:
        task: of the arm.
        robot: file in config/, or a path.
        demonstrations: pairs of observation and action.
        embedding_epochs: of Algorithm 1, at most.
        image_trunk: what looks at a visual task's images; see `EncoderConfig`.
        imitation_epochs: of behaviour cloning. Few leave the policy with something to learn.
        trials: episodes that show what imitation gave.
        seed: of all of it.
    """

    task: str = "reach"
    robot: str = "jaco.yaml"
    demonstrations: int = 8000
    embedding_epochs: int = 40
    image_trunk: str = "keypoints"
    imitation_epochs: int = 2
    trials: int = 100
    seed: int = 0


@dataclass(frozen=True)
class Prepared:
    """Files in one folder, each whole or absent."""

    demonstrations: Path
    curiosity: Path
    policy: Path

    @staticmethod
    def within(folder: Path) -> Prepared:
        return Prepared(
            folder / "demonstrations.npz", folder / "embedding.safetensors", folder / "policy.pt"
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `bayes-curiosity prepare`."""
    default = Preparation()
    parser.add_argument("task", choices=sorted(ARM_TASKS), help="what the arm does")
    parser.add_argument("--robot", default=default.robot, help="file in config/, or a path")
    parser.add_argument("--output", type=Path, default=Path("output/run"), help="folder")
    parser.add_argument(
        "--demonstrations",
        type=int,
        default=default.demonstrations,
        help="pairs of observation and action",
    )
    parser.add_argument(
        "--embedding-epochs",
        type=int,
        default=default.embedding_epochs,
        help="of Algorithm 1, at most",
    )
    parser.add_argument(
        "--image-trunk",
        choices=IMAGE_TRUNKS,
        default=default.image_trunk,
        help="what looks at a visual task's images",
    )
    parser.add_argument(
        "--imitation-epochs",
        type=int,
        default=default.imitation_epochs,
        help="of the policy's pre-training; few leave it something to learn",
    )
    parser.add_argument("--seed", type=int, default=default.seed, help="of all of it")


def run(arguments: argparse.Namespace) -> int:
    """Make what is missing, and say where it is."""
    config = Preparation(
        task=arguments.task,
        robot=arguments.robot,
        demonstrations=arguments.demonstrations,
        embedding_epochs=arguments.embedding_epochs,
        image_trunk=arguments.image_trunk,
        imitation_epochs=arguments.imitation_epochs,
        seed=arguments.seed,
    )
    files = prepare(config, arguments.output, print)
    print(f"model:={files.curiosity} policy:={files.policy}")
    return 0


def prepare(
    config: Preparation, folder: Path, tell: Callable[[str], object] = lambda line: None
) -> Prepared:
    """Make whatever is not in `folder` yet.

    Args:
        config: how much.
        folder: where to.
        tell: told one line per step done.
    """
    task = named_arm_task(config.task, RobotConfig.load(config.robot), threads=0)
    files = Prepared.within(folder)
    folder.mkdir(parents=True, exist_ok=True)
    demonstrations = _demonstrations(config, task, files.demonstrations, tell)
    if not files.curiosity.exists():
        _embed(config, task, demonstrations, files.curiosity, tell)
    if not files.policy.exists():
        encoder = load_model(files.curiosity).curiosity.encoder
        _imitate(config, perceived(task, encoder), demonstrations, files.policy, tell)
    return files


def _demonstrations(
    config: Preparation, task: ArmTask, path: Path, tell: Callable[[str], object]
) -> Demonstrations:
    if path.exists():
        return _demonstrations_of(task, path)
    shown = collect(task, DemonstrationConfig(config.demonstrations, seed=config.seed))
    shown.save(path)
    tell(f"demonstrations: {len(shown.actions)} pairs from {shown.episodes} episodes")
    return shown


def _demonstrations_of(task: ArmTask, path: Path) -> Demonstrations:
    shown = Demonstrations.load(path)
    if shown.task != task.name:
        raise ConfigError(
            f"{path} holds demonstrations of {shown.task!r}, not of {task.name!r}; "
            "give another --output"
        )
    return shown


def _embed(
    config: Preparation,
    task: ArmTask,
    shown: Demonstrations,
    path: Path,
    tell: Callable[[str], object],
) -> None:
    """Algorithm 1."""
    generator = torch.Generator().manual_seed(config.seed)
    encoder = Encoder(encoder_config(task, config.image_trunk), generator)
    settings = EmbeddingConfig(max_epochs=config.embedding_epochs)
    if task.visual:  # a step encodes the subset E too; larger batches, fewer such steps
        settings = replace(settings, batch_size=512, learning_rate=2e-3)
    seen = Observations(shown.vectors, shown.images)
    trainer = EmbeddingTrainer(encoder, seen, shown.actions, settings, config.seed)
    save_model(path, SavedModel(Curiosity(train_embedding(trainer))))
    tell(
        f"embedding: held-out negative log-likelihood {trainer.losses[0]:.2f} → "
        f"{trainer.best_loss:.2f} nats in {trainer.epoch} epochs"
    )


def _imitate(
    config: Preparation,
    task: Task,
    shown: Demonstrations,
    path: Path,
    tell: Callable[[str], object],
) -> None:
    rng = np.random.default_rng(config.seed)
    policy = GaussianPolicy(task.observation_center, task.observation_scale, task.action_size, rng)
    vectors = vectors_for(task, Observations(shown.vectors, shown.images))
    loss = imitate(policy, vectors, shown.actions, rng, epochs=config.imitation_epochs)
    save_policy(path, policy, task.name, seen_with(task))
    succeeded = run_episodes(task, MeanAction(policy), config.trials, rng).succeeded
    tell(
        f"imitation: negative log-likelihood {loss:.2f} nats; without noise it succeeds in "
        f"{succeeded.sum()} of {config.trials} episodes"
    )
