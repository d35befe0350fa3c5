"""The `bayes-curiosity` command: one module per subcommand, imported only when chosen."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from bayes_curiosity_ros import __version__
from bayes_curiosity_ros.errors import BayesCuriosityError

# name: (module with `add_arguments(parser)` and `run(arguments) -> int`, one-line help)
COMMANDS: dict[str, tuple[str, str]] = {
    "up": (
        "bayes_curiosity_ros.bringup.up",
        "start the whole stack: arm, camera, curiosity, learner",
    ),
    "prepare": (
        "bayes_curiosity_ros.learning.preparation",
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


class HelpFormatter(argparse.ArgumentDefaultsHelpFormatter):
    """Shows a default where there is something to show."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        empty = action.default is None or action.default is False or action.default in ("", [])
        return action.help if empty else super()._get_help_string(action)


def build_parser(chosen: str | None) -> argparse.ArgumentParser:
    """A parser whose chosen subcommand, and only that one, knows its options."""
    parser = argparse.ArgumentParser(
        prog="bayes-curiosity", description="Bayesian curiosity for robot arms."
    )
    parser.add_argument("--version", action="version", version=__version__)
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, summary) in COMMANDS.items():
        sub = subparsers.add_parser(
            name,
            help=summary,
            description=summary,
            formatter_class=HelpFormatter,
        )
        if name == chosen:
            importlib.import_module(module).add_arguments(sub)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand; errors made on purpose become one line and exit code 2."""
    words = list(sys.argv[1:] if argv is None else argv)
    chosen = next((word for word in words if not word.startswith("-")), None)
    try:
        arguments = build_parser(chosen).parse_args(words)
        return int(importlib.import_module(COMMANDS[arguments.command][0]).run(arguments))
    except BayesCuriosityError as error:
        print(f"bayes-curiosity: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
