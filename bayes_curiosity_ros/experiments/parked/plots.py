"""The figure: success against control steps, and where the hand has been, seen from above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from bayes_curiosity_ros.experiments.engine.plots import (
    Band,
    Style,
    band_of,
    draw_bands,
    dress,
    save,
    styles_of,
)
from bayes_curiosity_ros.learning.episode_log import LONG, EpisodeRow
from bayes_curiosity_ros.learning.intervals import at_the_end, by_episode
from bayes_curiosity_ros.tasks.arm.plan import draw_cell, label_cell
from bayes_curiosity_ros.tasks.arm.task import ArmTask

TITLES = {
    "curiosity": "with curiosity, over ROS",
    "none": "without curiosity",
    "placebo": "placebo: the rewards shuffled",
}
POINTS = 120
FEW = 20
CELL_M = 0.02


@dataclass(frozen=True)
class Seen:
    """What one run shows of itself.

    Attributes:
        episodes: its episodes, in order.
        hands: (N, 2) where the hand has been on the table's plane, in [m].
    """

    episodes: Sequence[EpisodeRow]
    hands: np.ndarray


def plot(runs: Mapping[str, Seen], task: ArmTask, path: Path) -> None:
    """Write the figure: success on the left, a view from above per run on the right."""
    styles = styles_of(runs)
    figure = plt.figure(figsize=(14, 4.6), layout="constrained")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1, 1.75))[0]
    _draw_success(left.subplots(), runs)
    left.suptitle("An arm parked aside, a sparse reward: who finds the cylinder?", fontsize=11)
    right.suptitle("Where the hand has been, seen from above", fontsize=11)
    _draw_places(right, runs, task, styles)
    save(figure, path)


def _draw_success(axes: Axes, runs: Mapping[str, Seen]) -> None:
    dress(axes, "")
    draw_bands(axes, {name: success_band(run.episodes) for name, run in runs.items()})
    axes.set(ylabel=f"success over {LONG} episodes", ylim=(-0.02, 1.02), xlabel="control steps")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.margins(x=0)
    titles = [TITLES[name] for name in runs]
    axes.legend(axes.lines, titles, frameon=False, loc="upper left", title="band: 95 % interval")
    axes.grid(alpha=0.2)


def success_band(episodes: Sequence[EpisodeRow]) -> tuple[np.ndarray, Band]:
    """Success of the last `LONG` episodes on the way: control steps, and lower, value, upper."""
    first = min(FEW, len(episodes))  # of fewer, the interval would be all of the panel
    ends = np.unique(np.linspace(first, len(episodes), POINTS).round().astype(int))
    times = np.array([episodes[end - 1].timesteps for end in ends])
    return times, band_of(by_episode(episodes[max(0, end - LONG) : end]).interval for end in ends)


def _draw_places(
    figure: Figure, runs: Mapping[str, Seen], task: ArmTask, styles: Mapping[str, Style]
) -> None:
    edges = _edges(task)
    counts = {
        name: np.histogram2d(run.hands[:, 0], run.hands[:, 1], bins=[*edges])[0]
        for name, run in runs.items()
    }
    most = max(10.0, *(count.max() for count in counts.values()))
    panels = figure.subplots(1, len(runs), sharey=True, squeeze=False)[0]
    for axes, (name, run) in zip(panels, runs.items(), strict=True):
        color = styles[name][0]
        shades = LinearSegmentedColormap.from_list(name, ["#ffffff", color, _darker(color)])
        shown = np.where(counts[name] > 0, counts[name], np.nan).T
        axes.pcolormesh(*edges, shown, cmap=shades, norm=LogNorm(0.5, most), rasterized=True)
        draw_cell(axes, task)
        end = at_the_end(run.episodes).interval.value
        axes.set_title(f"{TITLES[name]}\n{end:.0%} at the end", fontsize=10, color=color)
        axes.set(aspect="equal", xlabel="x [m]")
    panels[0].set_ylabel("y [m]")
    label_cell(panels[0], task)


def _edges(task: ArmTask) -> tuple[np.ndarray, np.ndarray]:
    """Edges of small squares over the table and what the arm reaches beside it."""
    table = task.robot.world.table
    low, high = (np.array(table.center_m) + sign * np.array(table.size_m) / 2 for sign in (-1, 1))
    x, y = (np.arange(low[k], high[k] + CELL_M, CELL_M) for k in (0, 1))
    return x, y


def _darker(color: str) -> str:
    red, green, blue = (int(int(color[k : k + 2], 16) * 0.45) for k in (1, 3, 5))
    return f"#{red:02x}{green:02x}{blue:02x}"
