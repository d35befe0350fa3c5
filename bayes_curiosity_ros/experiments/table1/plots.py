"""Learning curves of Table I: median and quartiles of the evaluations over seeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bayes_curiosity_ros.experiments.engine.plots import draw_bands, dress, save, task_title
from bayes_curiosity_ros.experiments.table1.analysis import Cells


def plot_curves(cells: Cells, folder: Path) -> list[Path]:
    """Write one figure per task, a learner per panel; the paths."""
    return [
        plot_task(cells, task, folder / f"{task}.png")
        for task in dict.fromkeys(cell.task for cell in cells)
    ]


def plot_task(cells: Cells, task: str, path: Path) -> Path:
    """Write the figure of one task."""
    learners = list(dict.fromkeys(cell.learner for cell in cells if cell.task == task))
    size = (4.2 * len(learners), 3.2)
    figure, panels = plt.subplots(1, len(learners), figsize=size, squeeze=False)
    for axes, learner in zip(panels[0], learners, strict=True):
        dress(axes, f"{task_title(task)}, {learner}")
        _draw(axes, {c: r for c, r in cells.items() if (c.task, c.learner) == (task, learner)})
    panels[0][0].set_ylabel("extrinsic return")
    panels[0][-1].legend(fontsize="small")
    figure.tight_layout()
    save(figure, path)
    return path


def _draw(axes: Axes, cells: Cells) -> None:
    bands = {}
    for cell, returns in cells.items():
        lower, median, upper = np.percentile(returns.returns, [25, 50, 75], axis=0)
        bands[cell.method] = returns.timesteps, (lower, median, upper)
    draw_bands(axes, bands)
