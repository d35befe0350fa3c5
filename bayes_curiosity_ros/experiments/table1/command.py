"""The paper's Table I: every task, learner, bonus and seed, or any slice of them."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
from tqdm import tqdm

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
from bayes_curiosity_ros.experiments.engine.store import Store
from bayes_curiosity_ros.experiments.table1.analysis import cells_of
from bayes_curiosity_ros.experiments.table1.build import build_algorithm, build_bonus
from bayes_curiosity_ros.experiments.table1.jobs import Job, Row, run_job
from bayes_curiosity_ros.experiments.table1.settings import (
    ALGORITHMS,
    BONUSES,
    TableSettings,
    load_settings,
)
from bayes_curiosity_ros.experiments.table1.table import to_markdown
from bayes_curiosity_ros.files import write_atomically
from bayes_curiosity_ros.resources import find
from bayes_curiosity_ros.tasks.registry import make_task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `bayes-curiosity experiment table1`."""
    parser.add_argument("--task", nargs="+", metavar="NAME", help="only these tasks")
    parser.add_argument("--algorithm", nargs="+", metavar="NAME", help="only these learners")
    parser.add_argument("--bonus", nargs="+", metavar="NAME", help="only these bonuses")
    add_seeds_argument(parser, "0-9")
    parser.add_argument("--steps", type=int, metavar="N", help="replaces every cell's budget")
    add_files_arguments(parser, default_config(), "output/table1")
    add_place_arguments(parser)
    parser.add_argument("--no-plots", action="store_true", help="leave out the figures")


def default_config() -> Path:
    """The shipped settings."""
    return find("config/experiments", "table1.yaml")


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing, then write the table and the figures."""
    settings = load_settings(arguments.config)
    if arguments.steps is not None:
        settings = settings.with_timesteps(arguments.steps)
    jobs = jobs_of(arguments, settings)
    check_place(arguments)
    check_buildable(jobs, settings)
    store = Store(arguments.output, settings, Row)
    rows = store.load()
    done = {row.job for row in rows}
    missing = [job for job in jobs if job not in done]
    if len(missing) < len(jobs):
        print(f"{len(jobs) - len(missing)} of {len(jobs)} runs are already there", file=sys.stderr)
    rows += run_missing(missing, settings, store, arguments)
    report(rows, settings, arguments)
    return 0


def jobs_of(arguments: argparse.Namespace, settings: TableSettings) -> list[Job]:
    """The chosen slice. Seeds vary slowest, so that early results cover the whole table."""
    tasks = chosen("task", arguments.task, tuple(settings.cells))
    algorithms = chosen("algorithm", arguments.algorithm, ALGORITHMS)
    bonuses = chosen("bonus", arguments.bonus, BONUSES)
    return [
        Job(task, algorithm, bonus, seed)
        for seed in parse_seeds(arguments.seeds)
        for task in tasks
        for algorithm in algorithms
        if algorithm in settings.cells[task]
        for bonus in bonuses
    ]


def check_buildable(jobs: list[Job], settings: TableSettings) -> None:
    """Make each learner and bonus once, so that a bad setting fails now and not in an hour."""
    for task, algorithm in dict.fromkeys((job.task, job.algorithm) for job in jobs):
        cell = settings.cell(task, algorithm)
        build_algorithm(algorithm, make_task(task), cell, np.random.default_rng(0))
    for task, bonus in dict.fromkeys((job.task, job.bonus) for job in jobs):
        build_bonus(bonus, make_task(task), 0, settings, rehearse=True)


def run_missing(
    jobs: list[Job], settings: TableSettings, store: Store[Row], arguments: argparse.Namespace
) -> list[Row]:
    """Run jobs, saving each as it finishes, with a bar that shows the time left."""
    rows: list[Row] = []
    if not jobs:
        return rows
    with (
        interruptible(),
        closing(results_of(jobs, partial(run_job, settings=settings), arguments)) as results,
        tqdm(total=len(jobs), unit="run", desc="table1", smoothing=0.05) as bar,
    ):
        for job, finished in results:
            store.append(finished)
            rows += finished
            bar.update()
            bar.set_postfix_str(f"{job.task} {job.algorithm} {job.bonus} {job.seed}")
    return rows


def report(rows: list[Row], settings: TableSettings, arguments: argparse.Namespace) -> None:
    """Write table.md and one figure per task beside the rows."""
    cells = cells_of(rows, settings.evaluations)
    markdown = to_markdown(cells)
    write_atomically(arguments.output / "table.md", markdown.encode())
    print(markdown)
    if not arguments.no_plots:
        from bayes_curiosity_ros.experiments.table1.plots import plot_curves

        plot_curves(cells, arguments.output)
    print(f"rows, table and figures are in {arguments.output}", file=sys.stderr)
