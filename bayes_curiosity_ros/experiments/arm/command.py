"""`bayes-curiosity experiment arm`: curiosity against RND on an arm, through the ROS stack.

Every run is a `bayes-curiosity up`, as one would start it by hand, one after the other.
"""

from __future__ import annotations

import argparse
import dataclasses
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bayes_curiosity_ros.bringup import arguments as bringup
from bayes_curiosity_ros.bringup.processes import ProcessGroup
from bayes_curiosity_ros.bringup.table import nodes, parameter_files
from bayes_curiosity_ros.bringup.up import add_bringup_arguments, words_of
from bayes_curiosity_ros.configuration.ranges import STEPS, parse_ranges, whole
from bayes_curiosity_ros.curiosity.bonus import BONUSES
from bayes_curiosity_ros.environment import node_environment
from bayes_curiosity_ros.errors import BayesCuriosityError, ConfigError
from bayes_curiosity_ros.experiments.curves.command import write_figures, write_table
from bayes_curiosity_ros.experiments.engine.arguments import (
    add_output_arguments,
    add_seeds_argument,
)
from bayes_curiosity_ros.experiments.engine.jobs import Cell, Job, Record, Row
from bayes_curiosity_ros.experiments.engine.running import resumable, standing
from bayes_curiosity_ros.experiments.engine.settings import digest
from bayes_curiosity_ros.experiments.engine.store import Store, StoredSettings
from bayes_curiosity_ros.learning.checkpoint import CHECKPOINT, has_checkpoint
from bayes_curiosity_ros.learning.episode_log import LOG, EpisodeRow, of_policy, read_log
from bayes_curiosity_ros.learning.preparation import PreparedFiles
from bayes_curiosity_ros.learning.prepare import PrepareOptions, prepare
from bayes_curiosity_ros.learning.trainer import Iteration

TASK = "arm_reach"  # in rows; what the arm does is "reach"
POINTS = 60
TIMESTEPS = 8_000
IMITATION_EPOCHS = 1  # a policy that has imitated for longer has little left to learn
STEPS_PER_SECOND = 150  # on two cores, the start of each run counted in; a real arm makes 10
# What this experiment decides by itself; all else of the bringup is the user's.
OWN = {"task", "bonus", "seed", "output", "resume", "timesteps", "model", "policy"}
OWN |= {"simulated_operator"}


class RunFailedError(BayesCuriosityError):
    """A run ended before its budget."""


@dataclass(frozen=True)
class ArmSettings:
    """What the rows of one bonus depend on, but for the seed.

    Attributes:
        bonus: what rewards exploration.
        timesteps: budget of a run.
        arm: what moved.
        robot: of `config/`; empty for the arm's own.
        imitation_epochs: of the policies' pre-training.
        parameters: digest of the nodes' parameter files.
    """

    bonus: str
    timesteps: int
    arm: str
    robot: str
    imitation_epochs: int
    parameters: str

    def __post_init__(self) -> None:
        if self.timesteps < 1:
            raise ConfigError(f"timesteps = {self.timesteps} must be ≥ 1")

    def fingerprint(self) -> dict[str, Any]:
        """Settings as plain values."""
        return dataclasses.asdict(self)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command; most are those of the bringup."""
    minutes = round(2 * 5 * TIMESTEPS / STEPS_PER_SECOND / 60)
    parser.description = (
        f"{parser.description}. Ten runs of {TIMESTEPS} control steps are about {minutes} minutes "
        f"of a simulated arm at {STEPS_PER_SECOND} steps a second; a real arm makes 10 a second. "
        "Interrupted, the same command goes on where it was."
    )
    parser.add_argument(
        "--method",
        "--bonus",
        nargs="+",
        default=["curiosity", "rnd"],
        metavar="NAME",
        help="bonuses to compare",
    )
    add_seeds_argument(parser, "0-4")
    parser.add_argument("--timesteps", type=STEPS, default=TIMESTEPS, metavar="N", help="of a run")
    about = "the same as of `experiment curves`, to have all curves in one figure"
    add_output_arguments(parser, "output/curves", about)
    parser.add_argument(
        "--imitation-epochs",
        type=whole("--imitation-epochs"),
        default=IMITATION_EPOCHS,
        help="of the policies' pre-training",
    )
    parser.add_argument(
        "--simulated-operator",
        action="store_true",
        help="answer a real arm's questions to its operator; on arm sim that is always so",
    )
    add_bringup_arguments(parser, left_out=OWN)


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, then table and figures of all that is in the folder."""
    bonuses = tuple(dict.fromkeys(arguments.method))
    BONUSES.require(*bonuses)
    seeds = parse_ranges(arguments.seeds, "--seeds")
    for bonus in bonuses:  # checked before anything is spent
        nodes(_launch_arguments(arguments, bonus, 0, Path()))
    cells = {Cell(TASK, arguments.learner, b): _settings(arguments, b) for b in bonuses}
    run_one_by_one(cells, seeds, arguments.output, partial(run_job, arguments=arguments))
    by_window = write_table(arguments.output)
    if not arguments.no_plots:
        write_figures(by_window, arguments.output)
    return 0


