"""`bayes-curiosity experiment arm`: curiosity against RND on an arm, through the ROS stack.

Every run is a `bayes-curiosity up`, as one would start it by hand, one after the other.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bayes_curiosity_ros.bringup import table as bringup
from bayes_curiosity_ros.bringup.processes import ProcessGroup, node_environment
from bayes_curiosity_ros.bringup.up import FLAGS, LOG, add_bringup_arguments
from bayes_curiosity_ros.errors import BayesCuriosityError, ConfigError
from bayes_curiosity_ros.experiments.curves.command import write_figures, write_table
from bayes_curiosity_ros.experiments.curves.jobs import Job, Record, Row
from bayes_curiosity_ros.experiments.curves.settings import digest
from bayes_curiosity_ros.experiments.engine.running import add_seeds_argument, chosen, parse_seeds
from bayes_curiosity_ros.experiments.engine.store import Store
from bayes_curiosity_ros.learning.episode_log import EpisodeRow, read_log
from bayes_curiosity_ros.learning.preparation import Preparation, Prepared, prepare
from bayes_curiosity_ros.learning.trainer import Iteration
from bayes_curiosity_ros.resources import find

TASK = "arm_reach"
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
        parameters: digest of the arm's parameter file.
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

    def budget(self, job: Any) -> int | None:
        """Budget of a run."""
        return self.timesteps

    def fingerprint(self) -> str:
        """As canonical JSON."""
        return json.dumps(dataclasses.asdict(self), indent=1, sort_keys=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command; most are those of the bringup."""
    minutes = round(2 * 5 * TIMESTEPS / STEPS_PER_SECOND / 60)
    parser.description = (
        f"{parser.description}. Ten runs of {TIMESTEPS} control steps are about {minutes} minutes "
        f"of a simulated arm at {STEPS_PER_SECOND} steps a second; a real arm makes 10 a second. "
        "Interrupted, the same command goes on where it was."
    )
    parser.add_argument(
        "--bonus", nargs="+", default=["curiosity", "rnd"], metavar="NAME", help="to compare"
    )
    add_seeds_argument(parser, "0-4")
    parser.add_argument("--timesteps", type=int, default=TIMESTEPS, metavar="N", help="of a run")
    parser.add_argument(
        "--output", type=Path, default=Path("output/curves"), metavar="FOLDER",
        help="the same as of `experiment curves`, to have all curves in one figure",
    )  # fmt: skip
    parser.add_argument(
        "--imitation-epochs",
        type=int,
        default=IMITATION_EPOCHS,
        help="of the policies' pre-training",
    )
    parser.add_argument("--no-plots", action="store_true", help="leave out the figures")
    parser.add_argument(
        "--simulated-operator",
        action="store_true",
        help="answer a real arm's questions to its operator; on arm sim that is always so",
    )
    add_bringup_arguments(parser, left_out=OWN)


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, then table and figures of all that is in the folder."""
    bonuses = chosen("bonus", arguments.bonus, bringup.BONUSES)
    jobs = [Job(TASK, b, seed) for seed in parse_seeds(arguments.seeds) for b in bonuses]
    for bonus in bonuses:  # checked before anything is spent
        bringup.nodes(_launch_arguments(arguments, bonus, 0, Path()))
    stores = {bonus: _store(arguments, bonus) for bonus in bonuses}
    done = {row.job for store in stores.values() for row in store.load()}
    missing = [job for job in jobs if job not in done]
    began_s = time.monotonic()
    for index, job in enumerate(missing):
        _announce(job, index, len(missing), time.monotonic() - began_s)
        stores[job.bonus].append(run_job(job, arguments))
    by_window = write_table(arguments.output)
    if not arguments.no_plots:
        write_figures(by_window, arguments.output)
    return 0


def run_job(job: Job, arguments: argparse.Namespace) -> list[Row]:
    """One `up`, from its checkpoint if there is one.

    Raises:
        RunFailedError: it ended before its budget; the message says how to go on.
    """
    folder = arguments.output / TASK / job.bonus / "runs" / f"seed_{job.seed}"
    files = prepared(arguments, job.seed)
    words = [sys.executable, "-m", "bayes_curiosity_ros.cli", "up"]
    given = _launch_arguments(arguments, job.bonus, job.seed, folder)
    given |= {"model": str(files.curiosity.resolve()), "policy": str(files.policy.resolve())}
    for name, value in given.items():
        option = "--" + name.replace("_", "-")
        if name not in FLAGS:
            words += [option, value]
        elif value == "true":
            words.append(option)
    with ProcessGroup(folder / "log", loud=["up"]) as group:
        group.start("up", words, node_environment())
        ended = group.wait()
    if ended.name == "":
        raise KeyboardInterrupt
    rows = read_log(folder / LOG) if ended.code == 0 else []
    if not rows or rows[-1].timesteps < arguments.timesteps:
        raise RunFailedError(
            f"{job.bonus}, seed {job.seed} ended early with code {ended.code}; see {folder}/log, "
            "then give the same command to go on"
        )
    return rows_of(job, rows, arguments.timesteps)


def prepared(arguments: argparse.Namespace, seed: int) -> Prepared:
    """Demonstrations and embedding of all runs, and the policy of this seed."""
    config = Preparation(
        robot=bringup.robot_of(vars(arguments)),
        imitation_epochs=arguments.imitation_epochs,
    )
    folder = arguments.output / "prepared" / f"{TASK}_{digest(dataclasses.asdict(config))}"
    shared = prepare(config, folder, print)
    if seed == config.seed:
        return shared
    mine = Prepared.within(folder / f"seed_{seed}")
    mine.policy.parent.mkdir(exist_ok=True)
    for name in ("demonstrations", "curiosity"):
        if not getattr(mine, name).exists():
            shutil.copyfile(getattr(shared, name), getattr(mine, name))
    return prepare(dataclasses.replace(config, seed=seed), mine.policy.parent, print)


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
    names = [argument.name for argument in bringup.ARGUMENTS if argument.name not in OWN]
    given = {name: getattr(arguments, name) for name in names}
    operator = arguments.simulated_operator or arguments.arm == "sim"
    resume = (folder / "checkpoint.pt").exists()
    given |= {"task": "reach", "bonus": bonus, "seed": seed, "output": folder, "resume": resume}
    given |= {"timesteps": arguments.timesteps, "simulated_operator": operator}
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in given.items()
    }


def _store(arguments: argparse.Namespace, bonus: str) -> Store[Row]:
    settings = ArmSettings(
        bonus,
        arguments.timesteps,
        arguments.arm,
        arguments.robot,
        arguments.imitation_epochs,
        digest(find("config/bringup", f"{arguments.arm}.yaml").read_text()),
    )
    return Store(arguments.output / TASK / bonus, settings, Row)


def _announce(job: Job, index: int, count: int, elapsed_s: float) -> None:
    left = f", about {elapsed_s / index * (count - index) / 60:.0f} minutes left" if index else ""
    print(f"run {index + 1} of {count}: {job.bonus}, seed {job.seed}{left}", flush=True)
