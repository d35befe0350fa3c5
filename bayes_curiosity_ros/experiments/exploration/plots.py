"""Success against timesteps: interquartile mean over seeds, with its interval as a band."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from bayes_curiosity_ros.experiments.engine.jobs import Cell
from bayes_curiosity_ros.experiments.engine.plots import (
    Band,
    band_of,
    draw_bands,
    dress,
    save,
    task_title,
)
from bayes_curiosity_ros.experiments.engine.statistics import bootstrap
from bayes_curiosity_ros.experiments.exploration.analysis import Successes

POINTS = 40
RESAMPLES = 1000


def plot(cells: Mapping[Cell, Successes], path: Path) -> None:
    """Write a panel per task."""
    tasks = list(dict.fromkeys(cell.task for cell in cells))
    size = (5.2 * len(tasks), 3.8)
    figure, panels = plt.subplots(1, len(tasks), figsize=size, layout="constrained", squeeze=False)
    for axes, task in zip(panels[0], tasks, strict=True):
        mine = {cell.method: each for cell, each in cells.items() if cell.task == task}
        dress(axes, task_title(task))
        axes.set(ylabel="success rate", ylim=(0, 1))
        draw_bands(axes, {name: _band(successes) for name, successes in mine.items()})
        axes.legend(fontsize="x-small", frameon=False, loc="upper left")
    save(figure, path)


def _band(successes: Successes) -> tuple[np.ndarray, Band]:
    begin = max(times[0] for times in successes.timesteps)
    end = min(times[-1] for times in successes.timesteps)
    grid = np.linspace(begin, end, POINTS)
    return grid, band_of(bootstrap(values, RESAMPLES) for values in successes.at(grid).T)