def run_one_by_one(
    cells: Mapping[Cell, StoredSettings],
    seeds: Sequence[int],
    folder: Path,
    run_job: Callable[[Job], list[Row]],
) -> None:
    """Run what is missing of these cells, all of a seed before the next one's.

    Args:
        cells: settings of each.
        seeds: of each.
        folder: of the rows.
        run_job: makes a run's rows.
    """
    jobs = [Job(*cell, seed) for seed in seeds for cell in cells]
    store = Store(folder, cells)
    done = {row.job for row in store.load()}
    missing = [job for job in jobs if job not in done]
    began_s = time.monotonic()
    for index, job in enumerate(missing):
        _announce(job, index, len(missing), time.monotonic() - began_s)
        with resumable(partial(standing, len(jobs) - len(missing) + index, len(jobs))):
            store.append(run_job(job))


def run_job(job: Job, arguments: argparse.Namespace) -> list[Row]:
    """One `up`, from its checkpoint if there is one.

    Raises:
        RunFailedError: it ended before its budget; the message says how to go on.
    """
    folder = job.cell.within(arguments.output) / f"seed_{job.seed}"
    files = prepared(arguments, job.seed)
    given = _launch_arguments(arguments, job.method, job.seed, folder)
    given |= {"model": str(files.model.resolve()), "policy": str(files.policy.resolve())}
    with ProcessGroup(folder / "log", loud=["up"]) as group:
        group.start("up", words_of(given), node_environment())
        ended = group.wait()
    if ended.signal:
        raise KeyboardInterrupt(signal.Signals[ended.signal])
    rows = of_policy(read_log(folder / LOG)) if ended.code == 0 else []
    if not rows or rows[-1].timesteps < arguments.timesteps:
        raise RunFailedError(
            f"{job.method}, seed {job.seed} ended early with code {ended.code}; see {folder}/log, "
            "then give the same command to go on"
        )
    return rows_of(job, rows, arguments.timesteps)


def prepared(arguments: argparse.Namespace, seed: int) -> PreparedFiles:
    """Demonstrations and model of all runs, and the policy of this seed."""
    given = bringup.checked(_launch_arguments(arguments, arguments.method[0], seed, Path()))
    options = PrepareOptions(
        robot=bringup.robot_of(given), imitation_epochs=arguments.imitation_epochs
    )
    folder = arguments.output / "prepared" / f"{TASK}_{digest(dataclasses.asdict(options))}"
    files = PreparedFiles.within(folder)
    for wanted in (options.seed, seed):  # the first makes what all seeds share
        files = dataclasses.replace(files, policy=folder / f"policy_{wanted}.pt")
        prepare(dataclasses.replace(options, seed=wanted), files, print)
    return files


def rows_of(job: Job, episodes: Sequence[EpisodeRow], budget: int) -> list[Row]:
    """A run's log of episodes, as rows like those of runs in process; no times in it."""
    record, part = Record(job, POINTS, budget), []
    first = next((row.timesteps for row in episodes if row.outcome == "success"), None)
    for episode in episodes:
        part.append(episode)
        steps = sum(row.steps for row in part)
        if steps * POINTS >= budget or episode is episodes[-1]:
            known = first if first is not None and first <= episode.timesteps else None
            record.add(_iteration(part), known, float("nan"))
            part = []
    return record.rows


def _iteration(episodes: list[EpisodeRow]) -> Iteration:
    lengths = np.array([row.steps for row in episodes])
    succeeded = np.array([row.outcome == "success" for row in episodes])
    return Iteration(
        episodes[-1].timesteps,
        float(np.mean([row.extrinsic_return for row in episodes])),
        float(succeeded.mean()),
        {"intrinsic": float(sum(row.intrinsic_return for row in episodes) / lengths.sum())},
        lengths,
        succeeded,
    )


def _launch_arguments(
    arguments: argparse.Namespace, bonus: str, seed: int, folder: Path
) -> dict[str, str]:
    names = [argument.name for argument in bringup.arguments() if argument.name not in OWN]
    given = {name: getattr(arguments, name) for name in names}
    operator = arguments.simulated_operator or arguments.arm == "sim"
    resume = has_checkpoint(folder / CHECKPOINT)
    given |= {"task": "reach", "bonus": bonus, "seed": seed, "output": folder, "resume": resume}
    given |= {"timesteps": arguments.timesteps, "simulated_operator": operator}
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in given.items()
    }


def _settings(arguments: argparse.Namespace, bonus: str) -> ArmSettings:
    chosen = _launch_arguments(arguments, bonus, 0, Path())
    return ArmSettings(
        bonus,
        arguments.timesteps,
        arguments.arm,
        arguments.robot,
        arguments.imitation_epochs,
        digest([Path(file).read_text() for file in parameter_files(chosen)]),
    )


def _announce(job: Job, index: int, count: int, elapsed_s: float) -> None:
    """Say which run begins, and how long the rest takes if they are as long as those so far."""
    left = f", about {elapsed_s / index * (count - index) / 60:.0f} minutes left" if index else ""
    print(f"run {index + 1} of {count}: {job.method}, seed {job.seed}{left}", flush=True)
