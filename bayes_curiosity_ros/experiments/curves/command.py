"""`bayes-curiosity experiment curves`: run what is missing, then table, figures and films."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from tqdm import tqdm

from bayes_curiosity_ros.experiments.curves.analysis import MEASURES, Curves, curves_of
from bayes_curiosity_ros.experiments.curves.build import check_buildable
from bayes_curiosity_ros.experiments.curves.groundwork import Groundwork
from bayes_curiosity_ros.experiments.curves.jobs import LONG_WINDOW, WINDOW, Job, Row, Work
from bayes_curiosity_ros.experiments.curves.settings import CurveSettings, load_curves
from bayes_curiosity_ros.experiments.curves.table import to_markdown
from bayes_curiosity_ros.experiments.engine.running import (
    add_files_arguments,
    add_place_arguments,
    add_seeds_argument,
    check_place,
    chosen,
    interruptible,
    parse_seeds,
    results_of,
)
from bayes_curiosity_ros.experiments.engine.schedule import run_locally
from bayes_curiosity_ros.experiments.engine.store import Store, read_rows
from bayes_curiosity_ros.experiments.table1.settings import BONUSES
from bayes_curiosity_ros.files import write_atomically
from bayes_curiosity_ros.resources import find
from bayes_curiosity_ros.tasks.registry import ARM_TASKS

REFRESH_S = 1.0
Stores = dict[tuple[str, str], Store[Row]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `bayes-curiosity experiment curves`."""
    parser.add_argument("--task", nargs="+", metavar="NAME", help="only these tasks")
    parser.add_argument("--bonus", nargs="+", metavar="NAME", help="only these bonuses")
    add_files_arguments(parser, find("config/experiments", "curves.yaml"), "output/curves")
    parser.add_argument("--no-videos", action="store_true", help="leave out the films")
    add_shared_arguments(parser)


def add_shared_arguments(parser: argparse.ArgumentParser) -> None:
    """Options that ablations have too."""
    add_seeds_argument(parser, "0-4")
    parser.add_argument("--timesteps", type=int, metavar="N", help="replaces every budget")
    add_place_arguments(parser)
    parser.add_argument("--no-plots", action="store_true", help="leave out the figures")


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, then report on all that is in the folder."""
    settings = load_curves(arguments.config)
    tasks = chosen("task", arguments.task, tuple(settings.tasks))
    bonuses = dict.fromkeys(name for task in tasks for name in settings.methods[task])
    methods = chosen("bonus", arguments.bonus, tuple(bonuses))
    work = run_missing(settings, tasks, methods, arguments)
    by_window = write_table(arguments.output)
    if not arguments.no_plots:
        write_figures(by_window, arguments.output)
    if not arguments.no_videos:
        from bayes_curiosity_ros.experiments.curves.films import film_best

        film_best(by_window[LONG_WINDOW], work)
    print(f"rows, table, figures and films are in {arguments.output}", file=sys.stderr)
    return 0


def run_missing(
    settings: CurveSettings,
    tasks: Sequence[str],
    methods: Sequence[str],
    arguments: argparse.Namespace,
) -> Work:
    """Check everything, prepare, then run the chosen jobs that are not there yet."""
    if arguments.timesteps is not None:
        settings = settings.with_timesteps(arguments.timesteps)
    check_place(arguments)
    jobs = jobs_of(settings, tasks, methods, parse_seeds(arguments.seeds))
    torch.set_num_threads(1)
    work = work_of(jobs, settings, arguments.output)
    stores = {key: Store(work.cell_folder(*key), cell, Row) for key, cell in work.cells.items()}
    done = {row.job for store in stores.values() for row in store.load()}
    missing = [job for job in jobs if job not in done]
    if len(missing) < len(jobs):
        print(f"{len(jobs) - len(missing)} of {len(jobs)} runs are already there", file=sys.stderr)
    with interruptible():
        prepare(missing, work, arguments.workers)
        train(missing, work, stores, arguments)
    return work


def jobs_of(
    settings: CurveSettings, tasks: Sequence[str], methods: Sequence[str], seeds: Sequence[int]
) -> list[Job]:
    """The chosen slice. Seeds vary slowest, so that early results cover everything."""
    return [
        Job(task, method, seed)
        for seed in seeds
        for task in tasks
        for method in methods
        if method in settings.methods[task]
    ]


def work_of(jobs: list[Job], settings: CurveSettings, output: Path) -> Work:
    """Every cell that the jobs need, checked: a bad setting fails now and not in an hour."""
    cells = {}
    for key in dict.fromkeys((job.task, job.bonus) for job in jobs):
        ground = Groundwork(output / "prepared", settings.cell(*key))
        check_buildable(ground)
        cells[key] = dataclasses.replace(ground.cell, world=ground.world)
    return Work(cells, output)


def prepare(jobs: list[Job], work: Work, workers: int) -> None:
    """Demonstrations, embeddings and imitated policies of these jobs, made once.

    Args:
        jobs: to be run.
        work: that runs them.
        workers: processes; each prepares a task.
    """
    seeds: dict[str, dict[str, list[int]]] = {}
    for task, method in dict.fromkeys((job.task, job.bonus) for job in jobs):
        wanted = [job.seed for job in jobs if (job.task, job.bonus) == (task, method)]
        if not work.ground(task, method).ready(wanted):
            seeds.setdefault(task, {})[method] = wanted
    by_task = [
        Unprepared(task, methods, line) for line, (task, methods) in enumerate(seeds.items())
    ]
    with closing(run_locally(by_task, partial(prepare_task, work), workers)) as prepared:
        for _ in prepared:
            pass


@dataclass(frozen=True)
class Unprepared:
    """A task, its methods that lack something and their seeds, and its line of the terminal."""

    task: str
    seeds: Mapping[str, Sequence[int]]
    line: int


def prepare_task(work: Work, unprepared: Unprepared) -> list[Row]:
    """Make what a task's runs start from; no rows come of it."""
    torch.set_num_threads(1)
    tell = partial(tqdm.write, file=sys.stderr)
    for method, seeds in unprepared.seeds.items():
        work.ground(unprepared.task, method).make(seeds, tell, unprepared.line)
    return []


