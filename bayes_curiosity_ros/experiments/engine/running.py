"""Running what is missing of an experiment: check, prepare, train, with progress, and resume."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from types import FrameType

import torch
from tqdm import tqdm

from bayes_curiosity_ros.configuration.ranges import parse_ranges
from bayes_curiosity_ros.environment import SIGNALS
from bayes_curiosity_ros.experiments.engine.build import Ground
from bayes_curiosity_ros.experiments.engine.jobs import Cell, Job, Row
from bayes_curiosity_ros.experiments.engine.schedule import JobT, RowT, run_locally, run_on_ray
from bayes_curiosity_ros.experiments.engine.settings import (
    ExperimentSettings,
    Selection,
    load_settings,
)
from bayes_curiosity_ros.experiments.engine.store import Store
from bayes_curiosity_ros.experiments.engine.work import Work
from bayes_curiosity_ros.learning.event_log import require_log

REFRESH_S = 1.0


def chosen_settings(arguments: argparse.Namespace) -> ExperimentSettings:
    """What the configuration file says, confined to what the arguments name."""
    settings = load_settings(arguments.config)
    names = (arguments.task, arguments.learner, arguments.method)
    settings = settings.only(Selection(*(tuple(part or ()) for part in names)))
    if arguments.timesteps is None:
        return settings
    return settings.with_timesteps(arguments.timesteps)


def run_missing(
    settings: ExperimentSettings, arguments: argparse.Namespace, keep_checkpoints: bool = True
) -> Work:
    """Check everything, prepare, then run the jobs that are not there yet.

    Args:
        settings: of the jobs; all of them are run.
        arguments: seeds, place and output.
        keep_checkpoints: whether finished runs can be looked at, and filmed, afterwards.
    """
    require_log(arguments.log)
    jobs = jobs_of(settings, parse_ranges(arguments.seeds, "--seeds"))
    torch.set_num_threads(1)
    work = work_of(settings, arguments.output, arguments.log)
    store = Store(arguments.output, work.cells)
    done = {row.job for row in store.load()} & set(jobs)
    missing = [job for job in jobs if job not in done]
    if len(missing) < len(jobs):
        print(f"{len(jobs) - len(missing)} of {len(jobs)} runs are already there", file=sys.stderr)
    with resumable(lambda: standing(len(done), len(jobs))), interruptible():
        prepare(missing, work, arguments.workers)
        for job in train(missing, work, store, arguments):
            done.add(job)
            if not keep_checkpoints:
                work.forget(job)
    return work


def standing(finished: int, count: int) -> str:
    """Where an experiment stands that was interrupted, and how to go on."""
    return f"{finished} of {count} runs are finished; the same command goes on"


def jobs_of(settings: ExperimentSettings, seeds: Sequence[int]) -> list[Job]:
    """Every run. Seeds vary slowest, so that early results cover everything."""
    return [Job(*cell, seed) for seed in seeds for cell in settings.cells()]


def work_of(settings: ExperimentSettings, folder: Path, log: str = "") -> Work:
    """Every cell, checked: a bad setting fails now and not in an hour.

    Args:
        settings: of the jobs.
        folder: of results.
        log: kind of event files that runs write; "" for none.
    """
    cells = {}
    for cell in settings.cells():
        ground = Ground(settings.cell(cell), folder / "prepared")
        ground.check()
        cells[cell] = ground.cell
    return Work(cells, folder, log)


@dataclass(frozen=True)
class Unprepared:
    """What lacks some preparation.

    Attributes:
        seeds: of the task's cells that lack something.
        line: of the terminal that the task's progress is shown on.
    """

    seeds: Mapping[Cell, Sequence[int]]
    line: int


def prepare(jobs: list[Job], work: Work, workers: int) -> None:
    """Make demonstrations, embeddings and imitated policies of these jobs, each once.

    Args:
        jobs: to be run.
        work: that runs them.
        workers: processes; each prepares a task.
    """
    seeds: dict[str, dict[Cell, list[int]]] = {}
    for cell in dict.fromkeys(job.cell for job in jobs):
        wanted = [job.seed for job in jobs if job.cell == cell]
        if not work.ground(cell).ready(wanted):
            seeds.setdefault(cell.task, {})[cell] = wanted
    by_task = [Unprepared(cells, line) for line, cells in enumerate(seeds.values())]
    with closing(run_locally(by_task, partial(prepare_task, work), workers)) as prepared:
        for _ in prepared:
            pass


def prepare_task(work: Work, unprepared: Unprepared) -> list[Row]:
    """Make what a task's runs start from; no rows come of it."""
    torch.set_num_threads(1)
    tell = partial(tqdm.write, file=sys.stderr)
    for cell, seeds in unprepared.seeds.items():
        work.ground(cell, tell, unprepared.line).make(seeds)
    return []


