"""What every experiment's command line shares: which seeds, where to run, how to stop."""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from bayes_curiosity_ros.errors import ConfigError, unknown_name
from bayes_curiosity_ros.experiments.engine.schedule import JobT, RowT, run_locally, run_on_ray


def add_seeds_argument(parser: argparse.ArgumentParser, default: str) -> None:
    """Option `--seeds`."""
    parser.add_argument(
        "--seeds", default=default, metavar="RANGE", help="for instance 0-9, or 100,102"
    )


def add_files_arguments(parser: argparse.ArgumentParser, config: Path, output: str) -> None:
    """Options `--config` and `--output`, with these defaults."""
    parser.add_argument("--config", type=Path, default=config, metavar="FILE", help="all settings")
    parser.add_argument(
        "--output", type=Path, default=Path(output), metavar="FOLDER", help="of all results"
    )


def add_place_arguments(parser: argparse.ArgumentParser) -> None:
    """Options that say where jobs run."""
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="local processes"
    )
    parser.add_argument(
        "--cluster",
        nargs="?",
        const="local",
        metavar="ADDRESS",
        help="run on Ray: an address, auto, or nothing to start one on this machine",
    )


def check_place(arguments: argparse.Namespace) -> None:
    """Complain of impossible places before any work is spent."""
    if arguments.workers < 1:
        raise ConfigError(f"--workers {arguments.workers}; at least 1 is needed")


def results_of(
    jobs: Sequence[JobT], work: Callable[[JobT], list[RowT]], arguments: argparse.Namespace
) -> Generator[tuple[JobT, list[RowT]], None, None]:
    """Each job and its rows, as it finishes, wherever the arguments want it to run."""
    if arguments.cluster is not None:
        return run_on_ray(jobs, work, arguments.cluster)
    return run_locally(jobs, work, arguments.workers)


def parse_seeds(text: str) -> list[int]:
    """ "0-9" or "100,102" or a mixture, as numbers.

    Raises:
        ConfigError: not such a list, or an empty one.
    """
    seeds: list[int] = []
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            seeds += range(int(first), int(last or first) + 1)
    except ValueError:
        raise ConfigError(f"--seeds {text!r} is not like 0-9 or 100,102") from None
    if not seeds:
        raise ConfigError(f"--seeds {text!r} names no seed")
    return list(dict.fromkeys(seeds))


def chosen(kind: str, names: list[str] | None, valid: tuple[str, ...]) -> tuple[str, ...]:
    """The names asked for, all of them valid ones; all valid ones if none is."""
    for name in names or []:
        if name not in valid:
            raise unknown_name(kind, name, valid)
    return valid if names is None else tuple(dict.fromkeys(names))


@contextmanager
def interruptible() -> Generator[None, None, None]:
    """SIGTERM as Ctrl-C, and both even where a shell started us with them ignored."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, interrupt) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
