"""The curves as a figure, laid out like the paper's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayes_curiosity_ros.experiments.curves.analysis import Curve, Curves, grid_of, of_task
from bayes_curiosity_ros.experiments.engine.plots import draw_bands, dress, save, task_title

MAX_COLUMNS = 3
# The last is no task of its own: the arm's curve over ROS, of `experiment arm`.
LAYOUT = (("reach", "grasp", None), ("visual_reach", "visual_grasp", "arm_reach"))
TITLES = {"arm_reach": "reach on the arm, over ROS"}


def plot_paper(curves: Curves, path: Path) -> None:
    """Write five panels and a legend; a panel without data says so."""
    figure, panels = plt.subplots(2, 3, figsize=(10.5, 5.6), layout="constrained")
    for names, axes_row in zip(LAYOUT, panels, strict=True):
        for task, axes in zip(names, axes_row, strict=True):
            if task is not None:
                dress(axes, TITLES.get(task, task_title(task)))
                _draw(axes, of_task(curves, task))
    _legend(panels[0][2], figure)
    for row in panels:
        row[0].set_ylabel("successes ÷ timesteps")
    save(figure, path)


def plot_panels(curves: Curves, panels: Mapping[str, Sequence[str]], path: Path) -> None:
    """Write one panel per task and title with these methods, each with its legend.

    Args:
        curves: of one task, or of several.
        panels: names of methods by title; none for all methods of a task together.
        path: of the figure.
    """
    drawn = _panels(curves, panels)
    columns = max(1, min(len(drawn), MAX_COLUMNS))
    rows = max(1, math.ceil(len(drawn) / columns))
    size = (3.5 * columns, 2.8 * rows)
    figure, grid = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for axes, (title, mine) in zip(grid.flat, drawn, strict=False):
        dress(axes, title)
        _draw(axes, mine)
        if axes.has_data():
            axes.legend(fontsize="x-small", frameon=False)
    for axes in grid.flat[len(drawn) :]:
        axes.axis("off")
    for row in grid:
        row[0].set_ylabel("successes ÷ timesteps")
    save(figure, path)


def _panels(
    curves: Curves, panels: Mapping[str, Sequence[str]]
) -> list[tuple[str, dict[str, Curve]]]:
    """Title and curves of each panel; the title names the task where there are several."""
    drawn = []
    tasks = list(dict.fromkeys(cell.task for cell in curves))
    for task in tasks:
        mine = of_task(curves, task)
        for title, names in (panels or {task_title(task): list(mine)}).items():
            told = f"{task_title(task)}: {title}" if panels and len(tasks) > 1 else title
            drawn.append((told, {name: mine[name] for name in names if name in mine}))
    return drawn


def _draw(axes: Axes, curves: Mapping[str, Curve]) -> None:
    if not curves:
        axes.text(0.5, 0.5, "no runs yet", ha="center", va="center", transform=axes.transAxes)
        axes.set(xticks=[], yticks=[])
        return
    grids = {name: grid_of([curve]) for name, curve in curves.items()}
    draw_bands(axes, {n: (grids[n], curve.quartiles(grids[n])) for n, curve in curves.items()})
    axes.set_xlim(0, max(curve.budget for curve in curves.values()))
    axes.set_ylim(bottom=0)


def _legend(axes: Axes, figure: Figure) -> None:
    lines = {}
    for panel in figure.axes:
        for line, label in zip(*panel.get_legend_handles_labels(), strict=True):
            lines[label] = line
    axes.axis("off")
    title = "median and quartiles over seeds"
    axes.legend(list(lines.values()), list(lines), loc="center", frameon=False, title=title)
