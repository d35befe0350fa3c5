"""`bayes-curiosity demos`: demonstrations of the inverse-kinematics expert."""

from __future__ import annotations

import argparse
from pathlib import Path

from tqdm import tqdm

from bayes_curiosity_ros.configuration.ranges import SEED, whole
from bayes_curiosity_ros.tasks.arm.names import add_task_arguments, make_arm_task
from bayes_curiosity_ros.tasks.demonstrations import (
    MOST_PAIRS,
    DemonstrationConfig,
    collect,
    success_rate,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    defaults = DemonstrationConfig()
    add_task_arguments(parser)
    parser.add_argument(
        "--count",
        type=whole("--count", 1, MOST_PAIRS),
        default=defaults.count,
        help="pairs to write",
    )
    parser.add_argument(
        "--noise",
        type=float,
        default=defaults.noise_std,
        help="standard deviation, of actions in [-1, 1]",
    )
    parser.add_argument("--seed", type=SEED, default=defaults.seed, help="of placements, noise")
    parser.add_argument(
        "--output", type=Path, default=None, help="file; output/demos/TASK.npz if absent"
    )
    parser.add_argument(
        "--check",
        type=whole("--check"),
        default=0,
        metavar="PLACEMENTS",
        help="write nothing; count how many random placements the noiseless expert solves",
    )


def run(arguments: argparse.Namespace) -> int:
    """Collect and save, or check the expert."""
    task = make_arm_task(arguments)
    if arguments.check:
        rate = success_rate(task, arguments.check, arguments.seed)
        print(f"{task.name}: the expert solves {rate:.1%} of {arguments.check} placements")
        return 0
    config = DemonstrationConfig(arguments.count, arguments.noise, arguments.seed)
    with tqdm(total=config.count, unit="pair", desc=task.name) as bar:
        demonstrations = collect(task, config, bar.update)
    path = arguments.output or Path("output/demos") / f"{task.name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    demonstrations.save(path)
    print(
        f"{len(demonstrations.actions)} pairs in {path}; "
        f"{demonstrations.successes} of {demonstrations.episodes} noisy episodes succeeded"
    )
    return 0
