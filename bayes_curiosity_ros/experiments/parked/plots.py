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
from matplotlib.patches import Circle, Rectangle
from matplotlib.patheffects import withStroke
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
from bayes_curiosity_ros.experiments.parked.verdict import at_the_end, share_of
from bayes_curiosity_ros.learning.episode_log import LONG, EpisodeRow
from bayes_curiosity_ros.tasks.arm.task import ArmTask

TITLES = {
    "curiosity": "with curiosity, over ROS",
    "none": "without curiosity",
    "placebo": "placebo: the rewards shuffled",
}
POINTS = 120
FEW = 20
CELL_M = 0.02
ROWS = 4096  # poses worked out at once
BASE_M = 0.06
FAINT = "#999999"


@dataclass(frozen=True)
class Seen:
    """What one run shows of itself.

    Attributes:
        episodes: its episodes, in order.
        hands: (N, 2) where the hand has been on the table's plane, in [m].
    """

    episodes: Sequence[EpisodeRow]
    hands: np.ndarray


def hands_of(task: ArmTask, observations: np.ndarray) -> np.ndarray:
    """Where the hand was at observations (N, D), which begin with joint angles: (N, 3) in [m]."""
    joints = observations[:, : len(task.robot.arm.joints)]
    spot = [*task.placement.square_center_m, task.robot.world.object.height_m / 2]
    parts = [
        task.stepper.hands(task.stepper.initial(part, np.tile(spot, (len(part), 1))))
        for part in np.split(joints, range(ROWS, len(joints), ROWS))
    ]
    return np.concatenate(parts)


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
    return times, band_of(share_of(episodes[max(0, end - LONG) : end]).interval for end in ends)


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
        _draw_cell(axes, task)
        end = at_the_end(run.episodes).interval.value
        axes.set_title(f"{TITLES[name]}\n{end:.0%} at the end", fontsize=10, color=color)
        axes.set(aspect="equal", xlabel="x [m]")
    panels[0].set_ylabel("y [m]")
    _label_cell(panels[0], task)


def _draw_cell(axes: Axes, task: ArmTask) -> None:
    """The table, the arm's base, the square that the cylinder is put in, the parked hand."""
    table, place = task.robot.world.table, task.placement
    axes.add_patch(_rectangle(table.center_m, table.size_m, edgecolor=FAINT, linewidth=0.8))
    square = (place.square_side_m,) * 2
    axes.add_patch(
        _rectangle(place.square_center_m, square, edgecolor="black", linestyle="--", linewidth=1.2)
    )
    axes.add_patch(Circle((0, 0), BASE_M, facecolor="#444444", zorder=3))
    axes.plot(*_parked_hand(task), marker="x", color="black", markersize=8, markeredgewidth=2)
    for side in axes.spines.values():
        side.set_visible(False)


def _label_cell(axes: Axes, task: ArmTask) -> None:
    place, hand = task.placement, _parked_hand(task)
    x, y = place.square_center_m
    half = place.square_side_m / 2
    _write(axes, "the cylinder's place", (x, y + half - 0.05))
    _write(axes, "parked hand", (hand[0] + 0.19, hand[1]))
    _write(axes, "base", (0.0, -BASE_M - 0.05))


def _write(axes: Axes, text: str, spot: tuple[float, float]) -> None:
    """A word on whatever is drawn there."""
    halo = withStroke(linewidth=2.5, foreground="white")
    axes.annotate(text, spot, size=8, ha="center", va="center", path_effects=[halo])


def _rectangle(center: Sequence[float], size: Sequence[float], **style: object) -> Rectangle:
    corner = [middle - side / 2 for middle, side in zip(center, size, strict=True)]
    return Rectangle((corner[0], corner[1]), *size, fill=False, **style)  # type: ignore[arg-type]


def _parked_hand(task: ArmTask) -> tuple[float, float]:
    x, y, _ = hands_of(task, np.array([task.robot.arm.ready_rad]))[0]
    return float(x), float(y)


def _edges(task: ArmTask) -> tuple[np.ndarray, np.ndarray]:
    """Edges of small squares over the table and what the arm reaches beside it."""
    table = task.robot.world.table
    low, high = (np.array(table.center_m) + sign * np.array(table.size_m) / 2 for sign in (-1, 1))
    x, y = (np.arange(low[k], high[k] + CELL_M, CELL_M) for k in (0, 1))
    return x, y


def _darker(color: str) -> str:
    red, green, blue = (int(int(color[k : k + 2], 16) * 0.45) for k in (1, 3, 5))
    return f"#{red:02x}{green:02x}{blue:02x}"
