"""The page: plain data in, viser out. Its methods are called from one thread, the node's.

Browsers press buttons in threads of viser's; what they want waits in a queue.
"""

from __future__ import annotations

import threading
import time
from queue import Empty, SimpleQueue

import numpy as np
import viser

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.monitor.access import Access
from bayes_curiosity_ros.monitor.board import Board
from bayes_curiosity_ros.monitor.cell import Cell
from bayes_curiosity_ros.monitor.colors import colors_of
from bayes_curiosity_ros.monitor.controls import Controls
from bayes_curiosity_ros.monitor.figure import Figure
from bayes_curiosity_ros.monitor.gate import Gate, Server
from bayes_curiosity_ros.monitor.history import History
from bayes_curiosity_ros.monitor.orders import GIVE_BACK, TAKE_OVER, Need, Order
from bayes_curiosity_ros.monitor.settings import MonitorConfig
from bayes_curiosity_ros.monitor.situation import Situation
from bayes_curiosity_ros.monitor.trail import Trail
from bayes_curiosity_ros.monitor.viewer import Viewer
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.world import build_world

# Time between two looks at what changes slowly in [s]: words and trail, curves, the holder.
WORDS_S, CURVES_S, PING_S = 1.0, 2.0, 0.25
# Least time between two looks at all that changes while nobody drives, in [s]: about a control
# step of a real arm.
ARM_S = 0.095
MOST_WAITING = 100  # presses of buttons that wait to be served
FOV_RAD = 0.9
LOOK_FROM, LOOK_AT = (0.95, -1.5, 0.95), (0.3, 0.0, 0.25)


