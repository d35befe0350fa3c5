"""The operator's page in a real browser, beside a whole stack with a simulated arm.

Pictures are kept in the test's folder; PAGE_PICTURES=docs/images puts them there as well, and
PAGE_TIMES=FILE writes how long each button took.
"""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copy
from types import SimpleNamespace

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped

from bayes_curiosity_interfaces.msg import ArmState, ArmStatus, EpisodeSummary, LearnerStatus
from bayes_curiosity_ros.bags.episode import read_episodes
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.bringup.up import port_of_page
from bayes_curiosity_ros.cli import main
from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.nodes.conversions.wishes import pose_of_message
from bayes_curiosity_ros.nodes.glances import GLANCE_QOS
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.kinematics import Kinematics, KinematicsConfig, Pose
from support.browser import CHROMIUM, DRIVER, MISSING, OpenPage, browser
from support.effects import Effects, Heard
from support.gizmo import Drag, View, is_gripped
from support.processes import started_processes
from support.viewers import answers
from support.waiting import WAIT_S, until, wait_for

pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=MISSING)
CLI = "bayes_curiosity_ros.cli"
UP = ("up", "--scratch", "--dynamics", "kinematic", "--seed", "1", "--timesteps", "1000000")
DEMONSTRATE = ("demonstrate", "--episodes", "1")
PICTURES = os.environ.get("PAGE_PICTURES", "")
QUIET = 12  # change of a colour that nobody sees
EFFECT_S = 1.0
DRAG_M, LEAST_M, HERE_M = 0.12, 0.1, 0.01
EARLY, LATE = 5, 25  # steps of 50
NEXT_S = 2.0  # a drag that nothing was heard of for so long is followed by another


@pytest.fixture(scope="module")
def effects() -> Iterator[Effects]:
    """How long buttons took."""
    noted = Effects(EFFECT_S)
    yield noted
    if path := os.environ.get("PAGE_TIMES"):
        Path(path).write_text(json.dumps(noted.took_s))


