# PYTHON_ARGCOMPLETE_OK
"""The `bayes-curiosity` command: one module per subcommand, imported only when chosen."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from bayes_curiosity_ros import __version__
from bayes_curiosity_ros.commands import Commands, add_commands, complete
from bayes_curiosity_ros.errors import BayesCuriosityError

COMMANDS: Commands = {
    "explore": (
        "bayes_curiosity_ros.experiments.parked.command",
        "an arm parked aside finds a cylinder over ROS; beside it, no curiosity and a placebo",
    ),
    "up": (
        "bayes_curiosity_ros.bringup.up",
        "start the whole stack: arm, camera, curiosity, learner",
    ),
    "prepare": (
        "bayes_curiosity_ros.learning.prepare",
        "demonstrations, embedding and an imitated policy, for learning on the arm",
    ),
    "surface": (
        "bayes_curiosity_ros.experiments.surface",
        "the paper's first figure: curiosity over Mountaincar before and after an episode",
    ),
    "experiment": (
        "bayes_curiosity_ros.experiments.command",
        "the paper's experiments: table1, curves, arm, ablations; and tune",
    ),
    "demos": ("bayes_curiosity_ros.tasks.arm.demos", "demonstrations of the arm's expert"),
    "replay": (
        "bayes_curiosity_ros.nodes.replay_command",
        "recorded episodes on the graph again, compared, or re-driven in simulation",
    ),
    "bag": ("bayes_curiosity_ros.bags.command", "what is in a bag; export or repair it"),
    "embed": ("bayes_curiosity_ros.bags.embed", "Algorithm 1 from recorded demonstrations"),
    "score": ("bayes_curiosity_ros.bags.score", "curiosity of every recorded observation"),
    "view": ("bayes_curiosity_ros.tasks.arm.view", "watch the simulated arm, or film it"),
}


def build_parser() -> argparse.ArgumentParser:
    """The whole command line; a subcommand's options are known once it is chosen."""
    parser = argparse.ArgumentParser(
        prog="bayes-curiosity", description="Bayesian curiosity for robot arms."
    )
    parser.add_argument("--version", action="version", version=__version__)
    add_commands(parser, COMMANDS, "command")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand; errors made on purpose become one line and exit code 2."""
    parser = build_parser()
    if "_ARGCOMPLETE" in os.environ:
        complete(parser, os.environ["COMP_LINE"])
    try:
        arguments = parser.parse_args(argv)
        return int(arguments.run(arguments))
    except BayesCuriosityError as error:
        print(f"bayes-curiosity: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
