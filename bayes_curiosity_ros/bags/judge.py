"""`bayes-curiosity judge --bag BAG …`: what success looks like, from episodes of known outcome."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.remember import episodes_in
from bayes_curiosity_ros.learning.judge import (
    Judge,
    JudgeConfig,
    Judged,
    perception_of,
    save_judge,
    train_judge,
)
from bayes_curiosity_ros.learning.perception import Perception
from bayes_curiosity_ros.learning.settings import LearnerConfig
from bayes_curiosity_ros.tasks.registry import arm_task_names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    visual = [name for name in arm_task_names() if name.startswith("visual_")]
    parser.add_argument("task", choices=visual, help="what the arm is to learn")
    parser.add_argument("--bag", required=True, nargs="+", help="bags with marked episodes")
    parser.add_argument("--model", required=True, help="whose encoder sees; the run's own")
    parser.add_argument("--robot", default="jaco.yaml", help="file in config/robots/, or a path")
    parser.add_argument("--namespace", default="", help="of the recorded graph")
    parser.add_argument(
        "--output", type=Path, default=Path("output/judge.pt"), help="file of the judge"
    )


def run(arguments: argparse.Namespace) -> int:
    """Read, learn, try it on episodes that were held out, save; say how good it is."""
    config = JudgeConfig()
    learner = LearnerConfig(task=arguments.task, robot=arguments.robot, model=arguments.model)
    perception = perception_of(learner.perceive(learner.make_task()))
    episodes = judged(arguments.bag, perception, config, arguments.namespace)
    print(tried(episodes, config))
    judge = train_judge(episodes, config)
    save_judge(arguments.output, judge, perception.encoder_id)
    print(f"judge:={arguments.output}")
    return 0


def judged(
    bags: Sequence[str], perception: Perception, config: JudgeConfig, namespace: str = ""
) -> list[Judged]:
    """The episodes of bags that ended, as a judge learns from them.

    Raises:
        BagError: there are none with images.
    """
    found = [
        Judged.of(perception(episode.observations()), episode.outcome == "success", config)
        for bag in bags
        for episode in episodes_in(bag, namespace, print)
        if episode.learnt_from and episode.color is not None
    ]
    if not found:
        raise BagError(f"{', '.join(map(str, bags))}: no whole episode with images")
    return found


def tried(episodes: Sequence[Judged], config: JudgeConfig) -> str:
    """How a judge does that has not seen some of the episodes, in words."""
    order = np.random.default_rng(0).permutation(len(episodes))
    count = round(config.held_out * len(episodes))
    held, rest = ([episodes[i] for i in some] for some in (order[:count], order[count:]))
    if not held or not any(each.success.any() for each in held):
        return f"{len(episodes)} episodes; too few successes to hold some out"
    judge = train_judge(rest, config)
    right = [_shares(judge, each) for each in held]
    seen = np.concatenate([each[0] for each in right])
    alarms = np.concatenate([each[1] for each in right])
    return (
        f"{len(episodes)} episodes; of {count} held out it sees {seen.mean():.0%} of the "
        f"successes, with {alarms.mean():.2%} false alarms among {len(alarms)} other observations"
    )


def _shares(judge: Judge, episode: Judged) -> tuple[np.ndarray, np.ndarray]:
    """What it says of the observations that show success, and of the others: bool each."""
    says = judge.probability(episode.features) >= 0.5
    return says[episode.success], says[~episode.success]
