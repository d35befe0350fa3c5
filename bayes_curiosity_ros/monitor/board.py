"""What all browsers see beside the scene: words, curves, pictures, the scale of the map."""

from __future__ import annotations

import numpy as np
import viser

from bayes_curiosity_ros.monitor.colors import colors_of, depth_picture
from bayes_curiosity_ros.monitor.curves import Curves
from bayes_curiosity_ros.monitor.orders import STOP

NOTICE = (
    "**This is not a safety function.** STOP goes through a browser, a network and ROS. Keep "
    f"the arm's own emergency stop within reach. Key **{STOP.hotkey}** stops, too."
)
# The button that stops is the only red one.
STYLE = """<style>button[style*="color-red"] {
    height: 72px !important; font-size: 28px !important; letter-spacing: 3px; }</style>"""
WIDTH = 340
TALL, WIDE = 14, 256  # pixels of the scale


class Board:
    """Panels that all browsers share; nothing in them can be pressed.

    Args:
        server: server of the page.
        farthest_m: what the camera says of where there is nothing.
    """

    def __init__(self, server: viser.ViserServer, farthest_m: float) -> None:
        gui = server.gui
        gui.configure_theme(dark_mode=True, show_logo=False, show_share_button=False)
        gui.main_panel.dock_right()
        gui.main_panel.set_width(WIDTH)
        gui.add_markdown(NOTICE, order=100.0)
        self._farthest_m = farthest_m
        gui.add_html(STYLE, order=101.0)
        state, panel = gui.add_panel(), gui.add_panel()
        with state.add_tab("State", viser.Icon.HEARTBEAT):
            self._words = gui.add_html("")
        with panel.add_tab("Curves", viser.Icon.CHART_LINE):
            self.curves = Curves(gui)
        with panel.add_tab("Camera", viser.Icon.CAMERA):
            black = np.zeros((64, 64, 3), np.uint8)
            self._color = gui.add_image(black, label="Colour")
            self._depth = gui.add_image(black, label="Depth")
        with panel.add_tab("Curiosity", viser.Icon.BULB):
            self._map_words = gui.add_markdown("No map yet: nobody publishes `curiosity/map`.")
            scale = colors_of(np.linspace(0.0, 1.0, WIDE), 1.0)
            gui.add_image(np.tile(scale[None], (TALL, 1, 1)), label="Known … new")
        state.dock_left()
        state.set_width(WIDTH)
        panel.dock_below(state)

    def show_words(self, html: str) -> None:
        """How the nodes are."""
        if html != self._words.content:
            self._words.content = html

    def show_color(self, pixels: np.ndarray) -> None:
        """What the camera sees, (H, W, 3) uint8."""
        self._color.image = pixels

    def show_depth(self, depth: np.ndarray) -> None:
        """How far it is, (H, W) in [m]."""
        self._depth.image = depth_picture(depth, self._farthest_m)

    def show_scale(self, values: np.ndarray, brightest: float) -> None:
        """What the colours of the map mean."""
        self._map_words.content = (
            f"Points over the workspace: the bonus that a hand there would earn now. Mean "
            f"**{float(np.mean(values)):.3g}**, highest {float(np.max(values)):.3g}; "
            f"bright is {brightest:.3g}, the highest so far."
        )
