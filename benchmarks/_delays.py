"""How late are actions while a learner learns? With an emulated arm, at its own control period."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from queue import Empty
from typing import NamedTuple

from geometry_msgs.msg import PoseStamped
from tqdm import tqdm

from bayes_curiosity_interfaces.msg import ArmStatus
from bayes_curiosity_ros.bags.peek import episode_and_step
from bayes_curiosity_ros.bringup.arguments import defaults
from bayes_curiosity_ros.bringup.table import parameter_files
from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.nodes.taps import Tap
from benchmarks._rigs import rigged
from benchmarks._stalls import stalled_ns, watched
from support.driver import Driver
from support.graph import parameters

TYPES = {"arm/state": "ArmState", "action": "Action"}
LOOK_S = 0.5
SPOT_M = (0.45, 0.1, 0.07)  # of the object
LEARNER = "bayes_curiosity_ros.nodes.learner_node"


class Delays(NamedTuple):
    """What was seen of a run.

    Attributes:
        delays_ms: from when each state was published to when the action at it was, by episode and
            step; without an episode's first, before which the arm stands.
        ours_ms: the same less the time in which the machine itself stood still.
        stalls: how often it did.
        longest_ms: the longest time that it did.
        releases: how often the arm had stopped, and its operator released it.
    """

    delays_ms: dict[tuple[int, int], float]
    ours_ms: dict[tuple[int, int], float]
    stalls: int
    longest_ms: float
    releases: int


def watch(steps: int, folder: Path, changes: Mapping[str, object]) -> Delays:
    """Let SAC learn with an emulated arm, and see how late its actions are.

    Args:
        steps: control steps.
        folder: for what the learner writes.
        changes: parameters of arm and learner that differ from those of real arms.
    """
    releases = 0
    with rigged("trajectory", changes) as rig, BackgroundNode("watcher") as watcher:
        taps = {
            topic: Tap(watcher.node, topic, f"bayes_curiosity_interfaces/msg/{kind}")
            for topic, kind in TYPES.items()
        }
        objects = watcher.node.create_publisher(PoseStamped, "object_pose", 1)
        watcher.node.create_timer(1.0, lambda: objects.publish(_object()))
        sent: dict[str, dict[tuple[int, int], int]] = {topic: {} for topic in TYPES}
        with (
            watched(folder) as stalls,
            _learner(steps, folder, changes) as process,
            tqdm(total=steps, desc="delays", unit="step", disable=None, leave=False) as bar,
        ):
            while process.poll() is None:
                time.sleep(LOOK_S)
                for topic, tap in taps.items():
                    for record in tap.take():
                        sent[topic].setdefault(episode_and_step(record.data), record.sent_ns)
                releases += _release(rig.learner)
                bar.update(min(len(sent["action"]), steps) - bar.n)
    states = sent["arm/state"]
    spans = {
        key: (states[key], action_ns)
        for key, action_ns in sent["action"].items()
        if key in states and key[1] > 0
    }
    delays = {key: (after - before) * 1e-6 for key, (before, after) in spans.items()}
    ours = {key: delay - stalled_ns(stalls, *spans[key]) * 1e-6 for key, delay in delays.items()}
    longest_ns = max((stall.ended_ns - stall.began_ns for stall in stalls), default=0)
    return Delays(delays, ours, len(stalls), longest_ns * 1e-6, releases)


def _release(operator: Driver) -> bool:
    """Release an arm that has stopped; whether it had."""
    newest = None
    try:
        while True:
            newest = operator.status.get_nowait()
    except Empty:
        stopped = newest is not None and newest.state in (ArmStatus.STOPPED, ArmStatus.FAULT)
    return stopped and operator.trigger("release").success


def _object() -> PoseStamped:
    pose = PoseStamped()
    pose.header.frame_id = "world"
    pose.pose.orientation.w = 1.0
    pose.pose.position.x, pose.pose.position.y, pose.pose.position.z = SPOT_M
    return pose


@contextmanager
def _learner(
    steps: int, folder: Path, changes: Mapping[str, object]
) -> Iterator[subprocess.Popen[bytes]]:
    """A learner that learns from its first episode on."""
    given = {"learner": "sac", "bonus": "none", "timesteps": steps, "folder": folder}
    given |= {"operator_confirmed": "true", "sac__warmup_steps": 0}
    given |= {"max_aborts": 1000, **changes}
    files = parameter_files(defaults() | {"arm": "trajectory", "learner": "sac"})
    words = [word for path in files for word in ("--params-file", str(path))]
    command = [sys.executable, "-m", LEARNER, "--ros-args", *words, *parameters(**given)[1:]]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60.0)
