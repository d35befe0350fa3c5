"""`bayes-curiosity demonstrate`: a person drives in the learner's place, and is recorded."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bayes_curiosity_ros.bringup.arguments import checked
from bayes_curiosity_ros.bringup.processes import Ended
from bayes_curiosity_ros.bringup.table import nodes
from bayes_curiosity_ros.bringup.up import (
    add_bringup_arguments,
    chosen_of,
    run_nodes,
    with_page,
)
from bayes_curiosity_ros.configuration.ranges import whole
from bayes_curiosity_ros.failures import BUG_CODE, EXPECTED_CODE
from bayes_curiosity_ros.locks import FolderLock

# What only a learner has, and what this command decides.
LEFT_OUT = (
    "learner", "bonus", "model", "policy", "shown", "timesteps", "resume", "simulated_operator",
    "demonstrations", "record", "output",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the bringup, but for those of a learner."""
    parser.add_argument(
        "--episodes", type=whole("--episodes", 1), default=5, help="number of demonstrations"
    )
    parser.add_argument(
        "--output", default="output/demonstrations", help="folder; its `bags` has the recording"
    )
    add_bringup_arguments(parser, LEFT_OUT)


def run(arguments: argparse.Namespace) -> int:
    """Start the nodes, wait until the person has done, say what to do with the bag."""
    folder = Path(arguments.output)
    given = chosen_of(arguments) | {"demonstrations": str(arguments.episodes), "record": "true"}
    chosen = checked(given | {"output": arguments.output})
    nodes(chosen)  # checked before anything is spent
    with FolderLock(folder):
        ended = run_nodes(with_page(chosen), folder, loud=("drive",))
    print(f"learn from it with\n    bayes-curiosity embed --bag {folder}/bags/run_*")
    if ended == Ended("drive", 0):
        return 0
    print(f"cut short: {ended.signal or ended.name}", file=sys.stderr)
    return ended.code if ended.signal or ended.code == EXPECTED_CODE else BUG_CODE
