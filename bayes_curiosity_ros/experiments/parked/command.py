"""`bayes-curiosity explore`: the arm parked aside learns over ROS, and what without curiosity."""

from __future__ import annotations

import argparse
import signal
from contextlib import closing
from functools import partial
from pathlib import Path

from bayes_curiosity_ros.bringup.up import (
    add_restart_argument,
    check_folder,
    forget,
    run_nodes,
    steps_of,
)
from bayes_curiosity_ros.configuration.ranges import SEED, STEPS
from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.experiments.engine.running import interruptible, resumable
from bayes_curiosity_ros.experiments.engine.schedule import run_locally
from bayes_curiosity_ros.experiments.parked.contrast import run_in_process
from bayes_curiosity_ros.experiments.parked.display import Display, read_soon
from bayes_curiosity_ros.experiments.parked.settings import (
    IN_PROCESS,
    METHODS,
    OVER_ROS,
    Comparison,
    comparison,
)
from bayes_curiosity_ros.locks import FolderLock

TIMESTEPS = 150_000
WORKERS = 2


class RunFailedError(BayesCuriosityError):
    """The run over ROS ended before its budget."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.description = (
        "A simulated arm that is parked aside has to find a cylinder; nothing but arrival pays, "
        "and there is no policy to begin with. The stack over ROS learns it with curiosity, whose "
        "encoder is trained on demonstrations of reach from another pose. Then the same learner "
        "starts from the same places in process, without curiosity and with a placebo, the same "
        "rewards shuffled. It ends with a verdict by intervals, a figure, a film and a checkpoint "
        "to go on from. The settings are those of `bayes-curiosity experiment exploration`."
    )
    parser.add_argument("--seed", type=SEED, default=0, help="seed of all three runs")
    parser.add_argument(
        "--timesteps", type=STEPS, default=TIMESTEPS, metavar="N", help="control steps of each run"
    )
    parser.add_argument(
        "--output", type=Path, default=Path("output/explore"), metavar="FOLDER", help="results"
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on with the run in output, or for longer"
    )
    add_restart_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prepare, learn over ROS, learn in process, compare."""
    runs = comparison(arguments.output, arguments.seed, arguments.timesteps)
    with FolderLock(arguments.output):
        return _run(arguments, runs)


def _run(arguments: argparse.Namespace, runs: Comparison) -> int:
    if arguments.restart:
        begin_again(runs)
    check_folder(runs.folder_of(OVER_ROS), arguments.resume)
    with resumable(partial(standing, runs)):
        learn(runs, arguments.resume)
    from bayes_curiosity_ros.experiments.parked.report import report

    report(runs)
    return 0


def standing(runs: Comparison) -> str:
    """Where the runs stand, and how to go on."""
    steps = ", ".join(f"{method} {_steps(runs, method)}" for method in METHODS)
    return f"{steps} of {runs.timesteps} steps; go on with {runs.how_to_go_on(runs.timesteps)}"


def learn(runs: Comparison, resume: bool) -> None:
    """All that is missing of the runs, what they start from first."""
    with interruptible():
        _ = runs.preparation(partial(print, flush=True)).encoder
    if not _finished(runs, OVER_ROS):
        learn_over_ros(runs, resume)
    learn_in_process(runs)


def learn_over_ros(runs: Comparison, resume: bool) -> None:
    """The stack, from its checkpoint if it is resumed, until its budget is spent.

    Raises:
        RunFailedError: it ended early.
        KeyboardInterrupt: a signal came.
    """
    print(
        "success: of the last 100 episodes; learnt: information that curiosity's model gained",
        flush=True,
    )
    with Display({OVER_ROS: runs.log_of(OVER_ROS)}, runs.timesteps):
        ended = run_nodes(runs.bringup(resume), runs.folder_of(OVER_ROS), loud=())
    if ended.signal:
        raise KeyboardInterrupt(signal.Signals[ended.signal])
    if not _finished(runs, OVER_ROS):
        raise RunFailedError(
            f"the run over ROS ended early, by {ended.name}; see {runs.folder_of(OVER_ROS)}/log, "
            f"then go on with\n    {runs.how_to_go_on(runs.timesteps)}"
        )


def learn_in_process(runs: Comparison) -> None:
    """The other runs, side by side; an interrupted one begins again, as it takes a minute."""
    missing = [method for method in IN_PROCESS if not _finished(runs, method)]
    if not missing:
        return
    for method in missing:
        runs.log_of(method).unlink(missing_ok=True)
    logs = {method: runs.log_of(method) for method in missing}
    with (
        interruptible(),
        Display(logs, runs.timesteps),
        closing(run_locally(missing, partial(run_in_process, runs), WORKERS)) as running,
    ):
        for _ in running:
            pass


def _finished(runs: Comparison, method: str) -> bool:
    return _steps(runs, method) >= runs.timesteps


def _steps(runs: Comparison, method: str) -> int:
    return steps_of(read_soon(runs.log_of(method)))


def begin_again(runs: Comparison) -> None:
    """Forget all runs, but not what they start from."""
    forget(runs.folder_of(OVER_ROS))
    for method in METHODS:
        runs.log_of(method).unlink(missing_ok=True)
