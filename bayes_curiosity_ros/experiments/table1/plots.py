"""Learning curves: median and interquartile band over seeds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib
import numpy as np

from bayes_curiosity_ros.experiments.table1.analysis import Cell
from bayes_curiosity_ros.experiments.table1.settings import ALGORITHMS, BONUSES

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

COLORS = {"curiosity": "tab:blue", "vime": "tab:orange", "rnd": "tab:green", "none": "tab:gray"}


def plot_curves(cells: Mapping[tuple[str, str, str], Cell], folder: Path) -> list[Path]:
    """One figure per task, an algorithm per panel; the paths written."""
    paths = []
    for task in dict.fromkeys(task for task, _, _ in cells):
        algorithms = [
            name for name in ALGORITHMS if any((task, name, bonus) in cells for bonus in BONUSES)
        ]
        figure, panels = plt.subplots(
            1, len(algorithms), figsize=(4.2 * len(algorithms), 3.2), squeeze=False
        )
        for axes, algorithm in zip(panels[0], algorithms, strict=True):
            axes.set(title=f"{task}, {algorithm}", xlabel="environment steps")
            axes.xaxis.set_major_formatter(EngFormatter(sep=""))
            for bonus in BONUSES:
                if (task, algorithm, bonus) in cells:
                    _draw(axes, cells[task, algorithm, bonus], bonus)
        panels[0][0].set_ylabel("extrinsic return")
        panels[0][-1].legend(fontsize="small")
        figure.tight_layout()
        paths.append(folder / f"{task}.png")
        figure.savefig(paths[-1], dpi=110)
        plt.close(figure)
    return paths


def _draw(axes: Axes, cell: Cell, bonus: str) -> None:
    lower, median, upper = np.percentile(cell.returns, [25, 50, 75], axis=0)
    axes.plot(cell.timesteps, median, color=COLORS[bonus], label=bonus)
    axes.fill_between(cell.timesteps, lower, upper, color=COLORS[bonus], alpha=0.15, linewidth=0)
