"""The cell drawn as a plan, from above or from the side, for figures of where the hand goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Rectangle
from matplotlib.patheffects import withStroke

from bayes_curiosity_ros.tasks.arm.task import ArmTask

ROWS = 4096  # poses worked out at once
BASE_M = 0.06
FAINT = "#999999"
HALO = withStroke(linewidth=2.5, foreground="white")  # for what is drawn on any colour


@dataclass(frozen=True)
class View:
    """Where one looks from.

    Attributes:
        title: name in figures.
        across: coordinate that is drawn to the right: 0, 1 or 2.
        up: coordinate that is drawn upwards.
    """

    title: str
    across: int
    up: int

    @property
    def axes(self) -> list[int]:
        """Both coordinates."""
        return [self.across, self.up]


ABOVE, SIDE = View("from above", 0, 1), View("from the side", 0, 2)


def hands_of(task: ArmTask, observations: np.ndarray) -> np.ndarray:
    """Where the hand was at observations (N, D), which begin with joint angles: (N, 3) in [m]."""
    joints = observations[:, : len(task.robot.arm.joints)]
    spot = [*task.placement.square_center_m, task.robot.world.object.height_m / 2]
    parts = [
        task.stepper.hands(task.stepper.initial(part, np.tile(spot, (len(part), 1))))
        for part in np.split(joints, range(ROWS, len(joints), ROWS))
    ]
    return np.concatenate(parts)


def draw_cell(axes: Axes, task: ArmTask, view: View = ABOVE) -> None:
    """The table, the arm's base, the square that the cylinder is put in, the parked hand."""
    table, place = task.robot.world.table, task.placement
    if view is ABOVE:
        axes.add_patch(_rectangle(table.center_m, table.size_m, edgecolor=FAINT, linewidth=0.8))
        square = (place.square_side_m,) * 2
        style = {"edgecolor": "black", "linestyle": "--", "linewidth": 1.2, "path_effects": [HALO]}
        axes.add_patch(_rectangle(place.square_center_m, square, **style))
        axes.add_patch(Circle((0, 0), BASE_M, facecolor="#444444", zorder=3))
    else:
        middle = table.center_m[0], -table.thickness_m / 2
        slab = table.size_m[0], table.thickness_m
        axes.add_patch(_rectangle(middle, slab, edgecolor=FAINT, linewidth=0.8))
        axes.add_patch(Rectangle((-BASE_M, 0), 2 * BASE_M, 2 * BASE_M, facecolor="#444444"))
    hand = parked_hand(task)[view.axes]
    axes.plot(*hand, marker="x", color="black", ms=8, mew=2, path_effects=[HALO])
    for side in axes.spines.values():
        side.set_visible(False)


def label_cell(axes: Axes, task: ArmTask) -> None:
    """Say what is what in a plan from above."""
    place, hand = task.placement, parked_hand(task)
    x, y = place.square_center_m
    half = place.square_side_m / 2
    _write(axes, "the cylinder's place", (x, y + half - 0.05))
    _write(axes, "parked hand", (hand[0] + 0.19, hand[1]))
    _write(axes, "base", (0.0, -BASE_M - 0.05))


def parked_hand(task: ArmTask) -> np.ndarray:
    """(3,) where the hand is when an episode starts, in [m]."""
    return hands_of(task, np.array([task.robot.arm.ready_rad]))[0]


def _write(axes: Axes, text: str, spot: tuple[float, float]) -> None:
    """A word on whatever is drawn there."""
    axes.annotate(text, spot, size=8, ha="center", va="center", path_effects=[HALO])


def _rectangle(center: Sequence[float], size: Sequence[float], **style: object) -> Rectangle:
    corner = [middle - side / 2 for middle, side in zip(center, size, strict=True)]
    return Rectangle((corner[0], corner[1]), *size, fill=False, **style)  # type: ignore[arg-type]
