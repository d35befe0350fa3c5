"""What one browser has for itself: buttons, token, the gizmo on the hand.

Buttons are each browser's own and not shared: viser lets a browser change whatever state a shared
one has, its callbacks included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import viser

from bayes_curiosity_ros.monitor.controls import Controls
from bayes_curiosity_ros.monitor.orders import (
    GIVE_BACK,
    ORDERS,
    REPLAY,
    STOP,
    TAKE_OVER,
    Need,
    Order,
)

SHOWN_S = 6.0
GIZMO_M = 0.22


class Viewer:
    """The buttons of one browser.

    Args:
        client: the browser.
        press: called with an order.
        hold: called with whether the viewer wants to hold the controls.
        unlock: called with a token.
        seek: called with an episode of a replay.
    """

    def __init__(
        self,
        client: viser.ClientHandle,
        press: Callable[[int, Order], None],
        hold: Callable[[int, bool], None],
        unlock: Callable[[int, str], None],
        seek: Callable[[int, int], None],
    ) -> None:
        self.number = client.client_id
        self._client, self._press = client, press
        self._gizmo: viser.TransformControlsHandle | None = None
        self._gizmos = 0
        self._holds = False
        gui = client.gui
        self._orders = {STOP: self._button(STOP, -100.0)}
        client.gui.add_command("Stop the arm", hotkey="X").on_trigger(
            lambda _: press(self.number, STOP)
        )
        self._words = gui.add_markdown("", order=-90.0)
        with gui.add_folder("Controls", order=-80.0):
            self._hold = gui.add_button("Take the controls", icon=viser.Icon.KEY, color="blue")
            self._hold.on_click(lambda _: hold(self.number, not self._holds))
            self._orders |= {order: self._button(order) for order in ORDERS}
        with gui.add_folder("Drive the hand", order=-70.0):
            self._orders |= {order: self._button(order) for order in (TAKE_OVER, GIVE_BACK)}
        self._token = self._add_token(unlock)
        self._episodes = (0, 0)
        self._replay = gui.add_folder("Replay", order=-60.0, visible=False)
        with self._replay:
            self._slider = gui.add_slider("Episode", 0, 1, 1, 0)
            self._slider.on_update(lambda _: seek(self.number, int(self._slider.value)))
            self._orders |= {order: self._button(order) for order in REPLAY}

    def refresh(self, controls: Controls, allowed: bool) -> None:
        """Show what this viewer may do now."""
        self._holds = controls.holder == self.number
        self._words.content = self._about(controls, allowed)
        self._hold.label = "Give the controls" if self._holds else "Take the controls"
        self._hold.disabled = not allowed or controls.holder not in (None, self.number)
        for order, button in self._orders.items():
            button.disabled = not (allowed if order.need == Need.ACCESS else self._holds)
        self._orders[TAKE_OVER].disabled |= controls.driving
        self._orders[GIVE_BACK].disabled |= not controls.driving
        self._token.visible = not allowed
        self._slider.disabled = not self._holds

    def show_replay(self, first: int, last: int) -> None:
        """A bag with these episodes is being replayed."""
        if (first, last) != self._episodes:
            self._episodes = first, last
            self._slider.min, self._slider.max = first, max(last, first + 1)
            self._replay.visible = True

    def tell(self, title: str, words: str, good: bool) -> None:
        """Say what came of something."""
        self._client.add_notification(
            title, words, color="green" if good else "red", auto_close_seconds=SHOWN_S
        )

    def show_gizmo(self, position: np.ndarray, wxyz: np.ndarray) -> None:
        """Put a gizmo where the hand is; what a browser says of an earlier one does not count."""
        self._gizmos += 1
        self._gizmo = self._client.scene.add_transform_controls(
            f"/target_{self._gizmos}",
            scale=GIZMO_M,
            depth_test=False,
            position=position,
            wxyz=wxyz,
        )

    def hide_gizmo(self) -> None:
        """Take the gizmo away."""
        if self._gizmo is not None:
            self._gizmo.remove()
            self._gizmo = None

    def target(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Position in [m] and orientation of the gizmo; None where there is none.

        Its browser says where it is, so it may be nonsense.
        """
        if self._gizmo is None:
            return None
        position, wxyz = np.asarray(self._gizmo.position), np.asarray(self._gizmo.wxyz)
        good = (position.shape, wxyz.shape) == ((3,), (4,)) and position.dtype.kind in "fi"
        return (position, wxyz) if good and np.isfinite([*position, *wxyz]).all() else None

    def _button(self, order: Order, place: float | None = None) -> viser.GuiButtonHandle:
        icon: Any = getattr(viser.Icon, order.icon)
        color: Any = order.color
        button = self._client.gui.add_button(
            order.label, color=color, icon=icon, hint=order.hint, order=place
        )
        button.on_click(lambda _: self._press(self.number, order))
        return button

    def _add_token(self, unlock: Callable[[int, str], None]) -> viser.GuiFolderHandle:
        gui = self._client.gui
        folder = gui.add_folder("Unlock", order=-85.0, visible=False)
        with folder:
            token: Any = gui.add_text("Token", "", hint="BAYES_CURIOSITY_WEB_TOKEN of the monitor")
            button = gui.add_button("Unlock", icon=viser.Icon.LOCK_OPEN)

        def tried(event: object) -> None:
            given = token.value
            token.value = ""
            unlock(self.number, given)

        button.on_click(tried)
        return folder

    def _about(self, controls: Controls, allowed: bool) -> str:
        if not allowed:
            return "You watch. The token unlocks the buttons."
        if self._holds and controls.driving:
            return "**You drive the hand**: drag the gizmo."
        if self._holds:
            return "**You hold the controls.**"
        if controls.holder is not None:
            return f"Viewer {controls.holder} holds the controls. You can watch, and stop."
        return "Nobody holds the controls."
