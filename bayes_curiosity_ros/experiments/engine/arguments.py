"""Options that the experiments' command lines share; light, as every `--help` reads it."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from bayes_curiosity_ros.configuration.ranges import STEPS, whole
from bayes_curiosity_ros.learning.event_log import LOGS
from bayes_curiosity_ros.resources import find


def add_experiment_arguments(
    parser: argparse.ArgumentParser, config: str, output: str, seeds: str, together: int = 1
) -> None:
    """Options of an experiment whose runs are in process.

    Args:
        parser: to add them to.
        config: default file in config/experiments/.
        output: default folder.
        seeds: default ones.
        together: default number of seeds that run side by side; it pays where a step of the task
            takes next to nothing.
    """
    parser.add_argument("--task", nargs="+", metavar="NAME", help="only these tasks")
    parser.add_argument(
        "--learner", "--algorithm", nargs="+", metavar="NAME", help="only these learners"
    )
    parser.add_argument(
        "--method", "--bonus", "--variant", nargs="+", metavar="NAME", help="only these methods"
    )
    add_seeds_argument(parser, seeds)
    parser.add_argument(
        "--timesteps", "--steps", type=STEPS, metavar="N", help="replaces every budget"
    )
    parser.add_argument(
        "--config",
        "--tuning",
        type=Path,
        default=find("config/experiments", config),
        metavar="FILE",
        help="all settings",
    )
    add_output_arguments(parser, output, "of all results")
    parser.add_argument(
        "--log", choices=LOGS, default="", help="event files of each run that ends, besides rows"
    )
    parser.add_argument(
        "--together",
        type=whole("--together", 1, 1000),
        default=together,
        metavar="N",
        help="seeds of a cell that run side by side in a process, with the same rows as alone "
        "(default: %(default)s)",
    )
    add_place_arguments(parser)


def add_seeds_argument(parser: argparse.ArgumentParser, default: str) -> None:
    """Option `--seeds`."""
    parser.add_argument(
        "--seeds", default=default, metavar="RANGE", help="for instance 0-9, or 100,102"
    )


def add_output_arguments(parser: argparse.ArgumentParser, output: str, about: str) -> None:
    """Options `--output` and `--no-plots`."""
    parser.add_argument("--output", type=Path, default=Path(output), metavar="FOLDER", help=about)
    parser.add_argument("--no-plots", action="store_true", help="leave out the figures")


def add_place_arguments(parser: argparse.ArgumentParser) -> None:
    """Options that say where jobs run."""
    parser.add_argument(
        "--workers",
        type=whole("--workers", 1, 1000),
        default=os.cpu_count() or 1,
        metavar="N",
        help="local processes",
    )
    parser.add_argument(
        "--cluster",
        nargs="?",
        const="local",
        metavar="ADDRESS",
        help="run on Ray: an address, auto, or nothing to start one on this machine",
    )
