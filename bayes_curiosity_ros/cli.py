# PYTHON_ARGCOMPLETE_OK
"""The `bayes-curiosity` command: one module per subcommand, imported only when chosen."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence

from bayes_curiosity_ros import __version__
from bayes_curiosity_ros.commands import Commands, add_commands, complete
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.failures import complain, let_go_of_output, steady_streams

PROGRAM = "bayes-curiosity"
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
    "demonstrate": (
        "bayes_curiosity_ros.bringup.demonstrate",
        "a person drives the arm, by page or joystick; a bag of demonstrations for `embed`",
    ),
    "replay": (
        "bayes_curiosity_ros.nodes.replay_command",
        "recorded episodes on the graph again, compared, or re-driven in simulation",
    ),
    "bag": ("bayes_curiosity_ros.bags.command", "what is in a bag; export or repair it"),
    "remember": (
        "bayes_curiosity_ros.bags.remember",
        "recorded episodes, a person's too, for a learner with a memory (sac)",
    ),
    "judge": (
        "bayes_curiosity_ros.bags.judge",
        "what success looks like to the camera, from episodes that a person has marked",
    ),
    "embed": ("bayes_curiosity_ros.bags.embed", "Algorithm 1 from recorded demonstrations"),
    "map": (
        "bayes_curiosity_ros.monitor.map_command",
        "a recorded run's curiosity in space: a picture, and a film of it going dark",
    ),
    "score": ("bayes_curiosity_ros.bags.score", "curiosity of every recorded observation"),
    "view": ("bayes_curiosity_ros.tasks.arm.view", "watch the simulated arm, or film it"),
}


def build_parser() -> argparse.ArgumentParser:
    """The whole command line; a subcommand's options are known once it is chosen."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM, description="Bayesian curiosity for robot arms."
    )
    parser.add_argument("--version", action="version", version=__version__)
    add_commands(parser, COMMANDS, "command")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand; whatever goes wrong is told on one line, see `complain`."""
    steady_streams()
    parser = build_parser()
    if "_ARGCOMPLETE" in os.environ:
        complete(parser, os.environ["COMP_LINE"])
    try:
        arguments = parser.parse_args(_readable(sys.argv[1:] if argv is None else argv))
        code = int(arguments.run(arguments))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as interruption:
        return 128 + next(iter(interruption.args), signal.SIGINT)
    except Exception as error:
        return complain(error, PROGRAM)
    finally:
        let_go_of_output()


def _readable(words: Sequence[str]) -> Sequence[str]:
    """The words of a command line, if all are text: ROS, files and logs take nothing else."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise ConfigError(f"{word!r} is not UTF-8; give it another name") from None
    return words


if __name__ == "__main__":
    sys.exit(main())
