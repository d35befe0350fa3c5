"""One run: a job in, rows out; interrupted, it goes on where it was."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

from bayes_curiosity_ros.experiments.engine.build import Ground
from bayes_curiosity_ros.experiments.engine.jobs import (
    Cell,
    Evaluate,
    Evaluation,
    Job,
    Record,
    Row,
    no_evaluation,
)
from bayes_curiosity_ros.experiments.engine.run_log import RunLog
from bayes_curiosity_ros.experiments.engine.settings import CellSettings
from bayes_curiosity_ros.learning.checkpoint import (
    forget_checkpoint,
    has_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from bayes_curiosity_ros.learning.preparation import Tell
from bayes_curiosity_ros.learning.side_by_side import Executor, side_by_side
from bayes_curiosity_ros.learning.trainer import Trainer

CHECKPOINT_S = 20.0


@dataclass(frozen=True)
class Work:
    """Runs jobs; knows where their files are. A job knows nothing of how it is scheduled.

    Attributes:
        cells: settings by cell.
        folder: of results. On a cluster of several machines it must be a shared one.
        log: kind of event files that runs write; "" for none.
    """

    cells: Mapping[Cell, CellSettings]
    folder: Path
    log: str = ""

    def __call__(self, job: Job) -> list[Row]:
        """Train to the budget, from the last checkpoint if there is one."""
        return self._run(job, Executor())

    def together(self, jobs: Sequence[Job]) -> list[Row]:
        """The rows of several seeds of a cell, run side by side: the same bits as alone."""
        if len(jobs) == 1:
            return self(jobs[0])
        runs = side_by_side([partial(self._run, job) for job in jobs])
        return [row for rows in runs for row in rows]

    def _run(self, job: Job, executor: Executor) -> list[Row]:
        torch.set_num_threads(1)  # a setting of each thread
        began_s, cell = time.monotonic(), self.cells[job.cell]
        trainer = self.trainer(job, executor)
        record = Record(job, cell.points, cell.timesteps, evaluation_of(trainer, cell, job.seed))
        checkpoint, written = self.checkpoint(job), 0
        if has_checkpoint(checkpoint):
            saved = load_checkpoint(checkpoint, trainer)
            record.load_state_dict(saved["record"])
            began_s, written = time.monotonic() - saved["seconds"], len(record.rows)
        elif cell.evaluation_episodes:
            record.begin(time.monotonic() - began_s)
        with RunLog(checkpoint.with_suffix(""), self.log, trainer, written) as log:
            log.follow(record.rows)
            self._train(trainer, record, log, began_s)
        return record.rows

    def _train(self, trainer: Trainer, record: Record, log: RunLog, began_s: float) -> None:
        job, saved_s = record.job, time.monotonic()
        budget = self.cells[job.cell].timesteps
        while trainer.timesteps < budget:
            iteration = trainer.iterate()
            record.add(iteration, trainer.first_success, time.monotonic() - began_s)
            log.follow(record.rows)
            self._show_progress(job, trainer)
            if trainer.timesteps >= budget or time.monotonic() - saved_s > CHECKPOINT_S:
                saved_s = time.monotonic()
                extra = {"record": record.state_dict(), "seconds": saved_s - began_s}
                save_checkpoint(self.checkpoint(job), trainer, extra)

    def trainer(self, job: Job, executor: Executor | None = None) -> Trainer:
        """A job's trainer before its first iteration.

        Args:
            job: the run.
            executor: runs its episodes and updates.
        """
        return self.ground(job.cell).trainer(job.seed, executor)

    def ground(self, cell: Cell, tell: Tell = lambda line: None, line: int = 0) -> Ground:
        """What a cell's runs start from.

        Args:
            cell: one of these.
            tell: told one line per thing made.
            line: of the terminal that progress is shown on.
        """
        return Ground(self.cells[cell], self.folder / "prepared", tell, line)

    def checkpoint(self, job: Job) -> Path:
        """A job's training, while it runs and afterwards."""
        return job.cell.within(self.folder) / f"seed_{job.seed}.pt"

    def forget(self, job: Job) -> None:
        """Remove a finished job's checkpoint, for experiments of many runs that need none."""
        forget_checkpoint(self.checkpoint(job))

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


def evaluation_of(trainer: Trainer, cell: CellSettings, seed: int) -> Evaluate:
    """How a cell's runs are evaluated; each evaluation has a random stream of its own."""
    if not cell.evaluation_episodes:
        return no_evaluation
    return partial(_evaluate, trainer, cell.evaluation_episodes, seed)


def _evaluate(trainer: Trainer, count: int, seed: int, index: int) -> Evaluation:
    episodes = trainer.evaluate(count, np.random.default_rng([seed, 2, index]))
    return Evaluation(float(episodes.returns().mean()), float(episodes.succeeded.mean()))
