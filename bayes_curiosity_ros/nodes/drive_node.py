"""The drive node: episodes of a task for a person who drives the arm, in the learner's place.

It resets the arm and sends actions that ask for nothing; what is done is what the person wants,
who has taken the arm over (operator/take, operator/target or joy). Time passes while they want
the hand elsewhere. The recorder beside it gets demonstrations.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import Joy
from std_srvs.srv import Trigger

from bayes_curiosity_interfaces.msg import ArmStatus, LearnerStatus
from bayes_curiosity_ros.configuration.settings import require_nonnegative, require_positive
from bayes_curiosity_ros.learning.cell import EpisodeAbortedError, EpisodeLostError
from bayes_curiosity_ros.learning.episode_log import EpisodeRow
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.gatherer import CellGatherer
from bayes_curiosity_ros.nodes.arm_client import ArmClient
from bayes_curiosity_ros.nodes.arm_watchers import GLANCE
from bayes_curiosity_ros.nodes.conversions.wishes import pose_of_message, stick_of_message
from bayes_curiosity_ros.nodes.episode_runner import EpisodeRunner, run_episodes_on
from bayes_curiosity_ros.nodes.parameters import declare
from bayes_curiosity_ros.nodes.qos import SENSOR_QOS
from bayes_curiosity_ros.nodes.recorder_client import EPISODE_TOPICS, RecorderClient
from bayes_curiosity_ros.nodes.run import Ending
from bayes_curiosity_ros.nodes.waiter import WaitTimeoutError
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.operator import Operator, OperatorConfig
from bayes_curiosity_ros.runs import new_run
from bayes_curiosity_ros.tasks.arm.names import named_arm_task

FOREVER_S = float("inf")
WAITS = "waiting for a person who drives: operator/take, then operator/target or joy"
PAGE = "monitor"  # name of the node that shows it


class DiscardedError(EpisodeAbortedError):
    """The person does not want this episode."""


@dataclass(frozen=True)
class DriveConfig:
    """Parameters of the drive node.

    Attributes:
        task: what is demonstrated, a task of the arm.
        robot: file in config/robots/, or a path.
        dynamics: how the simulated arm moves; see `ArmNodeConfig`.
        seed: decides where the object is put in simulation.
        episodes: number of episodes.
        pauses: whether time stands still within an episode while the person wants nothing: who
            thinks teaches nothing. A real arm's watchdog would take that for a broken learner.
        still_rad: what counts as nothing: no joint has further to go in a step, in [rad].
        recorded: wait until a recorder hears us, and at the end until it has all.
        watched: wait until a page shows what the arm does: from the beginning, the person sees
            where the object is.
        operator_confirmed: answer the arm's question for its operator beforehand.
        start_timeout_s: longest wait for the other nodes.
        step_timeout_s: longest wait for a control step.
        reset_timeout_s: longest wait for an episode's start, and for the arm's release.
        recover_timeout_s: longest wait for an arm node that did not answer in time.
        recorder_timeout_s: longest wait at the end for the recorder.
        max_aborts: times in a row that an episode may be cut short or discarded.
        operator: how a person drives; as the arm node has it.
    """

    task: str = "reach"
    robot: str = "jaco.yaml"
    dynamics: str = ""
    seed: int = 0
    episodes: int = 5
    pauses: bool = True
    still_rad: float = 0.002
    recorded: bool = False
    watched: bool = False
    operator_confirmed: bool = False
    start_timeout_s: float = 60.0
    step_timeout_s: float = 5.0
    reset_timeout_s: float = 600.0
    recover_timeout_s: float = 60.0
    recorder_timeout_s: float = 30.0
    max_aborts: int = 100
    operator: OperatorConfig = field(default_factory=OperatorConfig)

    def __post_init__(self) -> None:
        require_nonnegative(self, "seed", "still_rad")
        require_positive(self, "episodes", "max_aborts")


class Nothing:
    """A behaviour that asks for nothing, whenever a person wants something.

    Args:
        wait: waits for that, at a step.
        size: numbers of an action.
    """

    def __init__(self, wait: Callable[[int], None], size: int) -> None:
        self._wait, self._size = wait, size

    def begin(self, count: int, horizon: int, rng: np.random.Generator) -> None:
        pass

    def act(self, observations: np.ndarray, step: int) -> np.ndarray:
        self._wait(step)
        return np.zeros((1, self._size))


class DriveNode(EpisodeRunner):
    """Runs episodes for a person; the audience of its gatherer."""

    def __init__(self, ending: Ending) -> None:
        super().__init__("drive", ending)
        self.config = config = declare(self, DriveConfig())
        robot = RobotConfig.load(config.robot)
        self.task = named_arm_task(config.task, robot, threads=1, dynamics=config.dynamics)
        self.run = new_run()
        self.arm = ArmClient(
            self,
            self.waiter,
            self.task,
            config.step_timeout_s,
            config.reset_timeout_s,
            config.operator_confirmed,
            self.run,
        )
        self._recorder = RecorderClient(self, self.waiter) if config.recorded else None
        self.gatherer = CellGatherer(self.task, self.arm, self, config.seed, 1, config.max_aborts)
        # What it says of the next step tells whether there is to be one.
        self.person = Operator(robot, config.operator, time.monotonic)
        self.person.take()
        self._pressed = self._discarded = False
        self.create_subscription(PoseStamped, "operator/target", self._take_target, SENSOR_QOS)
        self.create_subscription(Joy, "joy", self._take_joystick, SENSOR_QOS)
        self.create_service(Trigger, "demonstrate/discard", self._discard)

    def work(self) -> None:
        self.arm.wait_until_there(self.config.start_timeout_s)
        if self._recorder is not None:
            self._recorder.wait_until_there(EPISODE_TOPICS, self.config.start_timeout_s)
        if self.config.watched:
            self._wait_for_page()
        for _ in range(self.config.episodes):
            self.gatherer.run_one(Nothing(self._await_person, self.task.action_size))
        self.publish_status(LearnerStatus.FINISHED)
        if self._recorder is not None:
            episode, timeout_s = self.gatherer.episode, self.config.recorder_timeout_s
            if missing := self._recorder.finish(episode, timeout_s):
                print(f"drive: not recorded whole: {missing}", file=sys.stderr, flush=True)

    def _wait_for_page(self) -> None:
        try:
            self.waiter.until(self._is_shown, self.config.start_timeout_s, "a page")
        except WaitTimeoutError as error:
            self.get_logger().warning(f"going on without {error}")

    def _is_shown(self) -> bool:
        listeners = self.get_subscriptions_info_by_topic(GLANCE)
        return any(each.node_name == PAGE for each in listeners)

    def describe(self) -> LearnerStatus:
        return LearnerStatus(
            algorithm="person", bonus="none", task=self.task.name, episodes=self.gatherer.episode
        )

    def begin(self, episode: int) -> None:
        """What was wanted in the episode before does not count."""
        self.person.forget()
        self._pressed = self._discarded = False

    def see(self, step: int, observation: np.ndarray) -> None:
        """Publish it."""
        self.observations.publish(self.observed(self.gatherer.episode, step))

    def end(self, episode: Episodes, timesteps: int) -> None:
        """Tell what came of it."""
        number, nothing = self.gatherer.episode, np.zeros(episode.steps + 1)
        driven = self.arm.operator_steps
        row = EpisodeRow.of(episode, number, timesteps, nothing, nothing, 0.0, driven)
        self.publish_summary(number, row)
        print(f"episode {number}: {row.outcome} after {row.steps} steps", flush=True)

    def abort(self, error: EpisodeAbortedError) -> None:
        """The episode was cut short, or is not wanted: say so, and wait until the arm may move."""
        self.get_logger().warning(f"episode {self.gatherer.episode} aborted: {error}")
        self.publish_summary(self.gatherer.episode)
        if isinstance(error, EpisodeLostError):
            self.arm.wait_until_back(self.config.recover_timeout_s)
        self.arm.wait_until_released(self.config.reset_timeout_s)

    def _await_person(self, step: int) -> None:
        joints = self.arm.raw.vectors[0, : len(self.task.robot.arm.joints)]
        waits = self.config.pauses or step == 0
        if waits and not self._is_wanted(joints):
            self.publish_status(LearnerStatus.RUNNING, WAITS)
            self.waiter.until(lambda: self._is_wanted(joints), FOREVER_S, WAITS)
            self.publish_status(LearnerStatus.RUNNING)
        if self._discarded:
            raise DiscardedError("demonstrate/discard was called")

    def _is_wanted(self, joints: np.ndarray) -> bool:
        """Whether a person drives who wants another step, or no more of this episode."""
        status = self.arm.status
        if status is None or status.driver != ArmStatus.OPERATOR:
            return self._discarded
        moves = self._pressed or self.person.wants_motion(joints, self.config.still_rad)
        return moves or self._discarded

    def _take_target(self, message: PoseStamped) -> None:
        self.person.aim(pose_of_message(message))

    def _take_joystick(self, message: Joy) -> None:
        stick = stick_of_message(message, self.config.operator.joystick)
        self._pressed = stick.held and stick.gripper is not None
        self.person.steer(stick)

    def _discard(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._discarded = response.success = True
        return response


def main(arguments: Any = None) -> int:
    """Run episodes; whatever goes wrong, the arm is told to stop first."""
    return run_episodes_on(DriveNode, "drive", arguments)


def run() -> None:
    """Entry point of `ros2 run bayes_curiosity_ros drive`."""
    sys.exit(main())


if __name__ == "__main__":
    run()
