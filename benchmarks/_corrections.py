"""Does a run that begins with a bag of a person's corrections learn from them?

All over ROS, with a simulated arm parked aside: a person takes over from a policy that knows
nothing, drives the hand to the cylinder a few times, and gives back. What they did is taken from
the bag; SAC begins with it, and once more with nothing.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, Queue

from tqdm import tqdm

from bayes_curiosity_interfaces.msg import ArmState, EpisodeSummary
from bayes_curiosity_ros.learning.episode_log import LOG, EpisodeRow, read_log
from bayes_curiosity_ros.nodes.arm_watchers import GLANCE
from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS
from bayes_curiosity_ros.robot.config import RobotConfig
from benchmarks.faults.stack import Run
from support.person import Person

TASK = ("--task", "parked_reach", "--dynamics", "kinematic", "--bonus", "none", "--scratch")
CLI = (sys.executable, "-m", "bayes_curiosity_ros.cli")
# Returns lie between 0 and 1, and targets are kept there.
PARAMETERS = "/**/learner:\n  ros__parameters:\n    sac: {clipped: true}\n"
DRIVE_S = 600.0
LOOK_S = 0.05


def with_and_without(
    folder: Path, corrections: int, timesteps: int, seed: int
) -> tuple[list[EpisodeRow], list[EpisodeRow]]:
    """Episodes of a run that begins with a person's corrections, and of one that does not.

    Args:
        folder: for what the runs write.
        corrections: episodes that the person drives.
        timesteps: control steps of each run.
        seed: seed of the runs.
    """
    shown = folder / "shown.npz"
    bag = driven(folder / "driven", corrections)
    _finish("remember", "parked_reach", "--bag", bag, "--driven-only", "--output", shown)
    parameters = folder / "clipped.yaml"
    parameters.write_text(PARAMETERS)
    found = []
    for name, more in (("with", ["--shown", str(shown)]), ("without", [])):
        words = ["up", *TASK, "--learner", "sac", "--seed", str(seed), *more]
        words += ["--params-file", str(parameters), "--timesteps", str(timesteps)]
        _finish(*words, "--output", folder / name)
        found.append(read_log(folder / name / LOG))
    return found[0], found[1]


def driven(output: Path, episodes: int) -> Path:
    """The bag of a run in which a person drives so many episodes to their end."""
    words = [*CLI, "up", *TASK, "--record", "--timesteps", "100000", "--output", str(output)]
    with BackgroundNode("person") as background, Run(words, output, output.with_suffix(".log")):
        drive(background, episodes)
    (bag,) = (output / "bags").iterdir()
    return bag


def drive(background: BackgroundNode, episodes: int) -> None:
    """Drag the hand to wherever the cylinder is, until so many episodes have ended so."""
    person, ready = Person(background), RobotConfig.load().arm.ready_rad
    states: Queue[ArmState] = Queue()
    ended: Queue[EpisodeSummary] = Queue()
    node = background.node
    node.create_subscription(ArmState, GLANCE, states.put, 1)
    node.create_subscription(EpisodeSummary, "episode", ended.put, EPISODE_QOS)
    _take(person)
    deadline, found = time.monotonic() + DRIVE_S, 0
    with tqdm(total=episodes, desc="driven", unit="episode", disable=None, leave=False) as bar:
        while found < episodes and time.monotonic() < deadline:
            for state in _all(states)[-1:]:
                spot = state.object_pose.position
                person.want(ready, [spot.x, spot.y, spot.z])
            driven_ones = [each for each in _all(ended) if each.operator_steps]
            found += len(driven_ones)
            bar.update(len(driven_ones))
            time.sleep(LOOK_S)
    person.give()
    if found < episodes:
        raise RuntimeError(f"{found} of {episodes} episodes were driven within {DRIVE_S} s")


def _take(person: Person) -> None:
    deadline = time.monotonic() + DRIVE_S
    while not person.take().success:
        if time.monotonic() > deadline:
            raise RuntimeError("the arm cannot be taken over")
        time.sleep(LOOK_S)


def _all(queue: Queue) -> list:
    found = []
    try:
        while True:
            found.append(queue.get_nowait())
    except Empty:
        return found


def _finish(*words: str | Path | Sequence[str]) -> None:
    subprocess.run([*CLI, *map(str, words)], check=True, stdout=subprocess.DEVNULL)
