"""What does a control step cost across four processes?

Cartesian reach in lockstep: this process plays the learner, with the learner's own clients; arm,
camera and curiosity are nodes. Held against the same episodes in one process, and against an
empty request and response over the same middleware.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger
from tqdm import tqdm

from bayes_curiosity_interfaces.msg import IntrinsicReward, Observation
from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.learning.algorithm import SampledAction
from bayes_curiosity_ros.learning.cell import TaskCell, run_episode
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.settings import LearnerConfig, make_trainer
from bayes_curiosity_ros.nodes.arm_client import ArmClient
from bayes_curiosity_ros.nodes.conversions.values import doubles
from bayes_curiosity_ros.nodes.curiosity_client import CuriosityClient
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, QuietTopics
from bayes_curiosity_ros.nodes.run import Ending
from bayes_curiosity_ros.nodes.waiter import Waiter
from benchmarks._report import report

STEPS = 5000
WARM_UP_STEPS = 500
EMPTY_CALLS = 2000
NODES = (
    "bayes_curiosity_ros.nodes.arm_node",
    "bayes_curiosity_ros.nodes.camera_node",
    "benchmarks._service_server",  # the curiosity node, with an empty service beside it
)
TARGET_MS = 6.0


class TimedArm(ArmClient):
    """Notes when each action was sent."""

    def step(self, action: np.ndarray) -> np.ndarray:
        self.sent[self._episode, self._step + 1] = time.perf_counter()
        return super().step(action)

    sent: dict[tuple[int, int], float]


class TimedCuriosity(CuriosityClient):
    """Notes when each reward came."""

    def _take(self, message: IntrinsicReward) -> None:
        self.came[message.episode, message.step] = time.perf_counter()
        super()._take(message)

    came: dict[tuple[int, int], float]


class StackLearner(QuietTopics, Node):
    """The learner's clients without the learning."""

    def __init__(self) -> None:
        super().__init__("learner")
        executor = SingleThreadedExecutor()
        executor.add_node(self)
        self.waiter = Waiter(executor, Ending())
        self.task = LearnerConfig().make_task()
        self.behaviour = SampledAction(make_trainer(LearnerConfig(), self.task).algorithm.policy)
        self._observations = self.create_publisher(Observation, "observation", EPISODE_QOS)
        self.arm = TimedArm(self, self.waiter, self.task, 5.0, 60.0, True)
        self.curiosity = TimedCuriosity(self, self.waiter, self._observations, 5.0)
        self.arm.sent, self.curiosity.came = {}, {}
        self.empty = self.create_client(Trigger, "empty")
        self.episode = 0
        self.arm.wait_until_there(60.0)
        self.curiosity.wait_until_there(60.0)

    def run(self, steps: int, bar: tqdm | None = None) -> int:
        """Whole episodes, rewards and update included, until there are so many steps."""
        done = 0
        while done < steps:
            self.episode += 1
            self.curiosity.begin(self.episode)
            episode = run_episode(
                self.task, self.arm, self.behaviour, 0, self.episode, self._publish
            )
            self.curiosity.finish(_seen(episode))
            done += episode.steps
            if bar is not None:
                bar.update(episode.steps)
        return done

    def latencies_ms(self) -> np.ndarray:
        """From action to intrinsic reward."""
        sent, came = self.arm.sent, self.curiosity.came
        return np.array([1e3 * (came[key] - sent[key]) for key in sent if key in came])

    def empty_calls_per_s(self) -> float:
        """The floor."""
        self.waiter.until(self.empty.service_is_ready, 10.0, "the empty service")
        start = time.perf_counter()
        for _ in range(EMPTY_CALLS):
            self.waiter.call(self.empty, Trigger.Request(), 10.0)
        return EMPTY_CALLS / (time.perf_counter() - start)

    def _publish(self, step: int, observation: np.ndarray) -> None:
        message = Observation(episode=self.episode, step=step, vector=doubles(observation))
        message.header.stamp = self.arm.stamp
        self._observations.publish(message)


def _seen(episode: Episodes) -> Observations:
    return Observations(episode.observations[0, : int(episode.lengths[0]) + 1])


def in_process_steps_per_s() -> float:
    """The same episodes, scored and taken in alike, without a graph."""
    task = LearnerConfig().make_task()
    behaviour = SampledAction(make_trainer(LearnerConfig(), task).algorithm.policy)
    curiosity = Curiosity(Encoder(EncoderConfig(9)))
    start, steps, episode = time.perf_counter(), 0, 0
    while steps < STEPS:
        episode += 1
        part = run_episode(
            task,
            TaskCell(task),
            behaviour,
            0,
            episode,
            lambda step, observation: curiosity.score(Observations(observation[None])),
        )
        curiosity.observe(_seen(part))
        steps += part.steps
    return steps / (time.perf_counter() - start)


@contextmanager
def nodes() -> Iterator[None]:
    """The other three processes, on a private domain."""
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ["ROS_DOMAIN_ID"] = str(1 + os.getpid() % 100)
    processes = [subprocess.Popen([sys.executable, "-m", name]) for name in NODES]
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait(timeout=10)


def main() -> None:
    """Print `stack/…`."""
    rate, latencies, lost, floor = measure()
    in_process = in_process_steps_per_s()
    report(
        "stack/steps_per_s/in_process",
        rate,
        in_process,
        unit="control steps/s",
        higher_is_better=True,
        note=f"{STEPS} steps of reach, resets and updates included; bar: ours ≥ 300",
    )
    report(
        "stack/steps_per_s/empty_round_trip",
        rate,
        floor,
        unit="steps/s against calls/s",
        higher_is_better=True,
        note="a step is an action, physics, a state, and an observation on its way",
    )
    report(
        "stack/action_to_reward_p50_ms",
        float(np.median(latencies)),
        TARGET_MS,
        unit="ms",
        higher_is_better=False,
        note=f"p95 {np.percentile(latencies, 95):.1f} ms, {lost} rewards lost; peer: the bar",
    )


def measure() -> tuple[float, np.ndarray, int, float]:
    """Steps/s, latencies in [ms], rewards lost, and empty calls/s, all in one sitting."""
    with nodes():
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        learner = StackLearner()
        learner.run(WARM_UP_STEPS)
        learner.arm.sent.clear()
        with tqdm(total=STEPS, desc="control steps", disable=None, leave=False) as bar:
            start = time.perf_counter()
            rate = learner.run(STEPS, bar) / (time.perf_counter() - start)
        latencies, lost = learner.latencies_ms(), learner.curiosity.lost
        floor = learner.empty_calls_per_s()
        rclpy.try_shutdown()
    return rate, latencies, lost, floor


if __name__ == "__main__":
    main()
