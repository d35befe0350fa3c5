"""The learner node: Algorithm 2 over the graph."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from std_srvs.srv import Trigger

from bayes_curiosity_interfaces.msg import LearnerStatus
from bayes_curiosity_ros.curiosity.bonus import BONUSES, Bonus
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.algorithm import LEARNERS
from bayes_curiosity_ros.learning.asynchronous import Asynchronous
from bayes_curiosity_ros.learning.cell import EpisodeAbortedError, EpisodeLostError
from bayes_curiosity_ros.learning.checkpoint import (
    has_checkpoint,
    load_checkpoint,
    model_name,
    save_checkpoint,
)
from bayes_curiosity_ros.learning.episode_log import LOG, EpisodeLog, EpisodeRow, progress_line
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.event_log import EventLog
from bayes_curiosity_ros.learning.gatherer import CellGatherer
from bayes_curiosity_ros.learning.perception import seen_with, vectors_for
from bayes_curiosity_ros.learning.settings import (
    LearnerConfig,
    make_bonus,
    make_trainer,
    make_watching,
)
from bayes_curiosity_ros.learning.trail import NAME as TRAIL
from bayes_curiosity_ros.learning.trail import Trail
from bayes_curiosity_ros.locks import FolderLock
from bayes_curiosity_ros.nodes.arm_client import ArmClient
from bayes_curiosity_ros.nodes.claims import NodeClaim
from bayes_curiosity_ros.nodes.curiosity_client import CuriosityClient
from bayes_curiosity_ros.nodes.episode_runner import EpisodeRunner, run_episodes_on
from bayes_curiosity_ros.nodes.no_curiosity import NoCuriosity
from bayes_curiosity_ros.nodes.parameters import declare
from bayes_curiosity_ros.nodes.priority import run_first
from bayes_curiosity_ros.nodes.recorder_client import (
    EPISODE_TOPICS,
    RecorderClient,
    UnrecordedError,
)
from bayes_curiosity_ros.nodes.run import Ending
from bayes_curiosity_ros.runs import keep_run, run_in, strangers_heard

if TYPE_CHECKING:
    from bayes_curiosity_ros.learning.map.log import MapLog

PROGRESS_S = 0.2


class LearnerNode(EpisodeRunner):
    """Gathers episodes over the graph, learns from them, says how it goes.

    Of the episodes that its gatherer runs it is the audience: what it hears, it publishes.
    """

    def __init__(self, ending: Ending) -> None:
        super().__init__("learner", ending)
        self.config = config = declare(self, LearnerConfig())
        task = config.make_task()
        self.task = config.perceive(task)
        self._watching = make_watching(config, self.task)
        self.run = run_in(Path(config.folder), config.restarted)
        self._warned = False
        self.iteration = 0
        self._paused = self._under_way = False
        self._seen: list[Observations] = []
        self._log: EpisodeLog | None = None
        self._trail: Trail | None = None
        self._events = EventLog(Path(config.folder), "")  # none before training begins
        self._map: MapLog | None = None
        self._began_s = time.monotonic()
        self._first_timestep = 0
        self._shown_s = 0.0
        for name, call in (("pause", self._pause), ("resume", self._resume)):
            self.create_service(Trigger, f"learner/{name}", call)
        self.create_service(Trigger, "learner/save", self._saved)
        for name, success in (("success", True), ("failure", False)):
            self.create_service(Trigger, f"learner/mark_{name}", partial(self._mark, success))
        self.arm = ArmClient(
            self,
            self.waiter,
            task,
            config.step_timeout_s,
            config.reset_timeout_s,
            config.operator_confirmed,
            self.run,
            partial(vectors_for, self.task),
        )
        self._recorder = RecorderClient(self, self.waiter) if config.recorded else None
        self._curiosity, bonus = self._make_bonus()
        self.gatherer = CellGatherer(
            self.task, self.arm, self, config.seed, config.gathered_steps, config.max_aborts
        )
        settings = declare(self, LEARNERS[config.learner].config(), f"{config.learner}.")
        self.trainer = make_trainer(config, settings, self.task, bonus, self.gatherer)

    def _make_bonus(self) -> tuple[CuriosityClient | NoCuriosity, Bonus]:
        """The curiosity's node, where the bonus is one, and the bonus that learning sees."""
        if not BONUSES[self.config.bonus].node:
            return NoCuriosity(self.observations), make_bonus(self.config, self.task)
        client = CuriosityClient(
            self,
            self.waiter,
            self.observations,
            self.config.step_timeout_s,
            self.run,
            self.config.recover_timeout_s,
            self.tell,
            self._wait_for_recorder,
        )
        return client, client.paid

    @property
    def claims(self) -> tuple[NodeClaim | None, ...]:
        return self.arm.claim, self._curiosity.claim

    def work(self) -> None:
        """From the first episode, or the checkpoint, to the last timestep."""
        if isinstance(self.trainer.algorithm, Asynchronous):
            learning = [self.trainer.algorithm.thread_id]
            run_first(self, self.config.real_time_priority, learning)
        folder = Path(self.config.folder)
        with FolderLock(folder):
            keep_run(folder, self.run)
            self._train()

    def _train(self) -> None:
        self.arm.wait_until_there(self.config.start_timeout_s)
        self._curiosity.wait_until_there(self.config.start_timeout_s)
        if self._recorder is not None:
            topics = (*EPISODE_TOPICS, *self._curiosity.topics)
            self._recorder.wait_until_there(topics, self.config.start_timeout_s)
        self._begin()
        self.publish_status(LearnerStatus.RUNNING)
        while self.trainer.timesteps < self.config.timesteps:
            self.trainer.iterate()
            self.iteration += 1
            self._save()
            self._draw_map()
            self.publish_status(LearnerStatus.RUNNING)
        self.publish_status(LearnerStatus.FINISHED)
        self.log.close()
        self._events.close()
        self._finish_recording()

    @property
    def log(self) -> EpisodeLog:
        """What came of every episode; there since training began."""
        assert self._log is not None
        return self._log

    def _wait_for_recorder(self) -> None:
        """In mid-run, after a node may have been started again."""
        if self._recorder is not None:
            self._recorder.wait_if_there(self.config.recover_timeout_s, self.tell)

    def _finish_recording(self) -> None:
        """Our messages can be asked for again as long as we are there: wait for who records."""
        if self._recorder is None:
            return
        episode, timeout_s = self.gatherer.episode, self.config.recorder_timeout_s
        missing = self._recorder.finish(episode, timeout_s)
        if missing:
            print(f"\nlearner: not recorded whole: {missing}", file=sys.stderr, flush=True)
            self.publish_status(LearnerStatus.FINISHED, f"not recorded whole: {missing}")
            self.deliver_status()

    def publish_status(self, state: int, reason: str = "") -> None:
        """Where training stands; while it runs, also that nobody records it."""
        if state == LearnerStatus.RUNNING and self._recorder is not None and not reason:
            problem = self._recorder.problem()
            reason = f"not recorded: {problem}" if problem else ""
        super().publish_status(state, reason or self._strangers())

    def describe(self) -> LearnerStatus:
        status = LearnerStatus(
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
        return status

    def _begin(self) -> None:
        """At the prior, or exactly where the checkpoint left off."""
        config, rows = self.config, 0
        self._curiosity.reset()
        if config.resume or (config.restarted and has_checkpoint(config.checkpoint)):
            with suppress(UnrecordedError):  # not even the first iteration: begin again
                extra = load_checkpoint(config.checkpoint, self.trainer, self._take_up)
                self.iteration, rows = int(extra["iteration"]), int(extra["rows"])
        folder, until = Path(config.folder), self.gatherer.episode
        self._log = EpisodeLog(folder / LOG, until, rows)
        self._trail = Trail(folder / TRAIL, until, rows) if config.keep_observations else None
        self._began_s, self._first_timestep = time.monotonic(), self.trainer.timesteps
        self._events = EventLog(folder, config.log, self.trainer.timesteps)
        if config.log:
            # Here, as it takes a second to import.
            from bayes_curiosity_ros.learning.map.log import map_log_of

            self._map = map_log_of(self.trainer, self._events, self._curiosity.price)
        if not self.iteration:
            self._draw_map()

    def _draw_map(self) -> None:
        """Where in space the robot is curious, for who asked for event files."""
        if self._map is not None:
            self._map.look(self.iteration, self.trainer.timesteps)

    def _take_up(self, extra: Mapping[str, Any]) -> None:
        """Have the curiosity's model that a checkpoint goes with."""
        if extra["encoder"] != seen_with(self.task):
            raise ConfigError(
                f"{self.config.checkpoint} was made with encoder {extra['encoder']!r}, "
                f"this run has {seen_with(self.task)!r}"
            )
        if self.config.restarted and self._recorder:
            self._recorder.require(int(extra.get("episode", 0)))
        self._curiosity.load(model_name(int(extra["iteration"])), extra["model"])

    def begin(self, episode: int) -> None:
        """An episode is about to begin, unless training was paused."""
        if self._paused:
            self.publish_status(LearnerStatus.PAUSED, "learner/pause was called")
            self.waiter.until(lambda: not self._paused, float("inf"), "learner/resume")
            self.publish_status(LearnerStatus.RUNNING)
        self._curiosity.begin(episode)
        self._seen.clear()
        if self._watching is not None:
            self._watching.begin()

    def see(self, step: int, observation: np.ndarray) -> None:
        """Publish it: novelty and bags are about the world, not about what the policy sees."""
        self._under_way = True
        if self._watching is not None and step and self._watching.sees_success(self.arm.raw):
            self.arm.marked = True
        self._seen.append(self.arm.raw)
        self._curiosity.publish(self.observed(self.gatherer.episode, step))

    def end(self, episode: Episodes, timesteps: int) -> None:
        """Ask what the episode earned, take it in, and tell."""
        self._under_way = False
        seen, driven = Observations.concatenate(self._seen), self.arm.operator_steps
        rewards, curiosity = self._curiosity.finish(seen, learnt_from=not driven)
        number, information = self.gatherer.episode, self._curiosity.information
        row = EpisodeRow.of(episode, number, timesteps, rewards, curiosity, information, driven)
        if self._trail is not None:
            self._trail.add(number, seen.vectors)
        self.log.add(row)
        self._events.add(row, self._steps_per_second(timesteps))
        self.publish_summary(number, row)
        self._warn_of_strangers()
        self._show_progress(row)

    def abort(self, error: EpisodeAbortedError) -> None:
        """The episode was cut short: say so, and wait until the arm may move again."""
        self._under_way = False
        self.get_logger().warning(f"episode {self.gatherer.episode} aborted: {error}")
        self._curiosity.settle()
        self.publish_summary(self.gatherer.episode)
        self.publish_status(LearnerStatus.RUNNING, f"waiting for the arm: {error}")
        if isinstance(error, EpisodeLostError):
            self.arm.wait_until_back(self.config.recover_timeout_s)
        self.arm.wait_until_released(self.config.reset_timeout_s)
        self._wait_for_recorder()

    def _strangers(self) -> str:
        return strangers_heard(self.arm.strangers + self._curiosity.strangers, self.run)

    def _warn_of_strangers(self) -> None:
        if not self._warned and (heard := self._strangers()):
            self._warned = True
            self.get_logger().warning(heard)
            self.publish_status(LearnerStatus.RUNNING)

    def _save(self) -> None:
        """The curiosity's model first: a checkpoint never names one that is not there."""
        model = self._curiosity.save(model_name(self.iteration))
        for file in (self.log, self._trail):
            if file is not None:
                file.sync()
        extra = {"encoder": seen_with(self.task), "iteration": self.iteration, "model": model}
        extra |= {"rows": self.log.count, "episode": self.gatherer.episode}
        save_checkpoint(self.config.checkpoint, self.trainer, extra)

    def _pause(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._paused = True
        response.success, response.message = True, "pausing after this episode"
        return response

    def _resume(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._paused, response.success = False, True
        return response

    def _mark(
        self, success: bool, request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        """A person says how the episode under way has ended."""
        response.success = self._under_way
        response.message = "no episode is under way"
        if self._under_way:
            self.arm.marked = success
            outcome = "a success" if success else "a failure"
            response.message = f"episode {self.gatherer.episode} ends as {outcome}"
        return response

    def _saved(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Every iteration is saved by itself; this says where, and up to when."""
        response.success = self.iteration > 0
        response.message = "nothing to save before the first iteration is over"
        if response.success:
            checkpoint = self.config.checkpoint.resolve()
            response.message = f"{checkpoint} holds iteration {self.iteration}"
        return response

    def _steps_per_second(self, timesteps: int) -> float:
        elapsed_s = max(time.monotonic() - self._began_s, 1e-9)
        return (timesteps - self._first_timestep) / elapsed_s

    def _show_progress(self, row: EpisodeRow) -> None:
        now, live = time.monotonic(), sys.stdout.isatty()
        if now - self._shown_s < (PROGRESS_S if live else 50 * PROGRESS_S):
            return
        self._shown_s, speed = now, self._steps_per_second(row.timesteps)
        line = progress_line(list(self.log.recent), self.config.timesteps, speed)
        print(f"\r\x1b[K{line}" if live else line, end="" if live else "\n", flush=True)


def main(arguments: Any = None) -> int:
    """Train; whatever goes wrong, the arm is told to stop first."""
    return run_episodes_on(LearnerNode, "learner", arguments)


def run() -> None:
    """Entry point of `ros2 run bayes_curiosity_ros learner`."""
    sys.exit(main())


if __name__ == "__main__":
    run()
