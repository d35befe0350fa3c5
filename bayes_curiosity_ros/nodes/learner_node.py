"""The learner node: Algorithm 2 over the graph."""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
import torch
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String
from std_srvs.srv import Trigger

from bayes_curiosity_interfaces.msg import EpisodeSummary, LearnerStatus, Observation
from bayes_curiosity_ros.curiosity.bonus import BONUSES, Bonus
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.environment import stay_on_this_machine
from bayes_curiosity_ros.errors import BayesCuriosityError, ConfigError
from bayes_curiosity_ros.learning.algorithm import LEARNERS
from bayes_curiosity_ros.learning.cell import EpisodeAbortedError
from bayes_curiosity_ros.learning.checkpoint import load_checkpoint, save_checkpoint
from bayes_curiosity_ros.learning.episode_log import LOG, EpisodeLog, EpisodeRow, progress_line
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.gatherer import CellGatherer
from bayes_curiosity_ros.learning.perception import seen_with, vectors_for
from bayes_curiosity_ros.learning.settings import LearnerConfig, make_bonus, make_trainer
from bayes_curiosity_ros.learning.trail import NAME as TRAIL
from bayes_curiosity_ros.learning.trail import Trail
from bayes_curiosity_ros.nodes.arm_client import ArmClient
from bayes_curiosity_ros.nodes.conversions.images import images_of_frame
from bayes_curiosity_ros.nodes.conversions.observations import message_of_vector
from bayes_curiosity_ros.nodes.curiosity_client import CuriosityClient, NoCuriosity
from bayes_curiosity_ros.nodes.executor import one_thread
from bayes_curiosity_ros.nodes.parameters import declare
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS, QuietTopics
from bayes_curiosity_ros.nodes.run import Ending
from bayes_curiosity_ros.nodes.taps import HEARD
from bayes_curiosity_ros.nodes.waiter import EndedError, Waiter
from bayes_curiosity_ros.nodes.wire import WirePublisher

OUTCOMES = {
    "success": EpisodeSummary.SUCCESS,
    "failure": EpisodeSummary.FAILURE,
    "time_limit": EpisodeSummary.TIME_LIMIT,
}
PROGRESS_S = 0.2
STOP_DELIVERY_S = 0.2


