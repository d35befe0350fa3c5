"""The map of the curiosity in pictures: from above and from the side, still and as a film."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure

from bayes_curiosity_ros.learning.map.moments import MapHistory, Moment
from bayes_curiosity_ros.learning.map.points import CuriosityMap
from bayes_curiosity_ros.tasks.arm.plan import ABOVE, HALO, SIDE, View, draw_cell

VIEWS = (ABOVE, SIDE)
COLORS = "inferno"
GAMMA = 0.4  # of the colours: what is left after many episodes is still told apart
LABEL = "curiosity c + log β [nats]"
PIXELS = 110  # of a projection, across and up
MARGIN_M = 0.05
BLUR_M = 0.05  # a point counts about so far around itself
ENOUGH = 0.6  # points' worth of weight below which nothing is drawn
DARKNESS = -4.0  # exponent of the mean along the line of sight: near the lowest
FLOOR = 1e-3  # share of the scale that counts as nothing
OLD_PATH: dict[str, Any] = {"color": "#7fe8ff", "linewidth": 0.6, "alpha": 0.45}
NEW_PATH: dict[str, Any] = {"color": "#00d0ff", "linewidth": 1.6}
MOST_PATHS = 60  # older paths that are drawn
DPI = 110


def scale_of(moments: Sequence[Moment]) -> Normalize:
    """Colours that all maps of a history share."""
    values = np.concatenate([moment.values for moment in moments])
    return PowerNorm(GAMMA, min(0.0, float(values.min())), float(values.max()))


def project(
    map_: CuriosityMap, values: np.ndarray, view: View, scale: Normalize
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What is seen of a map's values, (N,): the lowest along the line of sight, a little blurred.

    Returns:
        Coordinates across and up, (PIXELS,) in [m], and values, (PIXELS, PIXELS), NaN where the
        hand does not get to.
    """
    across, up = (_weights(map_.points[:, axis]) for axis in view.axes)
    low, high = float(scale.vmin or 0.0), float(scale.vmax or 1.0)
    shares = (values - low) / max(high - low, 1e-12) + FLOOR
    weight = up[1] @ across[1].T
    mean = up[1] @ (shares[:, None] ** DARKNESS * across[1].T) / np.maximum(weight, 1e-300)
    lowest = mean ** (1.0 / DARKNESS) - FLOOR
    return across[0], up[0], np.where(weight > ENOUGH, low + (high - low) * lowest, np.nan)


def _weights(coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pixels over these coordinates of points, and what each counts at each: (PIXELS, N)."""
    ends = coordinates.min() - MARGIN_M, coordinates.max() + MARGIN_M
    pixels = np.linspace(*ends, PIXELS)
    return pixels, np.exp(-0.5 * ((pixels[:, None] - coordinates) / BLUR_M) ** 2)


def draw_map(
    axes: Axes, history: MapHistory, moment: Moment, view: View, scale: Normalize
) -> None:
    """One projection of the map, in the cell, with where the hand has been until then."""
    seen = project(history.map, moment.values, view, scale)
    axes.pcolormesh(*seen, cmap=COLORS, norm=scale, rasterized=True)
    for path in history.paths[max(0, moment.episodes - MOST_PATHS) : moment.episodes]:
        axes.plot(*path[:, view.axes].T, **OLD_PATH)
    draw_cell(axes, history.map.task, view)
    spot = history.spot[view.axes]
    axes.plot(*spot, marker="o", color="white", ms=7, mec="black", path_effects=[HALO])
    axes.set(aspect="equal", xlabel="x [m]", ylabel=f"{'xyz'[view.up]} [m]")


def draw_before_and_after(history: MapHistory, path: Path) -> None:
    """Write a picture: two columns for the times, two rows for the views."""
    scale = scale_of(history.moments)
    figure, panels = plt.subplots(2, 2, figsize=(10.5, 9.2), layout="constrained")
    for column, moment in zip(panels.T, (history.moments[0], history.moments[-1]), strict=True):
        for axes, view in zip(column, VIEWS, strict=True):
            draw_map(axes, history, moment, view, scale)
            axes.set_title(f"{_when(moment)}, {view.title}")
    figure.suptitle(headline(history))
    _add_scale(figure, panels, scale, LABEL)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DPI)
    plt.close(figure)


def frames_of(history: MapHistory) -> Iterator[np.ndarray]:
    """Pictures of the map at all times, (H, W, 3) uint8; the newest path is bright."""
    scale = scale_of(history.moments)
    for moment in history.moments:
        yield frame_of(history, moment, scale, _when(moment), LABEL)


def frame_of(
    history: MapHistory, moment: Moment, scale: Normalize, title: str, label: str
) -> np.ndarray:
    """Picture of the map at a time, (H, W, 3) uint8; the newest path, if known, is bright."""
    figure, panels = plt.subplots(1, 2, figsize=(7.6, 3.8), layout="constrained")
    for axes, view in zip(panels, VIEWS, strict=True):
        draw_map(axes, history, moment, view, scale)
        for path in history.paths[: moment.episodes][-1:]:
            axes.plot(*path[:, view.axes].T, **NEW_PATH)
        axes.set_title(view.title)
    figure.suptitle(title)
    _add_scale(figure, panels, scale, label)
    return picture_of(figure)


def picture_of(figure: Figure) -> np.ndarray:
    """A figure as (H, W, 3) uint8; it is closed."""
    figure.canvas.draw()
    picture = np.asarray(figure.canvas.buffer_rgba())[..., :3].copy()  # type: ignore[attr-defined]
    plt.close(figure)
    return picture


def headline(history: MapHistory) -> str:
    """What the pictures show, in words."""
    near, far = history.left()
    what = f"{history.map.task.name}: curiosity in space; white the object, blue the hand's paths"
    if not np.isfinite([near, far]).all():
        return what
    return f"{what}\nleft of it: {near:.1%} where the hand has been, {far:.1%} far from there"


def _when(moment: Moment) -> str:
    plural = "" if moment.episodes == 1 else "s"
    return f"after {moment.episodes} episode{plural}" if moment.episodes else "before"


def _add_scale(figure: Figure, panels: np.ndarray, scale: Normalize, label: str) -> None:
    figure.colorbar(ScalarMappable(scale, COLORS), ax=panels, shrink=0.8, label=label)
