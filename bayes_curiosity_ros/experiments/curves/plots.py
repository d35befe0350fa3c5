"""The curves as a figure, laid out like the paper's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib

from bayes_curiosity_ros.experiments.curves.analysis import Curve, Curves, grid_of

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

# Okabe and Ito's palette: told apart with any colour vision; line styles help in print.
Style = tuple[str, str | tuple[int, tuple[int, int]]]
STYLES: dict[str, Style] = {
    "curiosity": ("#0072B2", "-"),
    "rnd": ("#D55E00", "--"),
    "vime": ("#009E73", "-."),
    "none": ("#555555", ":"),
}
SPARE: tuple[Style, ...] = (
    ("#D55E00", "--"),
    ("#009E73", "-."),
    ("#CC79A7", (0, (6, 1))),
    ("#E69F00", (0, (2, 1))),
)
MAX_COLUMNS = 3
LABELS = {"rnd": "RND", "vime": "VIME", "none": "no bonus"}
TITLES = {
    "reach": "Cartesian reach",
    "grasp": "Cartesian grasp",
    "visual_reach": "visuomotor reach",
    "visual_grasp": "visuomotor grasp",
    "arm_reach": "reach on the arm, over ROS",
}
LAYOUT = (("reach", "grasp", None), ("visual_reach", "visual_grasp", "arm_reach"))


def plot_paper(curves: Curves, path: Path) -> None:
    """Five panels and a legend; a panel without data says so."""
    figure, panels = plt.subplots(2, 3, figsize=(10.5, 5.6), layout="constrained")
    for names, axes_row in zip(LAYOUT, panels, strict=True):
        for task, axes in zip(names, axes_row, strict=True):
            if task is not None:
                _panel(axes, curves, task)
    _legend(panels[0][2], figure)
    for row in panels:
        row[0].set_ylabel("successes ÷ timesteps")
    _save(figure, path)


def plot_panels(
    curves: Curves, task: str, panels: Mapping[str, Sequence[str]], path: Path
) -> None:
    """One panel per title with these methods of a task, each with its legend."""
    columns = min(len(panels), MAX_COLUMNS)
    rows = math.ceil(len(panels) / columns)
    size = (3.5 * columns, 2.8 * rows)
    figure, grid = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for axes, (title, names) in zip(grid.flat, panels.items(), strict=False):
        _panel(axes, {(task, n): curves[task, n] for n in names if (task, n) in curves}, task)
        axes.set_title(title)
        if axes.has_data():
            axes.legend(fontsize="x-small", frameon=False)
    for axes in grid.flat[len(panels) :]:
        axes.axis("off")
    for row in grid:
        row[0].set_ylabel("successes ÷ timesteps")
    _save(figure, path)


def _panel(axes: Axes, curves: Curves, task: str) -> None:
    mine = {name: curve for (t, name), curve in curves.items() if t == task}
    axes.set(title=TITLES[task], xlabel="timesteps")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.spines[["top", "right"]].set_visible(False)
    if not mine:
        axes.text(0.5, 0.5, "no runs yet", ha="center", va="center", transform=axes.transAxes)
        axes.set(xticks=[], yticks=[])
        return
    spare = iter(SPARE * len(mine))
    for name, curve in mine.items():
        _draw(axes, curve, name, STYLES[name] if name in STYLES else next(spare))
    axes.set_xlim(0, max(curve.budget for curve in mine.values()))
    axes.set_ylim(bottom=0)


def _draw(axes: Axes, curve: Curve, name: str, style: Style) -> None:
    grid = grid_of([curve])
    lower, median, upper = curve.quartiles(grid)
    color, line = style
    label = LABELS.get(name, name.replace("_", " "))
    axes.plot(grid, median, linestyle=line, color=color, label=label, linewidth=1.8)
    axes.fill_between(grid, lower, upper, color=color, alpha=0.18, linewidth=0)


def _legend(axes: Axes, figure: Figure) -> None:
    lines = {}
    for panel in figure.axes:
        for line, label in zip(*panel.get_legend_handles_labels(), strict=True):
            lines[label] = line
    axes.axis("off")
    title = "median and quartiles over seeds"
    axes.legend(list(lines.values()), list(lines), loc="center", frameon=False, title=title)


def _save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
