"""The operator's page in a real browser, beside a whole stack with a simulated arm.

Pictures are kept in the test's folder; PAGE_PICTURES=docs/images puts them there as well, and
PAGE_TIMES=FILE writes how long each button took.
"""

from __future__ import annotations

import json
import os
import queue
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import copy
from types import SimpleNamespace

import numpy as np
import pytest

from bayes_curiosity_interfaces.msg import ArmState, ArmStatus, EpisodeSummary, LearnerStatus
from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.nodes.glances import GLANCE_QOS
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.kinematics import Kinematics, KinematicsConfig, Pose
from support.browser import CHROMIUM, DRIVER, MISSING, OpenPage, browser
from support.processes import started_processes
from support.waiting import WAIT_S, until, wait_for

pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=MISSING)
UP = ("up", "--web", "--web-port", "0", "--scratch", "--dynamics", "kinematic", "--seed", "1")
QUIET = 12  # change of a colour that nobody sees


class Heard:
    """All that is said on a topic, with when it came."""

    def __init__(self, background: BackgroundNode, kind: type, topic: str, qos: object) -> None:
        self._messages: queue.Queue[tuple[float, object]] = queue.Queue()
        background.node.create_subscription(kind, topic, self._put, qos)
        self.last: object = None

    def _put(self, message: object) -> None:
        self.last = message
        self._messages.put((time.monotonic(), message))

    def after(self, start_s: float, fits) -> float:
        """Time in [s] from `start_s` to the first message after it that fits."""
        deadline = time.monotonic() + WAIT_S
        while (left := deadline - time.monotonic()) > 0:
            came_s, message = self._messages.get(timeout=left)
            if came_s >= start_s and fits(message):
                return came_s - start_s
        raise AssertionError(f"no such message within {WAIT_S} s; the last was {self.last}")


@pytest.fixture(scope="module")
def took() -> Iterator[dict[str, float]]:
    """Times in [s] from a press to its effect on the graph, by button."""
    times: dict[str, float] = {}
    yield times
    if path := os.environ.get("PAGE_TIMES"):
        Path(path).write_text(json.dumps(times))


@pytest.fixture(scope="module")
def nodes(tmp_path_factory) -> Iterator[SimpleNamespace]:
    """A stack with a page, the page in a browser, and what is said on the graph."""
    folder = tmp_path_factory.mktemp("page")
    with started_processes() as start, BackgroundNode("tester") as background:
        heard = SimpleNamespace(
            arm=Heard(background, ArmStatus, "arm/status", LATCHED_QOS),
            learner=Heard(background, LearnerStatus, "learner/status", LATCHED_QOS),
            states=Heard(background, ArmState, "arm/state", GLANCE_QOS),
            episodes=Heard(background, EpisodeSummary, "episode", EPISODE_QOS),
        )
        words = (*UP, "--timesteps", "1000000", "--output", str(folder / "run"))
        process = start("bayes_curiosity_ros.cli", *words, cwd=folder)
        # A pipe that nobody reads would hold up the learner, which says how it gets on.
        threading.Thread(target=list, args=(process.stdout,), daemon=True).start()
        url = address(folder / "run", process)
        with browser(folder / "profile") as driver:
            page = OpenPage(driver, url, folder)
            yield SimpleNamespace(page=page, folder=folder, **vars(heard))
    if pictures := os.environ.get("PAGE_PICTURES"):
        for picture in folder.glob("page_*.png"):
            copy(picture, pictures)


def address(run: Path, process) -> str:
    """Where the page is, by the monitor's log."""
    log, found = run / "log" / "monitor.log", []

    def told() -> bool:
        assert process.poll() is None, "the stack has ended"
        text = log.read_text() if log.exists() else ""
        found.extend(re.findall(r"the page is at (http://\S+)", text))
        return bool(found)

    wait_for(told, "address of the page")
    return found[0]


def changed(before: np.ndarray, after: np.ndarray) -> int:
    """Number of pixels that differ."""
    return int((np.abs(before - after).max(axis=2) > QUIET).sum())


def test_the_arm_is_seen_to_move(nodes):
    nodes.states.after(time.monotonic(), lambda state: state.step > 0)
    before = nodes.page.scene("before")
    assert until(lambda: changed(before, nodes.page.scene("after")) > 200)


