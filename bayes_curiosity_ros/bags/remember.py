"""`bayes-curiosity remember --bag BAG …`: recorded episodes for a learner with a memory."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from bayes_curiosity_ros.bags.episode import Episode, read_episodes
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.lerobot_file import ENDED, is_lerobot, read_lerobot
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.learning.episode_file import save_episodes
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.perception import vectors_for
from bayes_curiosity_ros.learning.settings import LearnerConfig
from bayes_curiosity_ros.tasks.arm.task import ArmTask
from bayes_curiosity_ros.tasks.registry import arm_task_names
from bayes_curiosity_ros.tasks.task import Task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("task", choices=arm_task_names(), help="what the arm is to learn")
    parser.add_argument(
        "--bag",
        required=True,
        nargs="+",
        help="bags of the same arm, or LeRobot datasets that were exported from such",
    )
    parser.add_argument(
        "--output", type=Path, default=Path("output/shown.npz"), help="file of episodes"
    )
    parser.add_argument("--robot", default="jaco.yaml", help="file in config/robots/, or a path")
    parser.add_argument("--model", default="", help="whose encoder sees, for a visual task")
    parser.add_argument("--namespace", default="", help="of the recorded graph")
    parser.add_argument(
        "--driven-only", action="store_true", help="only episodes in which a person acted"
    )


def run(arguments: argparse.Namespace) -> int:
    """Read, convert, save; say what to do with it."""
    config = LearnerConfig(task=arguments.task, robot=arguments.robot, model=arguments.model)
    path, namespace = arguments.output, arguments.namespace
    remember(config, arguments.bag, path, namespace, arguments.driven_only, print)
    return 0


def remember(
    config: LearnerConfig,
    bags: Sequence[str],
    path: Path,
    namespace: str = "",
    driven_only: bool = False,
    tell: Callable[[str], object] = lambda line: None,
) -> None:
    """Write what bags hold to a file that a learner begins with.

    Args:
        config: parameters of the learner, of which task, robot and model count.
        bags, namespace, driven_only, tell: as of `recorded`.
        path: path of the file.
    """
    arm = config.make_task()
    seen = config.perceive(arm)
    episodes = recorded(bags, arm, seen, namespace, driven_only, tell)
    save_episodes(path, seen, episodes)
    tell(f"{len(episodes)} episodes, {episodes.steps} steps: shown:={path}")


def recorded(
    bags: Sequence[str],
    arm: ArmTask,
    task: Task,
    namespace: str = "",
    driven_only: bool = False,
    tell: Callable[[str], object] = lambda line: None,
) -> Episodes:
    """The whole episodes of these bags that ended, as a learner of a task sees them.

    What an episode earned is paid with its last step: right for a sparse reward; of a dense one,
    the sum is.

    Args:
        bags: folders of bags or of LeRobot datasets, or files of bags.
        arm: the task of the arm, which scales actions.
        task: the same as the learner sees it.
        namespace: namespace of the recorded graph.
        driven_only: whether to leave out episodes in which no person acted.
        tell: told a line per thing that could not be read.

    Raises:
        BagError: there are none.
    """
    found: list[Episodes] = []
    for bag in bags:
        for episode in episodes_in(bag, namespace, tell):
            if episode.learnt_from and (episode.driven.any() or not driven_only):
                found += _converted(episode, arm, task)
    if not found:
        raise BagError(f"{', '.join(map(str, bags))}: no whole episode with actions to remember")
    return Episodes.concatenate(found)


def episodes_in(bag: str, namespace: str, tell: Callable[[str], object]) -> Iterator[Episode]:
    """The episodes of a bag or a LeRobot dataset; at the end, what could not be read is told."""
    if is_lerobot(Path(bag)):
        yield from read_lerobot(Path(bag))
        return
    reader = BagReader(bag)
    yield from read_episodes(reader, namespace)
    for loss in reader.losses:
        tell(f"{bag}: {loss}")


def _converted(episode: Episode, arm: ArmTask, task: Task) -> list[Episodes]:
    """One episode; none where steps or actions are missing, or it is longer than the task's."""
    length = len(episode) - 1
    if not 0 < length <= task.horizon or (episode.steps != np.arange(length + 1)).any():
        return []
    actions = arm.actions_of(episode.actions[:-1], episode.gripper[:-1])
    seen = vectors_for(task, episode.observations())
    if not np.isfinite(actions).all() or seen.shape[1] != task.observation_size:
        return []
    observations = np.zeros((1, task.horizon + 1, task.observation_size))
    padded = np.zeros((1, task.horizon, task.action_size))
    rewards = np.zeros((1, task.horizon))
    observations[0, : length + 1], padded[0, :length] = seen, actions
    ended, won = episode.outcome in ENDED, episode.outcome == "success"
    told = np.isfinite(episode.extrinsic_return)
    rewards[0, length - 1] = episode.extrinsic_return if told else ended * task.marked_reward(won)
    lengths = np.array([length])
    return [Episodes(observations, padded, rewards, lengths, np.array([ended]), np.array([won]))]
