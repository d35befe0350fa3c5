"""What does the operator's page cost, and how late is what it shows?

The stack of `benchmarks.stack` in lockstep; in turn with the page and a viewer who reads all that
it says, in a process of its own, and without both. The viewer is no browser: one that draws in
software would need cores that an operator's laptop has for itself.

- `steps_per_s/without`: control steps/s with a viewer, once the page is up, against those without.
- `latency_p95_ms`: from when a joint state was published to when the viewer had read it, while
  control steps follow each other; against the bar.
- `map_s`: time for one map of the curiosity, all its points; against the bar.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import rclpy
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState, PointCloud2
from tqdm import tqdm

from bayes_curiosity_interfaces.msg import EpisodeSummary, LearnerStatus
from bayes_curiosity_ros.bringup.up import port_of_page
from bayes_curiosity_ros.learning.map.points import CuriosityMap
from bayes_curiosity_ros.learning.settings import LearnerConfig
from bayes_curiosity_ros.nodes.map_client import TOPIC, MapClient
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS
from bayes_curiosity_ros.nodes.run import Ending
from bayes_curiosity_ros.nodes.taps import Tap
from bayes_curiosity_ros.nodes.wire import subscribe_aside, unserved
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.frames import LinkFrames
from bayes_curiosity_ros.robot.world import build_world
from benchmarks._report import report
from benchmarks.stack import WARM_UP_STEPS, StackLearner, nodes

MAPS = 5
LATENCY_MS, MAP_S = 150.0, 0.5
START_S = 60.0


class WatchedLearner(StackLearner):
    """Says of itself and of its episodes what a learner says, for whoever watches."""

    def announce(self, config: LearnerConfig) -> None:
        """Say what is learnt, as the page needs to know for its map."""
        self._status = self.create_publisher(LearnerStatus, "learner/status", LATCHED_QOS)
        self._status.publish(LearnerStatus(task=config.task, bonus="curiosity"))
        self._summaries = self.create_publisher(EpisodeSummary, "episode", EPISODE_QOS)

    def wait_for_map(self) -> None:
        """Go on until the page has shown a map: making its points takes it a second, once."""
        maps = subscribe_aside(self, PointCloud2, TOPIC, LATCHED_QOS)
        deadline = time.monotonic() + START_S
        while next(unserved(PointCloud2, maps), None) is None and time.monotonic() < deadline:
            self.watched_steps_per_s(WARM_UP_STEPS)
        self.destroy_subscription(maps)

    def watched_steps_per_s(self, steps: int) -> float:
        """Whole episodes, each with its summary, until there are so many steps."""
        start, before = time.perf_counter(), len(self.arm.sent)
        while len(self.arm.sent) - before < steps:
            self.steps_per_s(1)
            self._summaries.publish(EpisodeSummary(episode=self.episode, steps=1))
        return (len(self.arm.sent) - before) / (time.perf_counter() - start)


class FirstLink:
    """The link that the first joint turns, which tells one joint state from another."""

    def __init__(self) -> None:
        robot = RobotConfig.load()
        world = build_world(robot)
        self._joint, self._frames = robot.arm.joints[0], LinkFrames(world)
        self._link = world.joints[0].child
        self.ending = f"/{self._link}"  # of its node's name

    def key(self, angle_rad: float) -> tuple[float, ...]:
        """Orientation at this angle of the first joint, as a viewer gets it."""
        moved = self._frames.moving({self._joint: angle_rad})
        return rounded(next(each.quaternion for each in moved if each.child == self._link))


def rounded(numbers: np.ndarray) -> tuple[float, ...]:
    """Numbers that are equal if they were."""
    return tuple(np.round(numbers, 7) + 0.0)


@contextmanager
def page(link: FirstLink, told: Path) -> Iterator[None]:
    """The page and a viewer, who writes down what he is told."""
    port = port_of_page("127.0.0.1", 0)
    words = [sys.executable, "-m", "bayes_curiosity_ros.nodes.monitor_node", "--ros-args"]
    monitor = subprocess.Popen([*words, "-p", f"web_port:={port}"], stdout=subprocess.DEVNULL)
    viewer = None
    try:
        with told.open("w") as output:
            while viewer is None or viewer.poll() is not None:  # until the page is there
                time.sleep(0.5)
                words = [sys.executable, "-m", "benchmarks._page_viewer"]
                viewer = subprocess.Popen(
                    [*words, str(port), link.ending],
                    stdout=output,
                    stderr=subprocess.DEVNULL,
                )
                settle(viewer, told)
            yield
    finally:
        for process in (viewer, monitor):
            if process is not None:
                process.terminate()
                process.wait(timeout=START_S)


def settle(viewer: subprocess.Popen[bytes], told: Path) -> None:
    """Wait until a viewer has heard something, or has given up."""
    deadline = time.monotonic() + START_S
    while viewer.poll() is None and not told.stat().st_size and time.monotonic() < deadline:
        time.sleep(0.05)


def latencies_ms(tap: Tap, told: Path, link: FirstLink) -> list[float]:
    """From when joint states were published to when the viewer had them."""
    sent: dict[tuple[float, ...], int] = {}
    for record in tap.take():
        angle = deserialize_message(record.data, JointState).position[0]
        sent.setdefault(link.key(angle), record.sent_ns)
    found = []
    for line in told.read_text().splitlines():
        came_ns, *wxyz = json.loads(line)
        if (published := sent.pop(rounded(np.array(wxyz)), None)) is not None:
            found.append((came_ns - published) * 1e-6)
    return found


def map_times_s(learner: WatchedLearner, config: LearnerConfig) -> list[float]:
    """How long maps take, one after the other, while nothing else is asked."""
    points = CuriosityMap.over(config.task, RobotConfig.load())
    client = MapClient(learner, points, period_s=0.0)
    times = []
    while client.made + client.given_up < MAPS:
        before = client.made
        client.refresh()
        learner.waiter.until(lambda: client.made > before or client.given_up > 0, 60.0, "a map")  # noqa: B023
        times.append(client.duration_s)
    return times


def main() -> None:
    """Print `monitor/…`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="parked_reach", help="(default: %(default)s)")
    parser.add_argument("--dynamics", default="kinematic", help="(default: %(default)s)")
    parser.add_argument("--steps", type=int, default=5000, help="control steps of a round")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of rounds")
    options = parser.parse_args()
    config = LearnerConfig(task=options.task, dynamics=options.dynamics)
    link, ratios, rates, delays = FirstLink(), [], [], []
    with nodes(config), tempfile.TemporaryDirectory() as folder:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        learner = WatchedLearner(config, Ending())
        learner.announce(config)
        learner.steps_per_s(WARM_UP_STEPS)
        for _ in tqdm(range(options.rounds), desc="rounds", disable=None, leave=False):
            told = Path(folder, "told.jsonl")
            with page(link, told):
                learner.wait_for_map()
                tap = Tap(learner, "joint_states", "sensor_msgs/msg/JointState")
                rate = learner.watched_steps_per_s(options.steps)
                delays += latencies_ms(tap, told, link)
            learner.steps_per_s(WARM_UP_STEPS)
            alone = learner.watched_steps_per_s(options.steps)
            rates.append(alone)
            ratios.append(rate / alone)
        maps = map_times_s(learner, config)
        rclpy.try_shutdown()
    _report(ratios, rates, delays, maps)


def _report(
    ratios: list[float], rates: list[float], delays: list[float], maps: list[float]
) -> None:
    without = float(np.median(rates))
    report(
        "monitor/steps_per_s/without",
        float(np.median(ratios)) * without,
        without,
        unit="control steps/s",
        higher_is_better=True,
        note=f"{len(ratios)} pairs, from {min(ratios):.3f} to {max(ratios):.3f}; bar 0.97",
    )
    report(
        "monitor/latency_p95_ms",
        float(np.percentile(delays, 95)) if delays else float("nan"),
        LATENCY_MS,
        unit="ms",
        higher_is_better=False,
        note=f"{len(delays)} joint states, median {np.median(delays):.0f} ms; peer: the bar",
    )
    report(
        "monitor/map_s",
        float(np.median(maps)),
        MAP_S,
        unit="s",
        higher_is_better=False,
        note=f"{len(maps)} maps, worst {max(maps):.2f} s; peer: the bar",
    )


if __name__ == "__main__":
    main()
