"""A film of the best policy of each task."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from bayes_curiosity_ros.experiments.curves.analysis import Curves
from bayes_curiosity_ros.experiments.engine.jobs import Job
from bayes_curiosity_ros.experiments.engine.work import Work
from bayes_curiosity_ros.learning.checkpoint import has_checkpoint, load_checkpoint
from bayes_curiosity_ros.learning.trainer import Trainer
from bayes_curiosity_ros.robot.cameras.camera import CameraError
from bayes_curiosity_ros.tasks.arm.task import ArmTask
from bayes_curiosity_ros.tasks.arm.view import episodes, film, robots_view, save
from bayes_curiosity_ros.tasks.registry import TASKS

EPISODES = 4
SEED = 1000  # of the placements: none that a run was trained or reported with
MAX_BYTES = 1_500_000
SIZE = (320, 240)


def film_best(curves: Curves, work: Work) -> list[Path]:
    """Film the run with the highest final value on each of the arm's tasks in `work`.

    A film that is newer than the run is left as it is.
    """
    paths = []
    for task in dict.fromkeys(cell.task for cell in work.cells if TASKS[cell.task].arm):
        job = best_run(curves, work, task)
        if job is None:
            print(f"{task}: no run has its checkpoint here; no film", file=sys.stderr)
            continue
        path = work.folder / f"{task}.gif"
        paths.append(path)
        if path.exists() and path.stat().st_mtime > work.checkpoint(job).stat().st_mtime:
            continue
        arm = work.ground(job.cell).simulated
        assert isinstance(arm, ArmTask)
        write_film(trained(job, work), arm, path)
        print(f"{path}: {job.method}, seed {job.seed}", file=sys.stderr)
    return paths


def best_run(curves: Curves, work: Work, task: str) -> Job | None:
    """The run with the highest final value of those whose checkpoint is there."""
    finals = {
        Job(*cell, run.seed): run.final()
        for cell, curve in curves.items()
        if cell.task == task and cell in work.cells
        for run in curve.runs
    }
    there = [job for job in finals if has_checkpoint(work.checkpoint(job))]
    return max(there, key=lambda job: finals[job], default=None)


def trained(job: Job, work: Work) -> Trainer:
    """A job's trainer after its last iteration."""
    trainer = work.trainer(job)
    load_checkpoint(work.checkpoint(job), trainer)
    return trainer


def write_film(trainer: Trainer, arm: ArmTask, path: Path) -> None:
    """A few episodes without exploration noise, with as many frames as the limit allows."""
    behaviour = trainer.algorithm.exploit()

    def act(states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return behaviour.act(trainer.task.observe(states), 0)

    frames = frames_of(arm, list(episodes(arm, act, EPISODES, SEED)))
    frame_s = arm.robot.world.control_step_s
    save(frames, path, frame_s)
    while path.stat().st_size > MAX_BYTES:
        frames, frame_s = frames[::2], 2 * frame_s
        save(frames, path, frame_s)


def frames_of(arm: ArmTask, states: list[np.ndarray]) -> list[np.ndarray]:
    """A picture of every state."""
    try:
        return list(film(arm, iter(states), *SIZE))
    except CameraError:  # no OpenGL here; rays need none
        return list(robots_view(arm, iter(states), SIZE[1]))
