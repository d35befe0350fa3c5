"""`bayes-curiosity experiment curves`: run what is missing, then table, figures and films."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import torch
from tqdm import tqdm

from bayes_curiosity_ros.experiments.curves.analysis import MEASURES, curves_of
from bayes_curiosity_ros.experiments.curves.build import check_buildable
from bayes_curiosity_ros.experiments.curves.groundwork import Groundwork
from bayes_curiosity_ros.experiments.curves.jobs import LONG_WINDOW, WINDOW, Job, Row, Work
from bayes_curiosity_ros.experiments.curves.settings import CurveSettings, load_curves
from bayes_curiosity_ros.experiments.curves.table import to_markdown
from bayes_curiosity_ros.experiments.running import (
    add_place_arguments,
    add_seeds_argument,
    check_place,
    chosen,
    interruptible,
    parse_seeds,
    results_of,
)
from bayes_curiosity_ros.experiments.store import Store, read_rows
from bayes_curiosity_ros.files import write_atomically
from bayes_curiosity_ros.resources import find

REFRESH_S = 1.0
Stores = dict[tuple[str, str], Store[Row]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `bayes-curiosity experiment curves`."""
    parser.add_argument("--task", nargs="+", metavar="NAME", help="only these tasks")
    parser.add_argument("--bonus", nargs="+", metavar="NAME", help="only these bonuses")
    add_seeds_argument(parser, "0-4")
    parser.add_argument("--timesteps", type=int, metavar="N", help="replaces every budget")
    parser.add_argument(
        "--config", type=Path, default=find("config", "curves.yaml"), metavar="FILE"
    )
    parser.add_argument("--output", type=Path, default=Path("output/curves"), metavar="FOLDER")
    add_place_arguments(parser)
    parser.add_argument("--no-plots", action="store_true", help="leave out the figures")
    parser.add_argument("--no-videos", action="store_true", help="leave out the films")


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, then report on all that is in the folder."""
    settings = load_curves(arguments.config)
    if arguments.timesteps is not None:
        settings = settings.with_timesteps(arguments.timesteps)
    run_missing(settings, arguments)
    report(arguments)
    return 0


def run_missing(settings: CurveSettings, arguments: argparse.Namespace) -> None:
    """Check everything, prepare, then run the chosen jobs that are not there yet."""
    jobs = jobs_of(arguments, settings)
    check_place(arguments)
    torch.set_num_threads(1)
    work = work_of(jobs, settings, arguments.output)
    stores = {key: Store(work.cell_folder(*key), cell, Row) for key, cell in work.cells.items()}
    done = {row.job for store in stores.values() for row in store.load()}
    missing = [job for job in jobs if job not in done]
    if len(missing) < len(jobs):
        print(f"{len(jobs) - len(missing)} of {len(jobs)} runs are already there", file=sys.stderr)
    with interruptible():
        prepare(missing, work)
        train(missing, work, stores, arguments)


def jobs_of(arguments: argparse.Namespace, settings: CurveSettings) -> list[Job]:
    """The chosen slice. Seeds vary slowest, so that early results cover everything."""
    tasks = chosen("task", arguments.task, tuple(settings.tasks))
    every = dict.fromkeys(name for task in tasks for name in settings.methods[task])
    methods = chosen("bonus", arguments.bonus, tuple(every))
    return [
        Job(task, method, seed)
        for seed in parse_seeds(arguments.seeds)
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


def prepare(jobs: list[Job], work: Work) -> None:
    """Demonstrations, embeddings and imitated policies of these jobs, made once."""
    for key in dict.fromkeys((job.task, job.bonus) for job in jobs):
        seeds = [job.seed for job in jobs if (job.task, job.bonus) == key]
        work.ground(*key).make(seeds, lambda line: print(line, file=sys.stderr))


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

    def taken() -> int:
        return sum(min(work.progress(job), budget) for job, budget in budgets.items())

    ended = threading.Event()
    with tqdm(
        total=sum(budgets.values()), initial=taken(), unit="step", unit_scale=True, smoothing=0.05
    ) as bar:

        def watch() -> None:
            while not ended.wait(REFRESH_S):
                bar.update(taken() - bar.n)

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()
            bar.update(taken() - bar.n)


def report(arguments: argparse.Namespace) -> None:
    """Write table.md, the figures and the films of all rows in the folder."""
    rows = all_rows(arguments.output)
    by_window = {window: curves_of(rows, window) for window in MEASURES}
    markdown = to_markdown(by_window)
    write_atomically(arguments.output / "table.md", markdown.encode())
    print(markdown)
    if not arguments.no_plots:
        from bayes_curiosity_ros.experiments.curves.plots import plot_paper

        plot_paper(by_window[LONG_WINDOW], arguments.output / "curves.png")
        plot_paper(by_window[WINDOW], arguments.output / f"curves_{WINDOW}.png")
    print(f"rows, table and figures are in {arguments.output}", file=sys.stderr)


def all_rows(folder: Path) -> list[Row]:
    """The rows of every cell in a folder of results, whenever they were made."""
    paths = sorted(folder.glob("*/*/rows.csv"))
    return [row for path in paths for row in read_rows(path, Row)]
