"""One run of a curve: a job in, rows out; interrupted, it goes on where it was."""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bayes_curiosity_ros.experiments.curves.build import build_trainer
from bayes_curiosity_ros.experiments.curves.groundwork import Groundwork
from bayes_curiosity_ros.experiments.curves.settings import CellSettings
from bayes_curiosity_ros.learning.checkpoint import load_checkpoint, save_checkpoint
from bayes_curiosity_ros.learning.trainer import Iteration, Trainer

WINDOW = 10  # the paper's
LONG_WINDOW = 100
CHECKPOINT_S = 20.0


@dataclass(frozen=True, order=True)
class Job:
    """A task, a method and a seed."""

    task: str
    bonus: str
    seed: int


@dataclass(frozen=True)
class Row:
    """Where one run stood at one time. Exploration noise is part of it, as in the paper.

    Attributes:
        bonus: the method's name; in ablations, the variant's.
        timesteps: environment steps so far.
        episodes: whole episodes so far.
        successes_per_timestep: successes ÷ steps of the 10 most recent training episodes, in
            their fixed order.
        successes_per_timestep_100: the same of the 100 most recent ones.
        extrinsic_return: mean over the last iteration's episodes.
        success_rate: of the same episodes.
        curiosity: mean bonus per step that the last update saw, weight included.
        first_success: steps to the end of the first successful episode; -1: none yet.
        seconds: of wall time, interruptions left out.
    """

    task: str
    bonus: str
    seed: int
    timesteps: int
    episodes: int
    successes_per_timestep: float
    successes_per_timestep_100: float
    extrinsic_return: float
    success_rate: float
    curiosity: float
    first_success: int
    seconds: float

    @property
    def job(self) -> Job:
        """The run that this row belongs to."""
        return Job(self.task, self.bonus, self.seed)


class Record:
    """The rows of a run so far, and what the next ones need."""

    def __init__(self, job: Job, points: int, budget: int) -> None:
        self.job = job
        self.rows: list[Row] = []
        self._points, self._budget = points, budget
        self._recent: deque[tuple[int, bool]] = deque(maxlen=LONG_WINDOW)
        self._episodes = 0

    def add(self, iteration: Iteration, first_success: int | None, seconds: float) -> None:
        """Take in an iteration; a row where one is due, and at the end.

        Args:
            iteration: its episodes.
            first_success: timesteps to the first successful episode of the run.
            seconds: of wall time so far.
        """
        self._recent.extend(
            zip(iteration.lengths.tolist(), iteration.succeeded.tolist(), strict=True)
        )
        self._episodes += len(iteration.lengths)
        steps = iteration.timesteps
        if steps * self._points >= (len(self.rows) + 1) * self._budget or steps >= self._budget:
            self.rows.append(self._row(iteration, first_success, seconds))

    def _row(self, iteration: Iteration, first_success: int | None, seconds: float) -> Row:
        recent = list(self._recent)
        return Row(
            self.job.task,
            self.job.bonus,
            self.job.seed,
            iteration.timesteps,
            self._episodes,
            round(successes_per_timestep(recent[-WINDOW:]), 6),
            round(successes_per_timestep(recent), 6),
            round(iteration.extrinsic_return, 4),
            round(iteration.success_rate, 4),
            round(iteration.diagnostics["intrinsic"], 8),
            -1 if first_success is None else first_success,
            round(seconds, 3),
        )

    def state_dict(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {
            "rows": [dataclasses.asdict(row) for row in self.rows],
            "recent": [[length, succeeded] for length, succeeded in self._recent],
            "episodes": self._episodes,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self.rows = [Row(**row) for row in state["rows"]]
        self._recent.extend((length, succeeded) for length, succeeded in state["recent"])
        self._episodes = int(state["episodes"])


@dataclass(frozen=True)
class Work:
    """Runs jobs; knows where their files are.

    Attributes:
        cells: settings by (task, method).
        folder: of results. On a cluster of several machines it must be a shared one.
    """

    cells: Mapping[tuple[str, str], CellSettings]
    folder: Path

    def __call__(self, job: Job) -> list[Row]:
        """Train to the budget, from the last checkpoint if there is one."""
        torch.set_num_threads(1)
        cell = self.cells[job.task, job.bonus]
        trainer = self.trainer(job)
        record, began_s = Record(job, cell.points, cell.timesteps), time.monotonic()
        checkpoint = self.checkpoint(job)
        if checkpoint.exists():
            saved = load_checkpoint(checkpoint, trainer)
            record.load_state_dict(saved["record"])
            began_s -= saved["seconds"]
        saved_s = time.monotonic()
        while trainer.timesteps < cell.timesteps:
            iteration = trainer.iterate()
            record.add(iteration, trainer.first_success, time.monotonic() - began_s)
            self._show_progress(job, trainer)
            ended = trainer.timesteps >= cell.timesteps
            if ended or time.monotonic() - saved_s > CHECKPOINT_S:
                saved_s = time.monotonic()
                extra = {"record": record.state_dict(), "seconds": saved_s - began_s}
                save_checkpoint(checkpoint, trainer, extra)
        return record.rows

    def trainer(self, job: Job) -> Trainer:
        """A job's trainer before its first iteration."""
        return build_trainer(self.ground(job.task, job.bonus), job.seed)

    def ground(self, task: str, method: str) -> Groundwork:
        """What a cell's runs start from."""
        return Groundwork(self.folder / "prepared", self.cells[task, method])

    def cell_folder(self, task: str, method: str) -> Path:
        """Where a cell's rows are."""
        return self.folder / task / method

    def checkpoint(self, job: Job) -> Path:
        """A job's training, while it runs and afterwards."""
        return self.cell_folder(job.task, job.bonus) / "runs" / f"seed_{job.seed}.pt"

    def progress(self, job: Job) -> int:
        """Timesteps that a job has taken, whoever runs it."""
        try:
            return int(self._progress_path(job).read_text())
        except (OSError, ValueError):
            return 0

    def _show_progress(self, job: Job, trainer: Trainer) -> None:
        path = self._progress_path(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(trainer.timesteps))

    def _progress_path(self, job: Job) -> Path:
        return self.checkpoint(job).with_suffix(".steps")


def successes_per_timestep(episodes: list[tuple[int, bool]]) -> float:
    """The paper's metric over (length, succeeded) of some episodes."""
    steps = sum(length for length, _ in episodes)
    return float(np.sum([succeeded for _, succeeded in episodes]) / steps) if steps else 0.0