def train(
    jobs: list[Job], work: Work, store: Store, arguments: argparse.Namespace
) -> Generator[Job, None, None]:
    """Run jobs; each is yielded when it has finished and is saved."""
    if not jobs:
        return
    groups = side_by_side(jobs, arguments.together)
    with progress(jobs, work), closing(results_of(groups, work.together, arguments)) as results:
        for group, rows in results:
            store.append(rows)
            yield from group


def side_by_side(jobs: Sequence[Job], most: int) -> list[tuple[Job, ...]]:
    """Groups of up to so many seeds of a cell, the first ones of every cell first."""
    cells: dict[Cell, list[Job]] = {}
    for job in jobs:
        cells.setdefault(job.cell, []).append(job)
    groups = [
        [tuple(seeds[first : first + most]) for first in range(0, len(seeds), most)]
        for seeds in cells.values()
    ]
    return [group for turn in zip_longest(*groups) for group in turn if group is not None]


def results_of(
    jobs: Sequence[JobT], work: Callable[[JobT], list[RowT]], arguments: argparse.Namespace
) -> Generator[tuple[JobT, list[RowT]], None, None]:
    """Each job and its rows, as it finishes, wherever the arguments want it to run."""
    if arguments.cluster is not None:
        return run_on_ray(jobs, work, arguments.cluster)
    return run_locally(jobs, work, arguments.workers)


@contextmanager
def progress(jobs: list[Job], work: Work) -> Generator[None, None, None]:
    """Show a bar over the timesteps of all jobs, read from what the workers leave on disk."""
    budgets = {job: work.cells[job.cell].timesteps for job in jobs}

    def taken() -> list[int]:
        return [min(work.progress(job), budget) for job, budget in budgets.items()]

    def show() -> None:
        steps = taken()
        ended = sum(n == budget for n, budget in zip(steps, budgets.values(), strict=True))
        bar.set_postfix_str(f"{ended} of {len(jobs)} runs", refresh=False)
        bar.update(sum(steps) - bar.n)

    def watch() -> None:
        while not over.wait(REFRESH_S):
            show()

    over = threading.Event()
    with tqdm(
        total=sum(budgets.values()),
        initial=sum(taken()),
        unit="step",
        unit_scale=True,
        smoothing=0.05,
    ) as bar:
        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
            show()


@contextmanager
def interruptible() -> Generator[None, None, None]:
    """Take SIGTERM as Ctrl-C, and both even where a shell started us with them ignored.

    The number of the signal is the KeyboardInterrupt's argument, for `cli.main`.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt(number)

    before = [signal.signal(number, interrupt) for number in SIGNALS]
    try:
        yield
    finally:
        for number, handler in zip(SIGNALS, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def resumable(how: Callable[[], str]) -> Generator[None, None, None]:
    """Say on one line how to go on, when a signal cuts work short.

    Args:
        how: where it stands and what to type; asked for when it is needed.
    """
    try:
        yield
    except KeyboardInterrupt as interruption:
        number = next(iter(interruption.args), signal.SIGINT)
        print(f"stopped by {signal.Signals(number).name}: {how()}", file=sys.stderr)
        raise
