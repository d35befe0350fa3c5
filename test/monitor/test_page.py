"""The page and its viewers, over websockets, without a browser and without ROS."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import msgspec
import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.monitor.access import Access
from bayes_curiosity_ros.monitor.figure import LEAST
from bayes_curiosity_ros.monitor.gate import LARGEST, TRY_AGAIN_LATER, Gate
from bayes_curiosity_ros.monitor.orders import GIVE_BACK, STOP, TAKE_OVER
from bayes_curiosity_ros.monitor.page import Page
from bayes_curiosity_ros.monitor.page import served as serve
from bayes_curiosity_ros.monitor.settings import MonitorConfig
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.world import build_world
from benchmarks._page_viewer import CAMERA, open_viewer
from support.viewers import PoliteViewer, malformed
from support.waiting import LOOK_S, WAIT_S, wait_for

VIEWERS = 4
TOKEN = "correct horse battery staple"
# A name that is not this machine's, as a viewer from elsewhere would use.
ELSEWHERE = {"name": "robot"}
TWO_HOSTS = {"additional_headers": {"Host": "robot:8080"}}
NO_ADDRESS = {"additional_headers": {"Origin": "http://[nonsense"}}


class Running:
    """A page that is served by a thread, as a node's timer would."""

    def __init__(self, token: str = "") -> None:
        self.page = Page(
            MonitorConfig(web_port=0, viewers=VIEWERS, token=token), RobotConfig.load()
        )
        self.ordered: list[tuple[int, str]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(LOOK_S):
            if not self.page.due():
                continue
            self.page.tick()
            for viewer, order in self.page.orders():
                self.ordered.append((viewer, order.label))
                self.page.answer(viewer, order, True, "as you wish")

    def has(self, label: str) -> bool:
        return any(name == label for _, name in self.ordered)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        self.page.close()


@pytest.fixture(scope="module")
def served() -> Iterator[Running]:
    running = Running()
    yield running
    running.close()


@pytest.fixture(autouse=True)
def _nobody_else(served) -> None:
    wait_for(lambda: not served.page.watched, "page that nobody watches")
    served.page.controls.holder = None
    served.ordered.clear()


@pytest.fixture
def viewer(served) -> Iterator[PoliteViewer]:
    polite = entered(served)
    yield polite
    polite.close()


def entered(served: Running, **options) -> PoliteViewer:
    """A viewer who has got all buttons."""
    polite = PoliteViewer(served.page.port, **options)
    polite.until(lambda: {STOP.label, GIVE_BACK.label} <= polite.buttons.keys(), WAIT_S)
    return polite


def test_who_watches_may_stop_and_is_told_what_came_back(served, viewer):
    viewer.press("STOP")
    viewer.until(lambda: ("STOP", "as you wish") in viewer.notes, WAIT_S)
    assert served.has("STOP")


def test_other_buttons_need_the_controls_whatever_the_browser_says(served, viewer):
    viewer.press("Release")
    viewer.press("STOP")
    wait_for(lambda: served.has("STOP"), "order")
    assert not served.has("Release")
    viewer.press("Take the controls")
    wait_for(lambda: served.page.controls.holder is not None, "holder")
    viewer.press("Release")
    wait_for(lambda: served.has("Release"), "order")


def test_controls_are_not_taken_from_another_and_come_free_when_he_is_gone(served, viewer):
    other = entered(served)
    other.press("Take the controls")
    wait_for(lambda: served.page.controls.holder is not None, "holder")
    holder = served.page.controls.holder
    viewer.press("Take the controls")
    viewer.press("STOP")
    wait_for(lambda: served.has("STOP"), "order")
    assert served.page.controls.holder == holder
    other.close()
    wait_for(lambda: served.page.controls.holder is None, "controls that are free")


def test_who_takes_over_has_a_gizmo_and_its_pose_is_the_target(served, viewer):
    viewer.press("Take the controls")
    wait_for(lambda: served.page.controls.holder is not None, "holder")
    viewer.press(TAKE_OVER.label)
    viewer.until(lambda: bool(viewer.gizmos), WAIT_S)
    wait_for(lambda: served.page.target() is not None, "target")
    drag = {"type": "TransformControlsUpdateMessage", "wxyz": (1.0, 0.0, 0.0, 0.0)}
    viewer.send(drag | viewer.gizmos[0] | {"position": (0.3, 0.1, 0.4)})

    def dragged() -> bool:
        target = served.page.target()
        return target is not None and np.allclose(target[0], [0.3, 0.1, 0.4])

    wait_for(dragged, "target where the gizmo is")
    viewer.send(drag | viewer.gizmos[0] | {"position": (0.3, float("nan"), 0.4)})
    wait_for(lambda: served.page.target() is None, "no target that is none")
    viewer.press(GIVE_BACK.label)
    wait_for(lambda: not served.page.controls.driving, "end of the drive")


def aimed(page: Page) -> np.ndarray:
    """Where the hand is wanted, (3,), once somebody wants it."""
    found = []

    def some() -> bool:
        target = page.target()
        found.extend([] if target is None else [target[0]])
        return bool(found)

    wait_for(some, "target")
    return found[0]


def test_the_gizmo_is_on_the_hand_again_when_an_episode_begins(served, viewer):
    page, joints = served.page, RobotConfig.load().arm.joints
    page.begin(1)
    page.show_joints(dict.fromkeys(joints, 1.0))
    viewer.press("Take the controls")
    wait_for(lambda: page.controls.holder is not None, "holder")
    viewer.press(TAKE_OVER.label)
    viewer.until(lambda: bool(viewer.gizmos), WAIT_S)
    before = aimed(page)
    page.begin(1)
    page.show_joints(dict.fromkeys(joints, 1.5))
    np.testing.assert_array_equal(aimed(page), before)
    page.begin(2)
    assert page.target() is None
    page.show_joints(dict.fromkeys(joints, 2.0))
    np.testing.assert_array_equal(aimed(page), page._figure.hand.translation)
    viewer.until(lambda: len(viewer.gizmos) == 2, WAIT_S)
    drag = {"type": "TransformControlsUpdateMessage", "wxyz": (1.0, 0.0, 0.0, 0.0)}
    viewer.send(drag | viewer.gizmos[0] | {"position": (0.3, 0.1, 0.4)})  # comes too late
    viewer.press("STOP")
    wait_for(lambda: served.has("STOP"), "order")
    np.testing.assert_array_equal(aimed(page), page._figure.hand.translation)
    viewer.press(GIVE_BACK.label)
    wait_for(lambda: not page.controls.driving, "end of the drive")


def test_a_driver_who_is_gone_publishes_nothing_and_gives_the_hand_back(served):
    driver = entered(served)
    driver.press("Take the controls")
    wait_for(lambda: served.page.controls.holder is not None, "holder")
    driver.press(TAKE_OVER.label)
    wait_for(lambda: served.page.target() is not None, "target")
    driver.close()
    wait_for(lambda: served.page.target() is None, "end of targets")
    wait_for(lambda: served.has(GIVE_BACK.label), "giving back")


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:1"])
def test_a_page_of_another_site_is_shown_the_door_before_it_hears_anything(served, origin):
    with open_viewer(served.page.port, origin=origin) as socket, pytest.raises(ConnectionClosed):
        socket.recv(WAIT_S)


@pytest.mark.parametrize("options", [ELSEWHERE, TWO_HOSTS, NO_ADDRESS])
def test_without_a_token_nobody_gets_in_by_another_name(served, options):
    with open_viewer(served.page.port, **options) as socket, pytest.raises(ConnectionClosed):
        socket.recv(WAIT_S)


def test_too_many_viewers_are_sent_away_and_the_others_stay(served, viewer):
    crowd = [open_viewer(served.page.port) for _ in range(VIEWERS)]
    with pytest.raises(ConnectionClosed):
        crowd[-1].recv(WAIT_S)
    viewer.press("STOP")
    wait_for(lambda: served.has("STOP"), "order")
    for socket in crowd:
        socket.close()


def test_no_viewer_puts_the_page_on_the_internet(served, viewer):
    viewer.send({"type": "ShareUrlRequest"})
    viewer.press("STOP")
    wait_for(lambda: served.has("STOP"), "order")
    assert served.page._server._share_tunnel is None


def test_a_viewer_who_speaks_nonsense_is_dropped_and_the_others_stay(served, viewer):
    rng = np.random.default_rng(0)
    for _ in range(20):
        with open_viewer(served.page.port) as socket:
            socket.send(malformed(rng))
    with open_viewer(served.page.port) as socket:
        socket.send(bytes(LARGEST + 1))
        with pytest.raises(ConnectionClosed):
            exhaust(socket)
    viewer.press("STOP")
    wait_for(lambda: served.has("STOP"), "order")


def exhaust(socket) -> None:
    """Read until the page hangs up."""
    while True:
        socket.recv(WAIT_S)


def test_no_viewer_changes_what_another_has(served, viewer):
    other = entered(served)
    for name in ("update_cb", "removed", "value"):
        message = {"type": "GuiUpdateMessage", "uuid": viewer.buttons["STOP"]}
        other.send(message | {"updates": {name: []}})
    other.press("STOP")
    other.until(lambda: bool(other.notes), WAIT_S)
    viewer.press("STOP")
    viewer.until(lambda: bool(viewer.notes), WAIT_S)
    other.close()


def test_who_is_elsewhere_unlocks_the_buttons_with_the_token():
    running = Running(TOKEN)
    far = entered(running, **ELSEWHERE)
    near = entered(running)
    try:
        far.press("STOP")
        near.press("STOP")
        wait_for(lambda: running.has("STOP"), "order of the near one")
        assert len(running.ordered) == 1
        far.type("Token", TOKEN)
        far.press("Unlock")
        far.until(lambda: ("Token", "You can use the buttons now.") in far.notes, WAIT_S)
        far.press("STOP")
        wait_for(lambda: len(running.ordered) == 2, "order of the far one")
    finally:
        far.close()
        near.close()
        running.close()


def test_the_holder_seeks_in_a_replay_and_nobody_else(served, viewer):
    served.page.show_replay(3, 40)
    other = entered(served)
    viewer.until(lambda: "Episode" in viewer.sliders, WAIT_S)
    other.until(lambda: "Episode" in other.sliders, WAIT_S)
    viewer.press("Take the controls")
    wait_for(lambda: served.page.controls.holder is not None, "holder")
    other.slide("Episode", 7)
    other.press("STOP")
    wait_for(lambda: served.has("STOP"), "order")
    assert served.page.sought() is None
    viewer.slide("Episode", 21)
    wait_for(lambda: served.page.sought() == 21, "episode")
    other.close()


def test_a_port_that_is_taken_is_named(served):
    with pytest.raises(ConfigError, match=str(served.page.port)):
        Page(MonitorConfig(web_port=served.page.port), RobotConfig.load())


def test_what_is_shown_reaches_a_viewer(served, viewer):
    robot = RobotConfig.load()
    served.page.show_map(np.zeros((3, 3)), np.ones(3))
    served.page.show_color(np.zeros((4, 4, 3), np.uint8))
    served.page.show_depth(np.ones((4, 4)))
    served.page.show_object(np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
    served.page.show_joints(dict.fromkeys(robot.arm.joints, 1.0))
    served.page.show_limit()
    seen: set[str] = set()

    def all_came() -> bool:
        return {"PointCloudMessage", "SetOrientationMessage"} <= seen

    deadline = time.monotonic() + WAIT_S
    while not all_came() and time.monotonic() < deadline:
        seen |= {message["type"] for message in viewer.read(WAIT_S)}
    assert all_came()


def orientations(viewer, seconds: float) -> int:
    """How often the first link of the arm was turned meanwhile."""
    found, deadline = 0, time.monotonic() + seconds
    link = f"/{build_world(RobotConfig.load()).joints[0].child}"
    while (left := deadline - time.monotonic()) > 0:
        with suppress(TimeoutError):
            for message in viewer.read(left):
                turned = message["type"] == "SetOrientationMessage"
                found += turned and message["name"].endswith(link)
    return found


def test_the_arm_is_drawn_at_a_bounded_rate_and_at_last_where_it_is(served, viewer):
    page, joints = served.page, RobotConfig.load().arm.joints
    for angle in np.linspace(0.5, 1.5, 40):
        page.show_joints(dict.fromkeys(joints, float(angle)))
        time.sleep(0.005)
    assert 1 <= orientations(viewer, 1.0) <= 25  # of 40; ten a second on a quiet machine
    drawn = page._figure._drawn
    wait_for(
        lambda: all(
            np.abs(link.quaternion - drawn[link.child]).max() < LEAST
            for link in page._figure._moving
        ),
        "last pose",
    )


def code_of(connection) -> int | None:
    """Why a connection was closed; None while it is open."""
    with suppress(ConnectionClosed, TimeoutError):
        connection.recv(0.1)
    return connection.close_code


def test_who_came_before_there_was_a_gate_is_sent_away():
    server = serve(MonitorConfig(web_port=0))
    try:
        early = open_viewer(server.get_port())
        early.send(msgspec.msgpack.encode(CAMERA))
        wait_for(lambda: server._websock_server._live_connections, "connection")
        Gate(server, Access(""), 4)
        wait_for(lambda: code_of(early) is not None, "end of the connection")
        assert code_of(early) == TRY_AGAIN_LATER
        late = open_viewer(server.get_port())
        assert late.recv(WAIT_S)
        late.close()
    finally:
        server.stop()
