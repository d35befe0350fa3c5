"""What does a control step cost across four processes?

A task of the arm in lockstep, in the kinematic cell as in `make run`: this process plays the
learner, with the learner's own clients; arm, camera and curiosity are nodes with their defaults.
Held against the same episodes in one process, and against empty round trips, a std_srvs/Trigger
from one process to another and back:
`empty_round_trip` is between two plain nodes with rclpy's own executor, the same yardstick
whatever our nodes do; `own_round_trip` is from this learner to the curiosity node's process, with
the executors that the stack has. Steps and calls are measured in turn; whoever is not measured
idles.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger
from tqdm import tqdm

from bayes_curiosity_interfaces.msg import IntrinsicReward, Observation
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import EncoderConfig
from bayes_curiosity_ros.curiosity.keeper import CuriosityKeeper, KeeperConfig
from bayes_curiosity_ros.learning.algorithm import SampledAction
from bayes_curiosity_ros.learning.cell import TaskCell, run_episode
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.policy import GaussianPolicy, PolicyConfig
from bayes_curiosity_ros.learning.settings import LearnerConfig
from bayes_curiosity_ros.nodes.arm_client import ArmClient
from bayes_curiosity_ros.nodes.conversions.observations import message_of_vector
from bayes_curiosity_ros.nodes.curiosity_client import CuriosityClient
from bayes_curiosity_ros.nodes.door import CheckedNode
from bayes_curiosity_ros.nodes.executor import one_thread
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, QuietTopics
from bayes_curiosity_ros.nodes.run import Ending
from bayes_curiosity_ros.nodes.waiter import Waiter
from bayes_curiosity_ros.nodes.wire import WirePublisher
from bayes_curiosity_ros.runs import new_run
from bayes_curiosity_ros.tasks.task import Task
from benchmarks._domain import private_domain
from benchmarks._empty_server import SERVICE
from benchmarks._report import report

ROUNDS = 10
WARM_UP_STEPS = 500
# Empty calls for every control step of a round.
CALLS = 0.4
TARGET_MS = 6.0


class TimedArm(ArmClient):
    """Notes when each action was sent."""

    def send(self, action: np.ndarray) -> None:
        self.sent[self._episode, self._step + 1] = time.perf_counter()
        super().send(action)

    sent: dict[tuple[int, int], float]


class TimedCuriosity(CuriosityClient):
    """Notes when each reward came."""

    def _take(self, message: IntrinsicReward) -> None:
        self.came[message.episode, message.step] = time.perf_counter()
        super()._take(message)

    came: dict[tuple[int, int], float]


class EmptyCalls:
    """Calls a service that does nothing.

    Args:
        node: node that calls.
        waiter: serves the node's callbacks.
        service: name of the service.
    """

    def __init__(self, node: Node, waiter: Waiter, service: str) -> None:
        self._waiter = waiter
        self._client = node.create_client(Trigger, service)
        waiter.until(self._client.service_is_ready, 60.0, f"service {service}")

    @staticmethod
    def plain(ending: Ending) -> EmptyCalls:
        """Between two plain nodes, with rclpy's own executor."""
        node, executor = rclpy.create_node("caller"), SingleThreadedExecutor()
        executor.add_node(node)
        return EmptyCalls(node, Waiter(executor, ending), SERVICE)

    def per_s(self, calls: int) -> float:
        """Calls/s, one after the other."""
        start = time.perf_counter()
        for _ in range(calls):
            self._waiter.call(self._client, Trigger.Request(), 10.0)
        return calls / (time.perf_counter() - start)


class StackLearner(QuietTopics, CheckedNode):
    """The learner's clients without the learning."""

    def __init__(self, config: LearnerConfig, ending: Ending) -> None:
        super().__init__("learner")
        executor = one_thread()
        executor.add_node(self)
        self.waiter = Waiter(executor, ending)
        self.task = config.make_task()
        self.behaviour = fresh_behaviour(self.task)
        self._observations = self.create_publisher(
            Observation, "observation", EPISODE_QOS, publisher_class=WirePublisher
        )
        self._run = run = new_run()
        self.arm = TimedArm(self, self.waiter, self.task, 5.0, 60.0, True, run)
        self.curiosity = TimedCuriosity(
            self, self.waiter, self._observations, 5.0, run, 60.0, self.get_logger().warning
        )
        self.arm.sent, self.curiosity.came = {}, {}
        self.own = EmptyCalls(self, self.waiter, "empty")
        self.episode = 0
        self.arm.wait_until_there(60.0)
        self.curiosity.wait_until_there(60.0)

    def steps_per_s(self, steps: int) -> float:
        """Whole episodes, rewards and update included, until there are so many steps."""
        start, done = time.perf_counter(), 0
        while done < steps:
            self.episode += 1
            self.curiosity.begin(self.episode)
            episode = run_episode(
                self.task, self.arm, self.behaviour, 0, self.episode, self._publish
            )
            self.curiosity.finish(_seen(episode))
            done += episode.steps
        return done / (time.perf_counter() - start)

    def latencies_ms(self) -> np.ndarray:
        """From action to intrinsic reward."""
        sent, came = self.arm.sent, self.curiosity.came
        return np.array([1e3 * (came[key] - sent[key]) for key in sent if key in came])

    def _publish(self, step: int, observation: np.ndarray) -> None:
        message = message_of_vector(self.episode, step, self.arm.stamp, observation)
        message.run = self._run
        self.curiosity.publish(message)


