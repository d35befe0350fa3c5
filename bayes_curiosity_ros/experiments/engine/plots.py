"""What the experiments' figures share: one palette, names, bands over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import matplotlib
import numpy as np

from bayes_curiosity_ros.curiosity.bonus import BONUSES
from bayes_curiosity_ros.experiments.engine.jobs import Cell
from bayes_curiosity_ros.experiments.engine.statistics import bootstrap
from bayes_curiosity_ros.experiments.engine.successes import Successes
from bayes_curiosity_ros.learning.intervals import Interval
from bayes_curiosity_ros.tasks.registry import TASKS

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

Band = tuple[np.ndarray, np.ndarray, np.ndarray]  # lower end, middle, upper end: (K,) each
POINTS = 40  # of a band
RESAMPLES = 1000  # at each of them

# Okabe and Ito's palette: told apart with any colour vision; line styles help in print.
Style = tuple[str, str | tuple[int, tuple[int, ...]]]
STYLES: dict[str, Style] = {
    "curiosity": ("#0072B2", "-"),
    "rnd": ("#D55E00", "--"),
    "vime": ("#009E73", "-."),
    "none": ("#555555", ":"),
    "price": ("#E69F00", (0, (2, 1))),
    "rnd_latent": ("#8C510A", (0, (5, 1))),
    "e3b": ("#CC79A7", "-"),
    "paper": ("#56B4E9", "--"),
    "imitation": ("#999933", "-."),
    "placebo": ("#332288", (0, (1, 1))),
}
SPARE: tuple[Style, ...] = (
    ("#D55E00", "--"),
    ("#009E73", "-."),
    ("#CC79A7", (0, (6, 1))),
    ("#E69F00", (0, (2, 1))),
    ("#44AA99", (0, (4, 1, 1, 1))),
    ("#AA4499", (0, (1, 2))),
    ("#777777", "--"),
)


def styles_of(methods: Iterable[str]) -> dict[str, Style]:
    """Colour and line of each method: its own, or a spare one."""
    names = list(methods)
    taken = {STYLES[name][0] for name in names if name in STYLES}
    free = [style for style in SPARE if style[0] not in taken] or list(SPARE)
    spare = iter(free * len(names))
    return {name: STYLES[name] if name in STYLES else next(spare) for name in names}


def method_label(method: str) -> str:
    """Name of a method in a legend: its bonus's label, or its own name."""
    return BONUSES[method].label if method in BONUSES else method.replace("_", " ")


def task_title(task: str) -> str:
    """Name of a task above a panel: the registry's title, or its own name."""
    return TASKS[task].title if task in TASKS else task.replace("_", " ")


def dress(axes: Axes, title: str) -> None:
    """Give a panel its title and its axis of timesteps."""
    axes.set(title=title, xlabel="timesteps")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.spines[["top", "right"]].set_visible(False)


def draw_bands(axes: Axes, bands: Mapping[str, tuple[np.ndarray, Band]]) -> None:
    """Draw for each method a middle over seeds, and the band around it.

    Args:
        axes: to draw on.
        bands: timesteps (K,) and band of each method.
    """
    styles = styles_of(bands)
    for name, (times, (lower, middle, upper)) in bands.items():
        color, line = styles[name]
        label = method_label(name)
        axes.plot(times, middle, linestyle=line, color=color, label=label, linewidth=1.8)
        axes.fill_between(times, lower, upper, color=color, alpha=0.18, linewidth=0)


def band_of(intervals: Iterable[Interval]) -> Band:
    """The band through these intervals."""
    ends = np.array([(each.lower, each.value, each.upper) for each in intervals])
    lower, middle, upper = ends.T
    return lower, middle, upper


def plot_successes(cells: Mapping[Cell, Successes], path: Path, what: str) -> None:
    """Write a panel per task: interquartile mean over seeds, with its interval as a band.

    Args:
        cells: what to draw.
        path: of the figure.
        what: the rates are.
    """
    tasks = list(dict.fromkeys(cell.task for cell in cells))
    size = (5.2 * len(tasks), 3.8)
    figure, panels = plt.subplots(1, len(tasks), figsize=size, layout="constrained", squeeze=False)
    for axes, task in zip(panels[0], tasks, strict=True):
        mine = {cell.method: each for cell, each in cells.items() if cell.task == task}
        dress(axes, task_title(task))
        axes.set(ylabel=what, ylim=(0, 1))
        draw_bands(axes, {name: _successes_band(each) for name, each in mine.items()})
        axes.legend(fontsize="x-small", frameon=False, loc="best")
    save(figure, path)


def _successes_band(successes: Successes) -> tuple[np.ndarray, Band]:
    begin = max(times[0] for times in successes.timesteps)
    end = min(times[-1] for times in successes.timesteps)
    grid = np.linspace(begin, end, POINTS)
    return grid, band_of(bootstrap(values, RESAMPLES) for values in successes.at(grid).T)


def save(figure: Figure, path: Path) -> None:
    """Write a figure, and forget it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
