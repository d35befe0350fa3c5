"""Whole episodes in a file: demonstrations that a learner with a memory begins with."""

from __future__ import annotations

import io
import json
from dataclasses import fields
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from bayes_curiosity_ros.errors import ModelFileError
from bayes_curiosity_ros.files import read_zip, reason_of, sealed_zip, write_atomically
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.perception import seen_with
from bayes_curiosity_ros.tasks.task import Task

KIND = "bayes_curiosity episodes 1"
NAMES = tuple(field.name for field in fields(Episodes))
REMEDY = "make one with `bayes-curiosity remember` or `bayes-curiosity up --learner sac`"


def save_episodes(path: Path, task: Task, episodes: Episodes) -> None:
    """Write an .npz file with a checksum: whole, or not at all.

    Args:
        path: path of the file.
        task: as the learner sees it, whose episodes they are.
        episodes: to be written.
    """
    about = {"kind": KIND, "task": task.name, "encoder": seen_with(task)}
    arrays = {name: getattr(episodes, name) for name in NAMES}
    file = io.BytesIO()
    np.savez_compressed(file, about=np.array(json.dumps(about)), **arrays)
    write_atomically(path, sealed_zip(file.getvalue()))


def load_episodes(path: Path, task: Task) -> Episodes:
    """Read what `save_episodes` wrote.

    Raises:
        ModelFileError: missing, damaged, of another kind, task or encoder.
    """
    file = read_zip(path, "file of episodes", REMEDY)
    try:
        with np.load(file, allow_pickle=False) as content:
            about = json.loads(str(content["about"]))
            episodes = Episodes(*(content[name] for name in NAMES))
    except (OSError, EOFError, ValueError, TypeError, KeyError, BadZipFile) as error:
        raise ModelFileError(
            f"{path}: not a file of episodes ({reason_of(error)}); {REMEDY}"
        ) from error
    for name, mine in {"kind": KIND, "task": task.name, "encoder": seen_with(task)}.items():
        if about.get(name) != mine:
            raise ModelFileError(f"{path} has {name} {about.get(name)!r}, this run {mine!r}")
    sizes = episodes.observations.shape[2], episodes.actions.shape[2]
    if sizes != (task.observation_size, task.action_size):
        raise ModelFileError(
            f"{path} has observations and actions of {sizes} numbers; {task.name} has "
            f"{task.observation_size} and {task.action_size}"
        )
    return episodes