def train(jobs: list[Job], work: Work, stores: Stores, arguments: argparse.Namespace) -> None:
    """Run jobs, saving each as it finishes."""
    if not jobs:
        return
    with progress(jobs, work), closing(results_of(jobs, work, arguments)) as results:
        for job, rows in results:
            stores[job.task, job.bonus].append(rows)


@contextmanager
def progress(jobs: list[Job], work: Work) -> Generator[None, None, None]:
    """A bar over the timesteps of all jobs, read from what the workers leave on disk."""
    budgets = {job: work.cells[job.task, job.bonus].timesteps for job in jobs}

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


def write_table(folder: Path, claims: bool = True) -> dict[int, Curves]:
    """Write and print table.md of all rows in the folder; the curves, by window."""
    rows = all_rows(folder)
    by_window: dict[int, Curves] = {window: curves_of(rows, window) for window in MEASURES}
    markdown = to_markdown(by_window, claims)
    write_atomically(folder / "table.md", markdown.encode())
    print(markdown)
    return by_window


def write_figures(by_window: Mapping[int, Curves], folder: Path) -> None:
    """The paper's figure, judged over many episodes, and over as few as the paper's."""
    from bayes_curiosity_ros.experiments.curves.plots import plot_paper

    plot_paper(by_window[LONG_WINDOW], folder / "curves.png")
    plot_paper(by_window[WINDOW], folder / f"curves_{WINDOW}.png")


def all_rows(folder: Path) -> list[Row]:
    """The rows of every cell in a folder of results, whenever they were made."""
    paths = sorted(folder.glob("*/*/rows.csv"))
    rows = [row for path in paths for row in read_rows(path, Row)]
    known = [*ARM_TASKS], [*BONUSES]
    return sorted(rows, key=lambda row: (_place(row.task, known[0]), _place(row.bonus, known[1])))


def _place(name: str, known: Sequence[str]) -> int:
    """Known names first, in their own order."""
    return known.index(name) if name in known else len(known)
