"""A film of the arm before and after learning, side by side, at the same placements."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from bayes_curiosity_ros.experiments.curves.films import frames_of
from bayes_curiosity_ros.learning.cell import TaskCell, run_episode
from bayes_curiosity_ros.learning.trainer import Trainer
from bayes_curiosity_ros.tasks.arm.task import ArmTask
from bayes_curiosity_ros.tasks.arm.view import save

EPISODES = 3
SEED = 1000  # of the placements: none that a run was trained with
EVERY = 2  # of the states is shown
PAUSE = 5  # frames at the end of an episode
BAR_PX = 26
GAP_PX = 4


class _Filmed(TaskCell):
    """A cell that keeps every state."""

    def __init__(self, task: ArmTask) -> None:
        super().__init__(task)
        self.kept: list[np.ndarray] = []

    def reset(self, episode: int, seed: int) -> np.ndarray:
        self.kept.append(super().reset(episode, seed))
        return self.states

    def receive(self) -> np.ndarray:
        self.kept.append(super().receive())
        return self.states


def write_film(before: Trainer, after: Trainer, task: ArmTask, path: Path) -> None:
    """Film both as they explored in training, noise included.

    Args:
        before: before its first iteration.
        after: after its last.
        task: the arm's task.
        path: path of the film, a .gif.
    """
    titles = "before", f"after {after.timesteps:,} steps"
    pairs: list[np.ndarray] = []
    for episode in range(1, EPISODES + 1):
        clips = [_clip(trainer, task, episode) for trainer in (before, after)]
        pairs += list(side_by_side(clips, titles))
    save(pairs, path, EVERY * task.robot.world.control_step_s)


def _clip(trainer: Trainer, task: ArmTask, episode: int) -> list[np.ndarray]:
    cell = _Filmed(task)
    run_episode(task, cell, trainer.algorithm.explore(), SEED, episode)
    shown = [*cell.kept[:-1:EVERY], cell.kept[-1]]
    return frames_of(task, shown)


def side_by_side(clips: list[list[np.ndarray]], titles: tuple[str, ...]) -> Iterator[np.ndarray]:
    """Frames of several clips beside each other; one that has ended stands still."""
    longest = max(map(len, clips)) + PAUSE
    held = [clip + [clip[-1]] * (longest - len(clip)) for clip in clips]
    bars = [_bar(title, clip[0].shape[1]) for title, clip in zip(titles, clips, strict=True)]
    for frames in zip(*held, strict=True):
        columns = [np.concatenate([bar, frame]) for bar, frame in zip(bars, frames, strict=True)]
        gap = np.full((len(columns[0]), GAP_PX, 3), 255, np.uint8)
        parts = [part for column in columns for part in (column, gap)]
        yield np.concatenate(parts[:-1], axis=1)


def _bar(title: str, width: int) -> np.ndarray:
    image = Image.new("RGB", (width, BAR_PX), "white")
    font = ImageFont.load_default(15)
    ImageDraw.Draw(image).text((width / 2, BAR_PX / 2), title, "black", font, anchor="mm")
    return np.asarray(image)