def test_the_curve_grows(nodes):
    def curves():
        picture = nodes.page.shot("curves")
        return picture[picture.shape[0] // 2 :, : picture.shape[1] // 5]

    nodes.episodes.after(time.monotonic(), lambda episode: True)
    before = curves()
    nodes.episodes.after(time.monotonic(), lambda episode: True)
    assert until(lambda: changed(before, curves()) > 20)


def test_the_page_says_what_it_is_not_and_how_all_are(nodes):
    wait_for(lambda: "learner running" in nodes.page.words(), "word of the learner")
    words = nodes.page.words()
    assert "This is not a safety function." in words
    assert re.search(r"arm (moving|ready)", words)
    assert "curiosity" in words
    nodes.page.close_notes()
    nodes.page.shot("page_overview")


def test_who_holds_the_controls_pauses_and_resumes_the_learner(nodes, took):
    nodes.page.press("Take the controls")
    start_s = nodes.page.press("Pause")
    took["pause"] = nodes.learner.after(start_s, lambda s: s.state == LearnerStatus.PAUSED)
    wait_for(lambda: "learner paused" in nodes.page.words(), "word of the pause")
    start_s = nodes.page.press("Resume")
    took["resume"] = nodes.learner.after(start_s, lambda s: s.state == LearnerStatus.RUNNING)


def test_stop_stops_and_release_releases(nodes, took):
    start_s = nodes.page.press("STOP")
    took["stop"] = nodes.arm.after(start_s, lambda s: s.state == ArmStatus.STOPPED)
    wait_for(lambda: "arm stopped" in nodes.page.words(), "word of the stop")
    nodes.page.shot("page_stopped")
    start_s = nodes.page.press("Release")
    took["release"] = nodes.arm.after(start_s, lambda s: s.state != ArmStatus.STOPPED)


def test_a_key_stops_too(nodes, took):
    start_s = nodes.page.key("x")
    took["key"] = nodes.arm.after(start_s, lambda s: s.state == ArmStatus.STOPPED)
    start_s = nodes.page.press("Release")
    nodes.arm.after(start_s, lambda s: s.state != ArmStatus.STOPPED)


def test_the_hand_is_taken_over_dragged_and_given_back(nodes, took):
    start_s = nodes.page.press("Take over")
    took["take over"] = nodes.arm.after(start_s, lambda s: s.driver == ArmStatus.OPERATOR)
    nodes.states.after(time.monotonic(), lambda s: s.actor == ArmState.OPERATOR)
    nodes.page.close_notes()
    hand = Hand()
    began = hand.pose(nodes.states.last)
    point, by, direction = hand.grip(nodes.page.driver, began)
    nodes.page.drag(point, by)

    def along() -> float:
        return float((hand.pose(nodes.states.last).position - began.position) @ direction)

    reached = until(lambda: along() > 0.08)
    nodes.page.shot("page_drive")
    nodes.page.let_go()
    assert reached, f"the hand moved {along():.3f} m"
    start_s = nodes.page.press("Give back")
    took["give back"] = nodes.arm.after(start_s, lambda s: s.driver == ArmStatus.POLICY)
    nodes.states.after(time.monotonic(), lambda s: s.actor == ArmState.POLICY)


def test_every_button_took_effect(took):
    """Within a second where nobody else needs the machine; see docs/operator.md."""
    assert set(took) >= {"pause", "resume", "stop", "release"}
    assert max(took.values()) < WAIT_S


class Hand:
    """Where the hand's gizmo is on the page, by the page's first camera."""

    def __init__(self) -> None:
        self._robot = RobotConfig.load()
        self._kinematics = Kinematics(self._robot, KinematicsConfig(collisions=False))

    def pose(self, state: ArmState) -> Pose:
        """Pose of the hand by a state of the arm."""
        return self._kinematics.forward(np.array(state.positions[: len(self._robot.arm.joints)]))

    def grip(self, driver, pose: Pose) -> tuple[tuple[int, int], tuple[int, int], np.ndarray]:
        """A pixel on an arrow of the gizmo, how far to drag it for 12 cm, and which way."""
        from bayes_curiosity_ros.monitor.viewer import GIZMO_M

        rectangle = driver.find_element("css selector", "canvas").rect
        ways = list(pose.rotation.T)
        shifts = [self._pixel(rectangle, pose.position + 0.12 * way) for way in ways]
        middle = self._pixel(rectangle, pose.position)
        best = int(np.argmax([np.linalg.norm(shift - middle) for shift in shifts]))
        start = self._pixel(rectangle, pose.position + 0.7 * GIZMO_M * ways[best])
        end = self._pixel(rectangle, pose.position + (0.7 * GIZMO_M + 0.12) * ways[best])
        by = end - start
        return (int(start[0]), int(start[1])), (int(by[0]), int(by[1])), ways[best]

    @staticmethod
    def _pixel(rectangle: dict[str, float], point: np.ndarray) -> np.ndarray:
        from bayes_curiosity_ros.monitor.page import FOV_RAD, LOOK_AT, LOOK_FROM

        ahead = np.subtract(LOOK_AT, LOOK_FROM)
        ahead /= np.linalg.norm(ahead)
        right = np.cross(ahead, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        offset = np.asarray(point) - LOOK_FROM
        focal = rectangle["height"] / 2 / np.tan(FOV_RAD / 2)
        x, y, z = offset @ right, offset @ np.cross(right, ahead), offset @ ahead
        center = np.array([rectangle["width"] / 2, rectangle["height"] / 2])
        corner = np.array([rectangle["x"], rectangle["y"]])
        return corner + center + focal * np.array([x, -y]) / z