def fresh_behaviour(task: Task) -> SampledAction:
    """A random policy of the default shape."""
    return SampledAction(GaussianPolicy.for_task(task, PolicyConfig(), np.random.default_rng(0)))


def _seen(episode: Episodes) -> Observations:
    return Observations(episode.observations[0, : int(episode.lengths[0]) + 1])


def _score(keeper: CuriosityKeeper, episode: int, step: int, observation: np.ndarray) -> None:
    keeper.observe(episode, step, Observations(observation[None]))


def in_process_steps_per_s(config: LearnerConfig, at_least: int) -> float:
    """The same episodes, scored and taken in alike, without a graph."""
    task = config.make_task()
    behaviour = fresh_behaviour(task)
    keeper = CuriosityKeeper(KeeperConfig(encoder=EncoderConfig(task.observation_size)))
    start, steps, episode = time.perf_counter(), 0, 0
    while steps < at_least:
        episode += 1
        part = run_episode(
            task,
            TaskCell(task),
            behaviour,
            0,
            episode,
            partial(_score, keeper, episode),
        )
        keeper.update(episode, _seen(part))
        steps += part.steps
    return steps / (time.perf_counter() - start)


@contextmanager
def nodes(config: LearnerConfig) -> Iterator[None]:
    """The other three processes, on a private domain; beside the curiosity an empty service."""
    private_domain()
    task = ("--ros-args", "-p", f"task:={config.task}")
    commands = (
        ("bayes_curiosity_ros.nodes.arm_node", *task, "-p", f"dynamics:={config.dynamics}"),
        ("bayes_curiosity_ros.nodes.camera_node", *task),
        ("benchmarks._service_server",),
        ("benchmarks._empty_server",),
    )
    processes = [subprocess.Popen([sys.executable, "-m", *command]) for command in commands]
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait(timeout=10)


@dataclass(frozen=True)
class Measured:
    """What a run over the graph came to.

    Attributes:
        rates: (R,) control steps/s of every round.
        floors: (R,) empty calls/s of every round, between plain nodes.
        own: (R,) the same between nodes of the stack.
        latencies_ms: time from an action to its intrinsic reward.
        lost: rewards that did not come by topic.
    """

    rates: np.ndarray
    floors: np.ndarray
    own: np.ndarray
    latencies_ms: np.ndarray
    lost: int


def measure(config: LearnerConfig, steps: int) -> Measured:
    """Steps and empty calls in turn: a neighbour who comes and goes slows both."""
    with nodes(config):
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        ending = Ending()
        learner, plain = StackLearner(config, ending), EmptyCalls.plain(ending)
        learner.steps_per_s(WARM_UP_STEPS)
        learner.arm.sent.clear()
        each = max(1, steps // ROUNDS)
        calls = max(1, int(each * CALLS))
        rounds = [
            (learner.steps_per_s(each), plain.per_s(calls), learner.own.per_s(calls))
            for _ in tqdm(range(ROUNDS), desc="rounds", disable=None, leave=False)
        ]
        latencies, lost = learner.latencies_ms(), learner.curiosity.lost
        rclpy.try_shutdown()
    return Measured(*np.array(rounds).T, latencies, lost)


def report_against_calls(name: str, rates: np.ndarray, floors: np.ndarray, note: str) -> None:
    """The median over rounds of steps/s to calls/s, as each round was measured at one time."""
    ratios, floor = rates / floors, float(np.median(floors))
    report(
        f"stack/steps_per_s/{name}",
        float(np.median(ratios)) * floor,
        floor,
        unit="steps/s against calls/s",
        higher_is_better=True,
        note=f"rounds from {ratios.min():.2f} to {ratios.max():.2f}; {note}",
    )


def main() -> None:
    """Print `stack/…`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="parked_reach", help="(default: %(default)s)")
    parser.add_argument("--dynamics", default="kinematic", help="(default: %(default)s)")
    parser.add_argument("--steps", type=int, default=5000, help="control steps over the graph")
    options = parser.parse_args()
    config = LearnerConfig(task=options.task, dynamics=options.dynamics)
    found = measure(config, options.steps)
    rate = float(np.median(found.rates))
    report(
        "stack/steps_per_s/in_process",
        rate,
        in_process_steps_per_s(config, options.steps),
        unit="control steps/s",
        higher_is_better=True,
        note=f"{options.steps} steps of {options.task} ({options.dynamics}), resets and updates "
        "included",
    )
    report_against_calls(
        "empty_round_trip", found.rates, found.floors, "plain nodes, rclpy's executor; bar 0.45"
    )
    report_against_calls(
        "own_round_trip", found.rates, found.own, "the stack's nodes and executors"
    )
    report(
        "stack/action_to_reward_p50_ms",
        float(np.median(found.latencies_ms)),
        TARGET_MS,
        unit="ms",
        higher_is_better=False,
        note=f"p95 {np.percentile(found.latencies_ms, 95):.1f} ms, {found.lost} rewards lost; "
        "peer: the bar",
    )


if __name__ == "__main__":
    main()
