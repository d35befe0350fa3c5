"""The curves of the page: success, return, curiosity, information, speed."""

from __future__ import annotations

import numpy as np
import viser
from viser import uplot

CURVES = {
    "success": ("Success, last 10 episodes", "#2fbf71"),
    "extrinsic_return": ("Return", "#4d8df6"),
    "curiosity": ("Curiosity [nats]", "#f2a33a"),
    "information": ("Information gained [nats]", "#b06ef0"),
    "steps_per_s": ("Control steps a second", "#8a94a6"),
}
HEIGHT = 110


class Curves:
    """A chart per number, over episodes.

    Args:
        gui: where they are drawn, in its container of the moment.
    """

    def __init__(self, gui: viser.GuiApi) -> None:
        nothing = np.zeros(1)
        self._charts = {
            name: gui.add_uplot(
                (nothing, nothing),
                (
                    uplot.Series(label="episode"),
                    uplot.Series(label=name.replace("_", " "), stroke=color, width=2),
                ),
                title=title,
                scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
                legend=uplot.Legend(show=False),
                height=HEIGHT,
            )
            for name, (title, color) in CURVES.items()
        }

    def show(self, columns: dict[str, np.ndarray]) -> None:
        """A column per curve, and the episodes they are over."""
        episodes = columns["episode"]
        if not len(episodes):
            return
        for name, chart in self._charts.items():
            chart.data = (episodes, columns[name])
