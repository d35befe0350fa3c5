"""`bayes-curiosity experiment parked`: curiosity against other bonuses, each run over ROS.

Every run is what `bayes-curiosity explore` does over ROS, one after the other, with several seeds.
"""

from __future__ import annotations

import argparse
import signal
from dataclasses import dataclass
from functools import partial
from typing import Any

from bayes_curiosity_ros.bringup.up import run_nodes
from bayes_curiosity_ros.configuration.ranges import STEPS, parse_ranges
from bayes_curiosity_ros.experiments.arm.command import (
    RunFailedError,
    rows_of,
    run_one_by_one,
)
from bayes_curiosity_ros.experiments.engine.arguments import (
    add_output_arguments,
    add_seeds_argument,
)
from bayes_curiosity_ros.experiments.engine.jobs import Cell, Job, Row
from bayes_curiosity_ros.experiments.engine.running import interruptible
from bayes_curiosity_ros.experiments.engine.settings import CellSettings
from bayes_curiosity_ros.experiments.exploration.command import REPORT
from bayes_curiosity_ros.experiments.parked.display import Display
from bayes_curiosity_ros.experiments.parked.settings import (
    LEARNER,
    Comparison,
    cell_of,
    run_over_ros,
)
from bayes_curiosity_ros.learning.checkpoint import has_checkpoint
from bayes_curiosity_ros.learning.episode_log import of_policy, read_log

TASK = "arm_parked_reach"  # in rows; those of `parked_reach` are of runs in process
METHODS = ["curiosity", "rnd", "none"]
TIMESTEPS = 150_000
STEPS_PER_SECOND = 800  # on two cores


@dataclass(frozen=True)
class OverRos:
    """What the rows of one method depend on, but for the seed.

    Attributes:
        timesteps: budget of a run.
        cell: settings of the same method in process.
    """

    timesteps: int
    cell: CellSettings

    def fingerprint(self) -> dict[str, Any]:
        """Settings as plain values."""
        return {"timesteps": self.timesteps, "cell": self.cell.fingerprint()}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    minutes = round(len(METHODS) * 5 * TIMESTEPS / STEPS_PER_SECOND / 60)
    parser.description = (
        f"{parser.description}. Fifteen runs of {TIMESTEPS} control steps are about {minutes} "
        "minutes. Interrupted, the same command goes on where it was."
    )
    parser.add_argument(
        "--method",
        "--bonus",
        nargs="+",
        default=METHODS,
        metavar="NAME",
        help="methods of `experiment exploration` to compare",
    )
    add_seeds_argument(parser, "0-4")
    parser.add_argument("--timesteps", type=STEPS, default=TIMESTEPS, metavar="N", help="of a run")
    add_output_arguments(parser, "output/parked", "results")


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, then report on all that is in the folder."""
    folder, steps = arguments.output, arguments.timesteps
    seeds = parse_ranges(arguments.seeds, "--seeds")
    cells = {
        Cell(TASK, LEARNER, method): OverRos(steps, cell_of(method)) for method in arguments.method
    }
    runs = {
        Job(*cell, seed): run_over_ros(cell.method, folder, seed, steps)
        for seed in seeds
        for cell in cells
    }
    run_one_by_one(cells, seeds, folder, lambda job: run_job(job, runs[job]))
    REPORT.write(folder, not arguments.no_plots)
    return 0


def run_job(job: Job, run: Comparison) -> list[Row]:
    """One run, from its checkpoint if there is one.

    Raises:
        RunFailedError: it ended before its budget; the message says how to go on.
        KeyboardInterrupt: a signal came.
    """
    with interruptible():
        _ = run.preparation(partial(print, flush=True)).encoder
    log, folder = run.log_of(job.method), run.folder_of(job.method)
    with Display({job.method: log}, run.timesteps):
        ended = run_nodes(run.bringup(has_checkpoint(run.checkpoint)), folder, loud=())
    if ended.signal:
        raise KeyboardInterrupt(signal.Signals[ended.signal])
    rows = of_policy(read_log(log)) if ended.code == 0 else []
    if not rows or rows[-1].timesteps < run.timesteps:
        raise RunFailedError(
            f"{job.method}, seed {job.seed} ended early with code {ended.code}; see {folder}/log, "
            "then give the same command to go on"
        )
    return rows_of(job, rows, run.timesteps)
