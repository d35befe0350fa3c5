"""One run of the table: a job in, rows out. A job knows nothing of how it is scheduled."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch

from bayes_curiosity_ros.experiments.table1.build import build_trainer
from bayes_curiosity_ros.experiments.table1.settings import TableSettings
from bayes_curiosity_ros.learning.trainer import Iteration, Trainer


@dataclass(frozen=True, order=True)
class Job:
    """A task, a learner, a bonus and a seed."""

    task: str
    algorithm: str
    bonus: str
    seed: int


@dataclass(frozen=True)
class Row:
    """One evaluation of one run.

    Attributes:
        timesteps: environment steps taken in training so far.
        extrinsic_return: mean over the evaluation's episodes, without noise or bonus.
        success_rate: of the same episodes.
        training_return: mean extrinsic return of the last iteration's episodes.
        intrinsic_reward: mean bonus per step that the last update saw.
        first_success: training steps to the end of the first successful episode; -1: none yet.
        seconds: of wall time since the job began.
    """

    task: str
    algorithm: str
    bonus: str
    seed: int
    timesteps: int
    extrinsic_return: float
    success_rate: float
    training_return: float
    intrinsic_reward: float
    first_success: int
    seconds: float

    @property
    def job(self) -> Job:
        """The run that this row belongs to."""
        return Job(self.task, self.algorithm, self.bonus, self.seed)


def run_job(job: Job, settings: TableSettings) -> list[Row]:
    """Train to the budget, evaluating on the way."""
    torch.set_num_threads(1)
    began = time.perf_counter()
    trainer = build_trainer(job.task, job.algorithm, job.bonus, job.seed, settings)
    budget = settings.cell(job.task, job.algorithm).timesteps
    rows = [_evaluate(job, trainer, None, settings, 0, began)]
    while trainer.timesteps < budget:
        iteration = trainer.iterate()
        if trainer.timesteps * settings.evaluations >= len(rows) * budget:
            rows.append(_evaluate(job, trainer, iteration, settings, len(rows), began))
    return rows


def _evaluate(
    job: Job,
    trainer: Trainer,
    iteration: Iteration | None,
    settings: TableSettings,
    index: int,
    began: float,
) -> Row:
    rng = np.random.default_rng([job.seed, 2, index])
    episodes = trainer.evaluate(settings.evaluation_episodes, rng)
    nothing = float("nan")
    return Row(
        job.task,
        job.algorithm,
        job.bonus,
        job.seed,
        trainer.timesteps,
        round(float(episodes.returns().mean()), 4),
        round(float(episodes.succeeded.mean()), 4),
        round(iteration.extrinsic_return, 4) if iteration else nothing,
        round(iteration.diagnostics.get("intrinsic", nothing), 8) if iteration else nothing,
        -1 if trainer.first_success is None else trainer.first_success,
        round(time.perf_counter() - began, 3),
    )
