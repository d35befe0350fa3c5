"""`bayes-curiosity prepare`: what learning on the arm starts from, in one folder."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bayes_curiosity_ros.curiosity.embedding import EmbeddingConfig
from bayes_curiosity_ros.curiosity.trunks import IMAGE_TRUNKS
from bayes_curiosity_ros.learning.algorithm import MeanAction
from bayes_curiosity_ros.learning.policy import GaussianPolicy, PolicyConfig
from bayes_curiosity_ros.learning.preparation import (
    ImitationConfig,
    Preparation,
    PreparationConfig,
    PreparedFiles,
    Tell,
)
from bayes_curiosity_ros.learning.rollout import run_episodes
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.tasks.arm.names import named_arm_task
from bayes_curiosity_ros.tasks.demonstrations import DemonstrationConfig
from bayes_curiosity_ros.tasks.registry import arm_task_names


@dataclass(frozen=True)
class PrepareOptions:
    """What a run over the graph is prepared with.

    Attributes:
        task: of the arm.
        robot: file in config/robots/, or a path.
        demonstrations: pairs of observation and action.
        embedding_epochs: of Algorithm 1, at most.
        image_trunk: what looks at a visual task's images; see `EncoderConfig`.
        imitation_epochs: of behaviour cloning. Few leave the policy with something to learn.
        trials: episodes that show what imitation gave.
        seed: of everything random.
    """

    task: str = "reach"
    robot: str = "jaco.yaml"
    demonstrations: int = 8000
    embedding_epochs: int = 40
    image_trunk: str = "keypoints"
    imitation_epochs: int = 2
    trials: int = 100
    seed: int = 0

    def config(self, visual: bool) -> PreparationConfig:
        """The preparation that these options describe."""
        embedding = EmbeddingConfig(max_epochs=self.embedding_epochs)
        if visual:  # a step encodes the subset E too; larger batches, fewer such steps
            embedding = replace(embedding, batch_size=512, learning_rate=2e-3)
        return PreparationConfig(
            DemonstrationConfig(self.demonstrations, seed=self.seed),
            {"image_trunk": self.image_trunk} if visual else {},
            embedding,
            ImitationConfig(self.imitation_epochs),
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `bayes-curiosity prepare`."""
    default = PrepareOptions()
    parser.add_argument("task", choices=arm_task_names(), help="what the arm does")
    parser.add_argument("--robot", default=default.robot, help="file in config/robots/, or a path")
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
    parser.add_argument("--seed", type=int, default=default.seed, help="of everything random")


def run(arguments: argparse.Namespace) -> int:
    """Make what is missing, and say where it is."""
    options = PrepareOptions(
        task=arguments.task,
        robot=arguments.robot,
        demonstrations=arguments.demonstrations,
        embedding_epochs=arguments.embedding_epochs,
        image_trunk=arguments.image_trunk,
        imitation_epochs=arguments.imitation_epochs,
        seed=arguments.seed,
    )
    files = prepare(options, PreparedFiles.within(arguments.output), print)
    print(f"model:={files.model} policy:={files.policy}")
    return 0


def prepare(
    options: PrepareOptions, files: PreparedFiles, tell: Tell = lambda line: None
) -> PreparedFiles:
    """Make whatever is not there yet.

    Args:
        options: what, and how much.
        files: where to keep it.
        tell: told one line per step done.
    """
    arm = named_arm_task(options.task, RobotConfig.load(options.robot), threads=0)
    preparation = Preparation(arm, options.config(arm.visual), files, tell)
    _ = preparation.demonstrations, preparation.encoder
    task, rng = preparation.seen_task, np.random.default_rng(options.seed)
    policy = GaussianPolicy.for_task(task, PolicyConfig(), rng)
    if preparation.imitate(policy, rng):
        succeeded = run_episodes(task, MeanAction(policy), options.trials, rng).succeeded
        tell(
            f"{task.name}: without noise, the imitated policy succeeds in {succeeded.sum()} of "
            f"{options.trials} episodes"
        )
    return files
