"""Success without noise against timesteps: every seed a line, the median a thick one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bayes_curiosity_ros.experiments.engine.jobs import Cell
from bayes_curiosity_ros.experiments.engine.plots import dress, save, task_title
from bayes_curiosity_ros.experiments.memory.analysis import Evaluations

POINTS = 40


def plot(cells: Mapping[Cell, Evaluations], path: Path) -> None:
    """Write a panel per task."""
    tasks = list(dict.fromkeys(cell.task for cell in cells))
    size = (5.2 * len(tasks), 3.8)
    figure, panels = plt.subplots(1, len(tasks), figsize=size, layout="constrained", squeeze=False)
    for axes, task in zip(panels[0], tasks, strict=True):
        dress(axes, task_title(task))
        axes.set(ylabel="success rate without noise", ylim=(0, 1))
        mine = [(cell, each) for cell, each in cells.items() if cell.task == task]
        for index, (cell, each) in enumerate(mine):
            _draw(axes, each, f"{cell.learner}, {cell.method}", f"C{index}")
        axes.legend(fontsize="x-small", frameon=False, loc="lower right")
    save(figure, path)


def _draw(axes: Axes, each: Evaluations, label: str, color: str) -> None:
    for times, rates in zip(each.timesteps, each.rates, strict=True):
        axes.plot(times, rates, color=color, linewidth=0.5, alpha=0.4)
    grid = np.linspace(0, min(times[-1] for times in each.timesteps), POINTS)
    runs = zip(each.timesteps, each.rates, strict=True)
    median = np.median([np.interp(grid, times, rates) for times, rates in runs], axis=0)
    axes.plot(grid, median, color=color, linewidth=2, label=label)