@pytest.fixture(scope="module")
def chrome(tmp_path_factory) -> Iterator[object]:
    """The browser that all tests of this file share."""
    with browser(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@contextmanager
def opened(driver, folder: Path, *words: str) -> Iterator[SimpleNamespace]:
    """A stack with a page, the page in a browser, and what is said on the graph."""
    port = port_of_page("127.0.0.1", 0)
    web = ("--web", "--web-port", str(port), "--output", str(folder / "run"))
    with started_processes() as start, BackgroundNode("tester") as background:
        heard = SimpleNamespace(
            arm=Heard(background, ArmStatus, "arm/status", LATCHED_QOS),
            learner=Heard(background, LearnerStatus, "learner/status", LATCHED_QOS),
            states=Heard(background, ArmState, "arm/state", GLANCE_QOS),
            episodes=Heard(background, EpisodeSummary, "episode", EPISODE_QOS),
            targets=Heard(background, PoseStamped, "operator/target", GLANCE_QOS),
        )
        process = start(CLI, *words, *web, cwd=folder)
        # A pipe that nobody reads would hold up the learner, which says how it gets on.
        threading.Thread(target=list, args=(process.stdout,), daemon=True).start()
        wait_for(lambda: process.poll() is not None or answers(port), "page")
        page = OpenPage(driver, f"http://127.0.0.1:{port}", folder, fine=bool(PICTURES))
        yield SimpleNamespace(page=page, process=process, **vars(heard))


@pytest.fixture
def demonstrating(chrome, tmp_path) -> Iterator[SimpleNamespace]:
    with opened(chrome, tmp_path, *DEMONSTRATE) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def nodes(chrome, tmp_path_factory) -> Iterator[SimpleNamespace]:
    folder = tmp_path_factory.mktemp("page")
    with opened(chrome, folder, *UP) as nodes:
        yield nodes
    for picture in folder.glob("page_*.png") if PICTURES else ():
        copy(picture, PICTURES)


def take_over(nodes) -> None:
    """Take the controls, and with them the hand."""
    nodes.page.press("Take the controls")
    start_s = nodes.page.press("Take over")
    nodes.targets.after(start_s)
    nodes.page.close_notes()


def changed(before: np.ndarray, after: np.ndarray) -> int:
    """Number of pixels that differ."""
    return int((np.abs(before - after).max(axis=2) > QUIET).sum())


def test_a_demonstration_dragged_in_the_browser_is_one_that_embed_accepts(demonstrating, tmp_path):
    """First: its stack has ended when that of the other tests begins."""
    nodes = demonstrating
    nodes.learner.after(0.0, lambda status: "waiting for a person" in status.reason)
    wait_for(lambda: nodes.states.last is not None, "word of where the object is")
    take_over(nodes)
    view = View(nodes.page.driver)
    wait_for(lambda: drag_nearer(nodes, view), "demonstration")
    assert nodes.process.wait(WAIT_S) == 0
    (bag,) = (tmp_path / "run" / "bags").iterdir()
    (episode,) = read_episodes(BagReader(bag))
    assert episode.driven[:-1].all()
    assert np.abs(episode.actions[:-1]).max() > 0.0
    model = tmp_path / "model.safetensors"
    words = ["embed", "--bag", str(bag), "--max-epochs", "1", "--output", str(model)]
    assert (main(words), model.exists()) == (0, True)


def grip(page: OpenPage, drag: Drag) -> None:
    """Move the mouse to the gizmo's arrow, once it is drawn: beside it, the camera would turn."""

    def gripped() -> bool:
        page.point(drag.start)
        return is_gripped(page.patch(drag.start))

    wait_for(gripped, "arrow of the gizmo")


def drag_nearer(nodes, view: View) -> bool:
    """Drag the hand nearer to the object; whether the episode is over."""
    gizmo, goal = nodes.targets.last, nodes.states.last.object_pose.position
    pose = pose_of_message(gizmo)
    drag = view.drag_along(pose, np.array([goal.x, goal.y, goal.z]) - pose.position)
    grip(nodes.page, drag)
    nodes.page.drag(drag.start, drag.by)
    nodes.page.let_go()
    until(lambda: nodes.episodes.last or nodes.targets.last.pose != gizmo.pose, NEXT_S)
    return nodes.episodes.last is not None


def test_the_arm_is_seen_to_move(nodes):
    nodes.states.after(time.monotonic(), lambda state: state.step > 0)
    before = nodes.page.scene("before")
    assert until(lambda: changed(before, nodes.page.scene("after")) > 200)


def test_the_curve_grows(nodes):
    def curves():
        picture = nodes.page.shot("curves")
        return picture[picture.shape[0] // 2 :, : picture.shape[1] // 5]

    nodes.episodes.after(time.monotonic())
    before = curves()
    nodes.episodes.after(time.monotonic())
    assert until(lambda: changed(before, curves()) > 20)


def test_the_page_says_what_it_is_not_and_how_all_are(nodes):
    wait_for(lambda: "learner running" in nodes.page.words(), "word of the learner")
    words = nodes.page.words()
    assert "This is not a safety function." in words
    assert re.search(r"arm (moving|ready)", words)
    assert "curiosity" in words
    nodes.page.close_notes()
    nodes.page.shot("page_overview")


def test_who_holds_the_controls_pauses_and_resumes_the_learner(nodes, effects):
    def pause_and_resume() -> None:
        start_s = nodes.page.press("Pause")
        paused_s = nodes.learner.after(start_s, lambda s: s.state == LearnerStatus.PAUSED)
        effects.note("pause", paused_s)
        wait_for(lambda: "learner paused" in nodes.page.words(), "word of the pause")
        start_s = nodes.page.press("Resume")
        resumed_s = nodes.learner.after(start_s, lambda s: s.state == LearnerStatus.RUNNING)
        effects.note("resume", resumed_s)

    nodes.page.press("Take the controls")
    effects.require(pause_and_resume, "pause", "resume")


def test_stop_and_its_key_stop_and_release_releases(nodes, effects):
    def stop_and_release() -> None:
        presses = {"stop": lambda: nodes.page.press("STOP"), "key": lambda: nodes.page.key("x")}
        for name, press in presses.items():
            stopped_s = nodes.arm.after(press(), lambda s: s.state == ArmStatus.STOPPED)
            effects.note(name, stopped_s)
            wait_for(lambda: "arm stopped" in nodes.page.words(), "word of the stop")
            start_s = nodes.page.press("Release")
            released_s = nodes.arm.after(start_s, lambda s: s.state != ArmStatus.STOPPED)
            effects.note("release", released_s)

    effects.require(stop_and_release, "stop", "key", "release")


def test_the_hand_is_taken_over_and_given_back(nodes, effects):
    def take_and_give() -> None:
        start_s = nodes.page.press("Take over")
        taken_s = nodes.arm.after(start_s, lambda s: s.driver == ArmStatus.OPERATOR)
        effects.note("take over", taken_s)
        nodes.states.after(start_s, lambda s: s.actor == ArmState.OPERATOR)
        start_s = nodes.page.press("Give back")
        given_s = nodes.arm.after(start_s, lambda s: s.driver == ArmStatus.POLICY)
        effects.note("give back", given_s)
        nodes.states.after(start_s, lambda s: s.actor == ArmState.POLICY)

    effects.require(take_and_give, "take over", "give back")


def test_the_hand_is_dragged_ten_centimetres(nodes, effects):
    robot = RobotConfig.load()
    kinematics = Kinematics(robot, KinematicsConfig(collisions=False))

    def hand() -> np.ndarray:
        joints = nodes.states.last.positions[: len(robot.arm.joints)]
        return kinematics.forward(np.array(joints)).position

    def on_hand() -> bool:
        return bool(np.linalg.norm(gizmo_of(nodes).position - hand()) < HERE_M)

    def drag_on() -> None:
        nodes.page.let_go()
        before = gizmo_of(nodes)
        drag = View(nodes.page.driver).drag_best_seen(before, DRAG_M)
        grip(nodes.page, drag)
        start_s = time.monotonic()
        nodes.page.drag(drag.start, drag.by)
        moved = nodes.targets.after(start_s, lambda m: not pose_of_message(m).equals(before))
        effects.note("drag", moved)

    nodes.targets.after(nodes.page.press("Take over"))
    nodes.page.close_notes()
    with held_early(nodes):
        wait_for(on_hand, "gizmo on the hand")
        began = hand()
        effects.require(drag_on, "drag")
    wait_for(lambda: np.linalg.norm(hand() - began) > LEAST_M, "ten centimetres")
    nodes.page.shot("page_drive")
    nodes.page.let_go()
    start_s = nodes.page.press("Give back")
    nodes.states.after(start_s, lambda s: s.actor == ArmState.POLICY)


def gizmo_of(nodes) -> Pose:
    """Where the gizmo is, by what the page says on the graph."""
    return pose_of_message(nodes.targets.last)


@contextmanager
def held_early(nodes) -> Iterator[None]:
    """The learner is held with most of an episode ahead, and with it the simulated arm's time.

    At an episode's end the hand is taken elsewhere. A browser on a busy machine may need longer
    for a drag than the five seconds of an episode, which nobody wants to know here.
    """
    learner = process_of(nodes.process.pid, "learner_node")

    def held() -> bool:
        nodes.states.after(time.monotonic(), lambda s: s.step < EARLY)
        os.kill(learner, signal.SIGSTOP)
        if nodes.states.last.step < LATE:
            return True
        os.kill(learner, signal.SIGCONT)
        return False

    try:
        wait_for(held, "episode that has just begun")
        yield
    finally:
        os.kill(learner, signal.SIGCONT)


def process_of(parent: int, name: str) -> int:
    """Number of the process that this one started under a name."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    (found,) = (pid for pid in children if name in Path(f"/proc/{pid}/cmdline").read_text())
    return int(found)