class Page:
    """One page for all browsers, and what each has for itself.

    Args:
        config: where it is served.
        robot: what it shows.

    Attributes:
        situation: how the nodes are.
        history: past episodes.
        trail: where the hand has been.
        controls: who holds them.
    """

    def __init__(self, config: MonitorConfig, robot: RobotConfig) -> None:
        self.situation, self.history, self.trail = Situation(), History(), Trail()
        self.controls = Controls(time.monotonic)
        self._access = Access(config.given_token)
        self._lock = threading.RLock()
        self._viewers: dict[int, Viewer] = {}
        self._orders: SimpleQueue[tuple[int, Order]] = SimpleQueue()
        self._due_s = dict.fromkeys((WORDS_S, CURVES_S, PING_S, ARM_S), 0.0)
        self._moved = False  # since the arm was drawn
        self._drawn_episodes = 0
        self._replayed: tuple[int, int] | None = None
        self._sought: int | None = None
        self._brightest = 0.0
        self._astray = False  # the gizmo is not where the hand was taken
        self._server = served(config)
        self._gate = Gate(self._server, self._access, config.viewers)
        self._figure = Figure(self._server.scene, build_world(robot))
        self._cell = Cell(self._server.scene, robot)
        self._board = Board(self._server, robot.world.camera.max_depth_m)
        self._server.initial_camera.position = np.array(LOOK_FROM)
        self._server.initial_camera.look_at = np.array(LOOK_AT)
        self._server.initial_camera.fov = FOV_RAD
        self._server.on_client_connect(self._greet)
        self._server.on_client_disconnect(self._part)

    @property
    def port(self) -> int:
        """Port at which it is served."""
        return self._server.get_port()

    @property
    def watched(self) -> bool:
        """Whether a browser is open."""
        return self._gate.viewers > 0

    def due(self) -> bool:
        """Whether it is time to show what is new: always while somebody drives."""
        return self.controls.driving or self._is_due(ARM_S)

    def begin(self, episode: int) -> None:
        """An episode begins, unless it is under way.

        The arm was taken elsewhere. Who drives finds the gizmo on the hand again, once it is known
        where that is: else the arm would go back to where the gizmo was left.
        """
        if self.trail.begin(episode):
            self._astray = self.controls.driving

    def show_joints(self, joints: dict[str, float]) -> None:
        """Joint angles by name in [rad]."""
        self._figure.move(joints)
        if self._astray:
            self.drive(self.controls.driving)
        self.trail.add(self._figure.hand.translation)
        self._moved = True

    def show_limit(self) -> None:
        """A limit changed what the arm was asked for."""
        self.trail.limit(self._figure.hand.translation)

    def show_object(self, position: np.ndarray, wxyz: np.ndarray) -> None:
        """The cylinder is here, (3,) in [m]."""
        self._cell.show_object(position, wxyz)

    def show_color(self, pixels: np.ndarray) -> None:
        """What the camera sees, (H, W, 3) uint8."""
        self._cell.show_picture(pixels)
        self._board.show_color(pixels)

    def show_depth(self, depth: np.ndarray) -> None:
        """How far it is, (H, W) in [m]."""
        self._board.show_depth(depth)

    def show_map(self, points: np.ndarray, values: np.ndarray) -> None:
        """Where the robot is curious: (N, 3) in [m], and the bonus there.

        Colours are by the brightest map so far: it goes dark where the arm has been.
        """
        self._brightest = max(self._brightest, float(np.max(values, initial=0.0)))
        self._cell.show_map(points, colors_of(values, self._brightest))
        self._board.show_scale(values, self._brightest)

    def show_replay(self, first: int, last: int) -> None:
        """A bag with these episodes is being replayed."""
        with self._lock:
            self._replayed = first, last
            for viewer in self._viewers.values():
                viewer.show_replay(first, last)

    def sought(self) -> int | None:
        """Episode of a replay that the holder wants to see; None where it was asked for before."""
        with self._lock:
            episode, self._sought = self._sought, None
            return episode

    def tick(self) -> None:
        """Draw what has changed, and see whether the holder's browser is still there."""
        self._draw_arm()
        if self._is_due(WORDS_S):
            self._board.show_words(self.situation.html(time.monotonic()))
            self._draw_trail()
        if len(self.history) != self._drawn_episodes and self._is_due(CURVES_S):
            self._drawn_episodes = len(self.history)
            self._board.curves.show(self.history.columns())
        self._watch_holder()

    def orders(self) -> list[tuple[int, Order]]:
        """What was ordered since the last call, with who did."""
        found = []
        for _ in range(MOST_WAITING):
            try:
                found.append(self._orders.get_nowait())
            except Empty:
                break
        return found

    def answer(self, viewer: int, order: Order, success: bool, words: str) -> None:
        """What came of an order."""
        if success and order in (TAKE_OVER, GIVE_BACK):
            self.drive(order is TAKE_OVER)
        with self._lock:
            if viewer in self._viewers:
                self._viewers[viewer].tell(order.label, words or "done", success)

    def drive(self, driving: bool) -> None:
        """The holder drives the hand, or does so no more."""
        with self._lock:
            holder = self._viewers.get(
                -1 if self.controls.holder is None else self.controls.holder
            )
            self.controls.driving = driving and holder is not None
            self._astray = False
            for viewer in self._viewers.values():
                viewer.hide_gizmo()
            if holder is not None and driving:
                hand = self._figure.hand
                holder.show_gizmo(hand.translation, hand.quaternion)
            self._refresh()

    def target(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Where the holder wants the hand; None while nobody drives or the browser is silent."""
        with self._lock:
            holder = self.controls.holder
            drives = self.controls.driving and self.controls.heard and not self._astray
            if holder is None or not drives:
                return None
            return self._viewers[holder].target() if holder in self._viewers else None

    def close(self) -> None:
        """Serve no more."""
        self._server.stop()

    def _is_due(self, period_s: float) -> bool:
        due = time.monotonic() - self._due_s[period_s] >= period_s
        if due:
            self._due_s[period_s] = time.monotonic()
        return due

    def _draw_arm(self) -> None:
        """Where the arm is now."""
        if self._moved and self.watched:
            self._moved = False
            with self._server.atomic():
                self._figure.draw()
            self._server.flush()

    def _draw_trail(self) -> None:
        if self.trail.changed and self.watched:
            self.trail.changed = False
            self._cell.show_trail(*self.trail.segments())
            self._cell.show_limits(self.trail.limits)

    def _watch_holder(self) -> None:
        with self._lock:
            holder = self.controls.holder
            if holder is None or not self._is_due(PING_S):
                return
            self.controls.hear(holder, self._gate.heard_s(holder))
            self._gate.ping(holder)
            drove = self.controls.driving
            if self.controls.expire() is not None:
                self._end_drive(holder if drove else None)

    def _end_drive(self, driver: int | None) -> None:
        """After the controls were lost or given; who drove gives the hand back, too."""
        if driver is not None:
            self._orders.put((driver, GIVE_BACK))
        self.drive(False)

    def _greet(self, client: viser.ClientHandle) -> None:
        with self._lock:  # a button may be pressed before all are there, and is answered after
            viewer = Viewer(client, self._press, self._hold, self._unlock, self._seek)
            self._viewers[viewer.number] = viewer
            if self._replayed is not None:
                viewer.show_replay(*self._replayed)
            self._refresh()

    def _part(self, client: viser.ClientHandle) -> None:
        with self._lock:
            self._viewers.pop(client.client_id, None)

    def _refresh(self) -> None:
        for viewer in self._viewers.values():
            viewer.refresh(self.controls, self._access.may_control(viewer.number))

    def _press(self, number: int, order: Order) -> None:
        with self._lock:
            allowed = self._access.may_control(number)
            holds = order.need == Need.ACCESS or self.controls.holder == number
            if allowed and holds and self._orders.qsize() < MOST_WAITING:
                self._orders.put((number, order))

    def _hold(self, number: int, wanted: bool) -> None:
        with self._lock:
            if wanted and self._access.may_control(number):
                self.controls.take(number)
                self._refresh()
            elif self.controls.holder == number:
                drove = self.controls.driving
                self.controls.give(number)
                self._end_drive(number if drove else None)

    def _seek(self, number: int, episode: int) -> None:
        with self._lock:
            if self.controls.holder == number and self._replayed is not None:
                first, last = self._replayed
                self._sought = min(max(episode, first), last)

    def _unlock(self, number: int, token: str) -> None:
        with self._lock:
            good = self._access.unlock(number, token)
            if number in self._viewers:
                words = "You can use the buttons now." if good else "That is not the token."
                self._viewers[number].tell("Token", words, good)
            self._refresh()


def served(config: MonitorConfig) -> Server:
    """A server at the address asked for.

    Raises:
        ConfigError: another program has the port.
    """
    server = Server(config.web_host, config.web_port, label="Bayesian curiosity", verbose=False)
    if config.web_port and server.get_port() != config.web_port:
        server.stop()
        raise ConfigError(
            f"web_port = {config.web_port} of {config.web_host} is taken by another program; give "
            "another, or 0 for any that is free"
        )
    return server
