"""`bayes-curiosity prepare`: what learning on the arm starts from, in one folder."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bayes_curiosity_ros.configuration.ranges import SEED, whole
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
from bayes_curiosity_ros.robot.config import DYNAMICS, RobotConfig
from bayes_curiosity_ros.tasks.arm.names import named_arm_task
from bayes_curiosity_ros.tasks.arm.task import ArmTask
from bayes_curiosity_ros.tasks.demonstrations import MOST_PAIRS, DemonstrationConfig
from bayes_curiosity_ros.tasks.registry import TASKS, arm_task_names


@dataclass(frozen=True)
class PrepareOptions:
    """What a run over the graph is prepared with.

    Attributes:
        task: of the arm.
        robot: file in config/robots/, or a path.
        dynamics: how the simulated arm moves; "" for the robot's own.
        embedding_from: task of the arm that is demonstrated; "" for the one registered with
            `task`, which is `task` itself for most.
        demonstrations: pairs of observation and action.
        embedding_epochs: of Algorithm 1, at most.
        image_trunk: what looks at a visual task's images; see `EncoderConfig`.
        imitate: whether the policy imitates the demonstrations, where they are of `task`
            itself; those of another task are for the embedding alone.
        imitation_epochs: of behaviour cloning. Few leave the policy with something to learn.
        demonstrated_episodes: whole ones, for a learner with a memory for them.
        trials: episodes that show what imitation gave.
        seed: of everything random.
    """

    task: str = "reach"
    robot: str = "jaco.yaml"
    dynamics: str = ""
    embedding_from: str = ""
    demonstrations: int = 8000
    embedding_epochs: int = 40
    image_trunk: str = "keypoints"
    imitate: bool = True
    imitation_epochs: int = 2
    demonstrated_episodes: int = 0
    trials: int = 100
    seed: int = 0

    @property
    def shown_task(self) -> str:
        """Name of the task that is demonstrated."""
        return self.embedding_from or TASKS[self.task].embedding_from or self.task

    @property
    def imitates(self) -> bool:
        """Whether there will be an imitated policy."""
        return self.imitate and self.shown_task == self.task

    def make_task(self, name: str) -> ArmTask:
        """A task of the arm as these options have it."""
        return named_arm_task(name, RobotConfig.load(self.robot), dynamics=self.dynamics)

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
    parser.add_argument(
        "--dynamics",
        choices=DYNAMICS,
        default=default.dynamics,
        help="how the simulated arm moves; if absent, as the robot's file says",
    )
    parser.add_argument("--output", type=Path, default=Path("output/run"), help="folder")
    add_demonstration_arguments(parser)
    parser.add_argument(
        "--demonstrations",
        type=whole("--demonstrations", 1, MOST_PAIRS),
        default=default.demonstrations,
        help="pairs of observation and action",
    )
    parser.add_argument(
        "--embedding-epochs",
        type=whole("--embedding-epochs", 1),
        default=default.embedding_epochs,
        help="of Algorithm 1, at most",
    )
    parser.add_argument(
        "--image-trunk",
        choices=IMAGE_TRUNKS,
        default=default.image_trunk,
        help="what looks at a visual task's images",
    )
    parser.add_argument("--seed", type=SEED, default=default.seed, help="of everything random")


def add_demonstration_arguments(parser: argparse.ArgumentParser) -> None:
    """Options that say whose demonstrations there are, and what is made of them."""
    parser.add_argument(
        "--embedding-from",
        choices=arm_task_names(),
        default="",
        metavar="TASK",
        help="train the encoder on demonstrations of this task, which has the same observations; "
        "no policy imitates them then. If absent, the task itself, or what it is registered with "
        "(reach for parked_reach)",
    )
    parser.add_argument(
        "--no-policy", action="store_true", help="imitate nothing: the policy begins at random"
    )
    parser.add_argument(
        "--imitation-epochs",
        type=whole("--imitation-epochs"),
        default=PrepareOptions().imitation_epochs,
        help="epochs of the policy's pre-training; few leave it something to learn",
    )
    parser.add_argument(
        "--demonstrated-episodes",
        type=whole("--demonstrated-episodes"),
        default=20,
        help="whole episodes for a learner with a memory for them (sac); others need none",
    )


def run(arguments: argparse.Namespace) -> int:
    """Make what is missing, and say where it is."""
    options = PrepareOptions(
        task=arguments.task,
        robot=arguments.robot,
        dynamics=arguments.dynamics,
        embedding_from=arguments.embedding_from,
        imitate=not arguments.no_policy,
        demonstrations=arguments.demonstrations,
        embedding_epochs=arguments.embedding_epochs,
        image_trunk=arguments.image_trunk,
        imitation_epochs=arguments.imitation_epochs,
        demonstrated_episodes=arguments.demonstrated_episodes,
        seed=arguments.seed,
    )
    files = prepare(options, PreparedFiles.within(arguments.output), print)
    policy = f" policy:={files.policy}" if options.imitates else ""
    shown = f" shown:={files.shown}" if options.demonstrated_episodes else ""
    print(f"model:={files.model}{policy}{shown}")
    return 0


def prepare(
    options: PrepareOptions, files: PreparedFiles, tell: Tell = lambda line: None
) -> PreparedFiles:
    """Make whatever is not there yet.

    Args:
        options: what, and how much.
        files: where to keep it.
        tell: told one line per step done.

    Raises:
        ConfigError: the task that is demonstrated has other observations or actions.
    """
    arm, shown = options.make_task(options.task), options.make_task(options.shown_task)
    preparation = Preparation(arm, options.config(arm.visual), files, tell, shown_task=shown)
    _ = preparation.demonstrations, preparation.encoder
    if options.imitates:
        _imitate(preparation, options, tell)
    if options.demonstrated_episodes:
        preparation.show(options.demonstrated_episodes)
    return files


def _imitate(preparation: Preparation, options: PrepareOptions, tell: Tell) -> None:
    """Pre-train a policy, and try it."""
    task, rng = preparation.seen_task, np.random.default_rng(options.seed)
    policy = GaussianPolicy.for_task(task, PolicyConfig(), rng)
    if preparation.imitate(policy, rng):
        succeeded = run_episodes(task, MeanAction(policy), options.trials, rng).succeeded
        tell(
            f"{task.name}: without noise, the imitated policy succeeds in {succeeded.sum()} of "
            f"{options.trials} episodes"
        )