class LearnerNode(QuietTopics, Node):
    """Gathers episodes over the graph, learns from them, says how it goes.

    It runs in one thread: callbacks are served while it waits for the arm. Of the episodes that
    its gatherer runs it is the audience: what it hears, it publishes.
    """

    def __init__(self, ending: Ending) -> None:
        super().__init__("learner")
        self.config = config = declare(self, LearnerConfig())
        executor = one_thread()
        executor.add_node(self)
        self._waiter = Waiter(executor, ending)
        task = config.make_task()
        self.task = config.perceive(task)
        self._vector_size = task.observation_size
        self.iteration = 0
        self._paused = False
        self._seen: list[Observations] = []
        self._log: EpisodeLog | None = None
        self._trail: Trail | None = None
        self._began_s = time.monotonic()
        self._first_timestep = 0
        self._shown_s = 0.0
        self._create_interfaces()
        self._arm = ArmClient(
            self,
            self._waiter,
            task,
            config.step_timeout_s,
            config.reset_timeout_s,
            config.operator_confirmed,
            partial(vectors_for, self.task),
        )
        self._curiosity, bonus = self._make_bonus()
        self.gatherer = CellGatherer(
            self.task, self._arm, self, config.seed, config.iteration_steps, config.max_aborts
        )
        settings = declare(self, LEARNERS[config.learner].config(), f"{config.learner}.")
        self.trainer = make_trainer(config, settings, self.task, bonus, self.gatherer)

    def _make_bonus(self) -> tuple[CuriosityClient | NoCuriosity, Bonus]:
        """The curiosity's node, where the bonus is one, and the bonus that learning sees."""
        if not BONUSES[self.config.bonus].node:
            return NoCuriosity(self._observations), make_bonus(self.config, self.task)
        client = CuriosityClient(
            self, self._waiter, self._observations, self.config.step_timeout_s
        )
        return client, client.paid

    def _create_interfaces(self) -> None:
        self._observations = self.create_publisher(
            Observation, "observation", EPISODE_QOS, publisher_class=WirePublisher
        )
        self._episodes = self.create_publisher(EpisodeSummary, "episode", EPISODE_QOS)
        self._status = self.create_publisher(LearnerStatus, "learner/status", LATCHED_QOS)
        self._stops = self.create_publisher(String, "arm/stop", 10)
        for name, call in (("pause", self._pause), ("resume", self._resume)):
            self.create_service(Trigger, f"learner/{name}", call)
        self.create_service(Trigger, "learner/save", self._where_saved)

    def train(self) -> None:
        """From the first episode, or the checkpoint, to the last timestep."""
        self._arm.wait_until_there(self.config.start_timeout_s)
        self._curiosity.wait_until_there(self.config.start_timeout_s)
        if self.config.recorded:
            self._wait_for_recorder()
        self._begin()
        self.publish_status(LearnerStatus.RUNNING)
        while self.trainer.timesteps < self.config.timesteps:
            self.trainer.iterate()
            self.iteration += 1
            self._save()
            self.publish_status(LearnerStatus.RUNNING)
        self.publish_status(LearnerStatus.FINISHED)
        self.log.close()

    @property
    def log(self) -> EpisodeLog:
        """What came of every episode; there since training began."""
        assert self._log is not None
        return self._log

    def _wait_for_recorder(self) -> None:
        """Until it says that it hears every node of a step: meeting takes seconds at times."""
        names = ("observation", "action", "episode", "arm/state", *self._curiosity.topics)
        wanted = {self.resolve_topic_name(name) for name in names}
        heard: set[str] = set()

        def take(status: DiagnosticStatus) -> None:
            heard.update(*(pair.value.split() for pair in status.values if pair.key == HEARD))

        listener = self.create_subscription(DiagnosticStatus, "recorder/status", take, LATCHED_QOS)
        self._waiter.until(
            lambda: wanted <= heard,
            self.config.start_timeout_s,
            f"a recorder of {', '.join(sorted(wanted))} (is it running?)",
        )
        self.destroy_subscription(listener)

    def stop_arm(self, reason: str) -> None:
        """Best effort: the arm's own watchdog is the safety net."""
        self._stops.publish(String(data=f"learner: {reason}"))
        time.sleep(STOP_DELIVERY_S)

    def publish_status(self, state: int, reason: str = "") -> None:
        """Where training stands."""
        status = LearnerStatus(
            state=state,
            reason=reason,
            algorithm=self.config.learner,
            bonus=self.config.bonus,
            task=self.task.name,
            iterations=self.iteration,
            episodes=self.gatherer.episode,
            timesteps=self.trainer.timesteps,
        )
        if self._log is not None:
            status.successes_per_timestep = self._log.successes_per_timestep
            status.mean_return = self._log.mean_return
            status.steps_per_second = self._steps_per_second(self.trainer.timesteps)
        status.header.stamp = self.get_clock().now().to_msg()
        self._status.publish(status)

    def _begin(self) -> None:
        """At the prior, or exactly where the checkpoint left off."""
        config = self.config
        if config.resume:
            extra = load_checkpoint(config.checkpoint, self.trainer)
            if extra["encoder"] != seen_with(self.task):
                raise ConfigError(
                    f"{config.checkpoint} was made with encoder {extra['encoder']!r}, "
                    f"this run has {seen_with(self.task)!r}"
                )
            self.iteration = int(extra["iteration"])
            self._curiosity.load(self._model_path(self.iteration))
        else:
            self._curiosity.reset()
        folder = Path(config.folder)
        self._log = EpisodeLog(folder / LOG, until=self.gatherer.episode)
        if config.keep_observations:
            self._trail = Trail(folder / TRAIL, self._log.kept, self._vector_size)
        self._began_s, self._first_timestep = time.monotonic(), self.trainer.timesteps

    def begin(self, episode: int) -> None:
        """An episode is about to begin, unless training was paused."""
        if self._paused:
            self.publish_status(LearnerStatus.PAUSED, "learner/pause was called")
            self._waiter.until(lambda: not self._paused, float("inf"), "learner/resume")
            self.publish_status(LearnerStatus.RUNNING)
        self._curiosity.begin(episode)
        self._seen.clear()

    def see(self, step: int, observation: np.ndarray) -> None:
        """Publish it raw, not as the policy perceives it: novelty and bags are about the world."""
        raw = self._arm.raw
        self._seen.append(raw)
        episode = self.gatherer.episode
        message = message_of_vector(episode, step, self._arm.stamp, raw.vectors[0])
        if self._arm.frame is not None:
            message.color, message.depth = images_of_frame(self._arm.frame)
        self._curiosity.publish(message)

    def end(self, episode: Episodes, timesteps: int) -> None:
        """Ask what the episode earned, take it in, and tell."""
        seen = Observations.concatenate(self._seen)
        rewards, curiosity = self._curiosity.finish(seen)
        number, information = self.gatherer.episode, self._curiosity.information
        row = EpisodeRow.of(episode, number, timesteps, rewards, curiosity, information)
        if self._trail is not None:
            self._trail.add(seen.vectors)
        self.log.add(row)
        self._publish_summary(OUTCOMES[row.outcome], row)
        self._show_progress(row)

    def abort(self, error: EpisodeAbortedError) -> None:
        """The episode was cut short: say so, and wait until the arm may move again."""
        self.get_logger().warning(f"episode {self.gatherer.episode} aborted: {error}")
        self._curiosity.settle()
        self._publish_summary(EpisodeSummary.ABORTED)
        self.publish_status(LearnerStatus.RUNNING, f"waiting for the arm: {error}")
        self._arm.wait_until_released(self.config.reset_timeout_s)

    def _publish_summary(self, outcome: int, row: EpisodeRow | None = None) -> None:
        message = EpisodeSummary(episode=self.gatherer.episode, outcome=outcome)
        message.header.stamp = self._arm.stamp
        if row is not None:
            message.steps = row.steps
            message.extrinsic_return = row.extrinsic_return
            message.intrinsic_return = row.intrinsic_return
            message.mean_curiosity = row.mean_curiosity
        self._episodes.publish(message)

    def _save(self) -> None:
        """The curiosity's model first: a checkpoint never names one that is not there."""
        self._curiosity.save(self._model_path(self.iteration))
        extra = {"encoder": seen_with(self.task), "iteration": self.iteration}
        save_checkpoint(self.config.checkpoint, self.trainer, extra)
        self._model_path(self.iteration - 1).unlink(missing_ok=True)

    def _model_path(self, iteration: int) -> Path:
        return (Path(self.config.folder) / f"curiosity_{iteration}.safetensors").resolve()

    def _pause(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._paused = True
        response.success, response.message = True, "pausing after this episode"
        return response

    def _resume(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._paused = False
        response.success = True
        return response

    def _where_saved(
        self, request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        """Every iteration is saved by itself; this says where, and up to when."""
        response.success = self.iteration > 0
        response.message = (
            f"{self.config.checkpoint.resolve()} holds iteration {self.iteration}"
            if self.iteration
            else "nothing to save before the first iteration is over"
        )
        return response

    def _steps_per_second(self, timesteps: int) -> float:
        elapsed_s = max(time.monotonic() - self._began_s, 1e-9)
        return (timesteps - self._first_timestep) / elapsed_s

    def _show_progress(self, row: EpisodeRow) -> None:
        now = time.monotonic()
        live = sys.stdout.isatty()
        if now - self._shown_s < (PROGRESS_S if live else 50 * PROGRESS_S):
            return
        self._shown_s = now
        speed = self._steps_per_second(row.timesteps)
        line = progress_line(list(self.log.recent), self.config.timesteps, speed)
        print(f"\r\x1b[K{line}" if live else line, end="" if live else "\n", flush=True)


def main(arguments: Any = None) -> int:
    """Train; whatever goes wrong, the arm is told to stop first."""
    stay_on_this_machine()
    torch.set_num_threads(1)  # the networks are small, and other nodes need the cores
    rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    ending, node, code, reason = Ending(), None, 1, "an exception"
    try:
        node = LearnerNode(ending)
        node.train()
        code, reason = 0, ""
    except EndedError as error:
        code, reason = 0, str(error)
    except BayesCuriosityError as error:
        code, reason = 2, str(error)
        print(f"learner: {error}", file=sys.stderr)
    finally:
        if node is not None and reason:
            node.stop_arm(reason)
            node.publish_status(LearnerStatus.FAILED, reason)
        rclpy.try_shutdown()
    return code


def run() -> None:
    """Entry point of `ros2 run bayes_curiosity_ros learner`."""
    sys.exit(main())


if __name__ == "__main__":
    run()
