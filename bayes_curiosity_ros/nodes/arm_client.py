"""The learner's cell when the arm is a node: actions out, states in, step by step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from sensor_msgs.msg import Image

from bayes_curiosity_interfaces.msg import Action, ArmStatus, Status
from bayes_curiosity_interfaces.msg import ArmState as ArmStateMessage
from bayes_curiosity_interfaces.srv import ResetEpisode
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.errors import ImageError
from bayes_curiosity_ros.learning.cell import EpisodeAbortedError
from bayes_curiosity_ros.nodes.conversions.arm_states import arm_state_of_message
from bayes_curiosity_ros.nodes.conversions.images import frame_of_images, observation_of_frame
from bayes_curiosity_ros.nodes.conversions.values import doubles, seconds_of
from bayes_curiosity_ros.nodes.qos import CAMERA_QOS, EPISODE_QOS, LATCHED_QOS
from bayes_curiosity_ros.nodes.waiter import Waiter, WaitTimeoutError
from bayes_curiosity_ros.nodes.wire import Taking, WirePublisher
from bayes_curiosity_ros.robot.arms.arm import ArmState
from bayes_curiosity_ros.robot.cameras.camera import Frame
from bayes_curiosity_ros.tasks.arm.measured import first_row, next_row
from bayes_curiosity_ros.tasks.arm.task import ArmTask

RETRY_S = 1.0
RESTING = (ArmStatus.STOPPED, ArmStatus.FAULT, ArmStatus.INACTIVE)
KEPT_FRAMES = 8


class ArmClient:
    """A `learning.cell.Cell` over topics: the task's rows, made from what the arm reports.

    Args:
        node: the learner's node.
        waiter: serves the node's callbacks.
        task: the task whose rows are made.
        step_timeout_s: longest wait for one control step.
        reset_timeout_s: longest wait for a reset, the operator's part included.
        operator_confirmed: answer the arm's question for its operator beforehand.
        see: what the agent sees of a raw observation of the task, (1, D).

    Attributes:
        status: newest status of the arm; None before the first.
        stamp: time of the newest state.
        frame: the frame that belongs to it, where the task is visual.
        raw: joint angles and what else the task observes, with the frame's image.
    """

    def __init__(
        self,
        node: Node,
        waiter: Waiter,
        task: ArmTask,
        step_timeout_s: float,
        reset_timeout_s: float,
        operator_confirmed: bool,
        see: Callable[[Observations], np.ndarray] = lambda raw: raw.vectors,
    ) -> None:
        self._node = node
        self._waiter = waiter
        self._task = task
        self._see = see
        self._step_timeout_s = step_timeout_s
        self._reset_timeout_s = reset_timeout_s
        self._operator_confirmed = operator_confirmed
        self._episode = self._step = 0
        self._row = np.zeros((1, 0))
        self._state: ArmStateMessage | None = None
        self.status: ArmStatus | None = None
        self.frame: Frame | None = None
        self.stamp = Time()
        self.raw = Observations(np.zeros((0, task.observation_size)))
        self._images: dict[str, dict[float, Image]] = {"color": {}, "depth": {}}
        self._actions = node.create_publisher(
            Action, "action", EPISODE_QOS, publisher_class=WirePublisher
        )
        self._action = Action()
        self._resets = node.create_client(ResetEpisode, "arm/reset_episode")
        take = Taking(ArmStateMessage, self._take_state)
        alone = MutuallyExclusiveCallbackGroup()  # no call of a service is waited for with it
        node.create_subscription(
            ArmStateMessage, "arm/state", take, EPISODE_QOS, raw=True, callback_group=alone
        )
        node.create_subscription(ArmStatus, "arm/status", self._take_status, LATCHED_QOS)

    def wait_until_there(self, timeout_s: float) -> None:
        """Wait for the camera's node where the task is visual, and for the arm's."""
        if self._task.visual:
            self._listen_to_camera(timeout_s)
        self._waiter.until(
            lambda: self._resets.service_is_ready() and self._actions.get_subscription_count(),
            timeout_s,
            "arm/reset_episode and a subscriber of action (is the arm node running?)",
        )

    def wait_until_released(self, timeout_s: float) -> None:
        """Wait until the arm may move; an operator may have to do something for that."""
        self._waiter.until(
            lambda: self.status is not None and self.status.state not in RESTING,
            timeout_s,
            "release of the arm (arm/release)",
        )

    def reset(self, episode: int, seed: int) -> np.ndarray:
        self._episode, self._step, self._state = episode, 0, None
        for images in self._images.values():
            images.clear()
        request = ResetEpisode.Request(
            episode=episode, seed=seed, operator_confirmed=self._operator_confirmed
        )
        message = self._reset_until_heard(request)
        return self._reached(first_row(self._task, self._measured(message)))

    def send(self, action: np.ndarray) -> None:
        deltas, grips = self._task.commands(action[None], self._row)
        message = self._action
        message.episode, message.step = self._episode, self._step
        message.joint_deltas = doubles(deltas[0])
        message.gripper = float(grips[0])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._state = None
        self._step += 1
        self._actions.publish(message)

    def receive(self) -> np.ndarray:
        state = self._measured(self._next_state())
        return self._reached(next_row(self._task, self._row, state))

    def observe(self) -> np.ndarray:
        try:
            return self._see(self.raw)
        except ImageError as error:
            raise EpisodeAbortedError(f"camera: {error}") from error

    def _reset_until_heard(self, request: ResetEpisode.Request) -> ArmStateMessage:
        """Repeat until state and frame come by topic too: the first may precede discovery."""
        waited_s = 0.0
        while waited_s < self._reset_timeout_s:
            answer = self._waiter.call(self._resets, request, self._reset_timeout_s)
            if answer.status.code == Status.OK:
                try:
                    self._waiter.until(self._heard, RETRY_S, "arm/state")
                except WaitTimeoutError:
                    waited_s += RETRY_S
                    continue
                assert self._state is not None
                return self._state
            if answer.status.code != Status.NOT_READY:
                raise EpisodeAbortedError(answer.status.message)
            self._pause(RETRY_S)
            waited_s += RETRY_S
        raise EpisodeAbortedError(
            f"episode {request.episode} did not begin within {self._reset_timeout_s} s: "
            f"{answer.status.message or f'heard no {self._missing()}'}"
        )

    def _pause(self, duration_s: float) -> None:
        try:
            self._waiter.until(lambda: False, duration_s, "")
        except WaitTimeoutError:
            return

    def _next_state(self) -> ArmStateMessage:
        what = f"arm/state of episode {self._episode}, step {self._step}"
        try:
            self._waiter.until(
                lambda: self._state is not None or self._rests(),
                self._step_timeout_s,
                what,
                step=True,
            )
        except WaitTimeoutError as error:
            reason = self.status.reason if self.status else "no arm/status either"
            raise EpisodeAbortedError(f"{error}; {reason}") from error
        if self._state is None:
            assert self.status is not None
            raise EpisodeAbortedError(self.status.reason)
        return self._state

    def _measured(self, message: ArmStateMessage) -> ArmState:
        self.stamp = message.header.stamp
        state = arm_state_of_message(message, self._task.robot.arm.joints)
        if self._task.visual:
            self.frame = self._frame_of(seconds_of(message.header.stamp))
        return state

    def _reached(self, row: np.ndarray) -> np.ndarray:
        self._row = row
        self.raw = observation_of_frame(self._task.observe(row), self.frame)
        return row

    def _frame_of(self, stamp_s: float) -> Frame:
        """The first frame not older than the state; in simulation the one of its stamp."""
        what = "colour and depth of one frame (is the camera node active?)"
        try:
            self._waiter.until(lambda: self._stamps(stamp_s), self._step_timeout_s, what)
            chosen = self._stamps(stamp_s)[0]
            return frame_of_images(self._images["color"][chosen], self._images["depth"][chosen])
        except (WaitTimeoutError, ImageError) as error:
            raise EpisodeAbortedError(f"camera: {error}") from error

    def _stamps(self, from_s: float) -> list[float]:
        """When there are both colour and depth, in order."""
        both = self._images["color"].keys() & self._images["depth"].keys()
        return sorted(stamp for stamp in both if stamp >= from_s)

    def _heard(self) -> bool:
        return not self._missing()

    def _missing(self) -> str:
        """What did not come since the reset, "" for nothing."""
        if self._state is None:
            return "arm/state"
        seen = not self._task.visual or self._stamps(seconds_of(self._state.header.stamp))
        return "" if seen else "camera/color/image_raw and camera/depth/image_raw"

    def _listen_to_camera(self, timeout_s: float) -> None:
        topics = {kind: f"camera/{kind}/image_raw" for kind in self._images}
        self._waiter.until(
            lambda: all(self._node.count_publishers(topic) for topic in topics.values()),
            timeout_s,
            f"{' and '.join(topics.values())} (is the camera node running?)",
        )
        for kind, topic in topics.items():
            self._node.create_subscription(Image, topic, self._taker(kind), CAMERA_QOS)

    def _rests(self) -> bool:
        return self.status is not None and self.status.state in RESTING

    def _take_state(self, message: ArmStateMessage) -> None:
        if (message.episode, message.step) == (self._episode, self._step):
            self._state = message

    def _take_status(self, message: ArmStatus) -> None:
        self.status = message

    def _taker(self, kind: str) -> Callable[[Image], None]:
        images = self._images[kind]

        def take(image: Image) -> None:
            images[seconds_of(image.header.stamp)] = image
            for stamp in sorted(images)[:-KEPT_FRAMES]:
                del images[stamp]

        return take
