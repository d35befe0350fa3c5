"""The learner's cell when the arm is a node: actions out, states in, step by step."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from sensor_msgs.msg import Image

from bayes_curiosity_interfaces.msg import Action, ArmStatus, Status
from bayes_curiosity_interfaces.msg import ArmState as ArmStateMessage
from bayes_curiosity_interfaces.srv import ResetEpisode
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.errors import ImageError, InputError, LengthError
from bayes_curiosity_ros.learning.cell import EpisodeAbortedError, EpisodeLostError
from bayes_curiosity_ros.nodes.claims import NodeClaim
from bayes_curiosity_ros.nodes.conversions.arm_states import arm_state_of_message
from bayes_curiosity_ros.nodes.conversions.images import frame_of_images, observation_of_frame
from bayes_curiosity_ros.nodes.conversions.values import doubles, seconds_of
from bayes_curiosity_ros.nodes.door import CheckedNode
from bayes_curiosity_ros.nodes.peers import Peers
from bayes_curiosity_ros.nodes.qos import CAMERA_QOS, EPISODE_QOS, LATCHED_QOS
from bayes_curiosity_ros.nodes.waiter import PeerChangedError, Waiter, WaitTimeoutError
from bayes_curiosity_ros.nodes.wire import Taking, WirePublisher
from bayes_curiosity_ros.robot.arms.arm import ArmState
from bayes_curiosity_ros.robot.cameras.camera import Frame
from bayes_curiosity_ros.runs import NOBODY
from bayes_curiosity_ros.tasks.arm.measured import first_row, next_row
from bayes_curiosity_ros.tasks.arm.task import ArmTask

RETRY_S = 1.0
RESET = "arm/reset_episode"
# A node that was just met may learn of us a little later, in [s].
MEET_S = 0.2
RESTING = (ArmStatus.STOPPED, ArmStatus.FAULT, ArmStatus.INACTIVE)
KEPT_FRAMES = 8


class _Reported(NamedTuple):
    """What an arm said of itself: when, of which joints, what, and who brought it there how."""

    stamp: Time
    names: list[str]
    state: ArmState
    actor: int
    deltas: np.ndarray
    grip: float

    def requested(self, task: ArmTask) -> np.ndarray:
        """The action that was asked for in the step that led here."""
        asked: np.ndarray = task.actions_of(self.deltas[None], np.array([self.grip]))[0]
        return asked


class ArmClient:
    """A `learning.cell.Cell` over topics: the task's rows, made from what the arm reports.

    Args:
        node: the learner's node.
        waiter: serves the node's callbacks.
        task: the task whose rows are made.
        step_timeout_s: longest wait for one control step.
        reset_timeout_s: longest wait for a reset, the operator's part included.
        operator_confirmed: answer the arm's question for its operator beforehand.
        run: the learner's run.
        see: what the agent sees of a raw observation of the task, (1, D).

    Attributes:
        claim: on the arm, which works for the run alone.
        moved: whether the arm was asked to move, so that there is something to stop.
        strangers: number of states of other runs' arms, which do not count.
        status: newest status of the arm; None before the first.
        stamp: time of the newest state.
        frame: the frame that belongs to it, where the task is visual.
        raw: joint angles and what else the task observes, with the frame's image.
        actor: who acted in the step that led to the newest state, as in ArmState.
        operator_steps: steps of the episode so far that a person took.
        acted: action that a person took in the newest step; None where the agent did.
        marked: whether a person says that the episode under way has succeeded; None: nobody.
    """

    def __init__(
        self,
        node: CheckedNode,
        waiter: Waiter,
        task: ArmTask,
        step_timeout_s: float,
        reset_timeout_s: float,
        operator_confirmed: bool,
        run: int,
        see: Callable[[Observations], np.ndarray] = lambda raw: raw.vectors,
    ) -> None:
        self._node = node
        self._waiter = waiter
        self._task = task
        self._see = see
        self._step_timeout_s = step_timeout_s
        self._reset_timeout_s = reset_timeout_s
        self._operator_confirmed = operator_confirmed
        self._run = run
        self.claim = NodeClaim(node, waiter, "arm", run)
        self.moved = False
        self.strangers = 0
        self._episode = self._step = 0
        self._row = np.zeros((1, 0))
        self._state: _Reported | None = None
        self._names: list[str] = []
        self.status: ArmStatus | None = None
        self.frame: Frame | None = None
        self.stamp = Time()
        self.actor, self.operator_steps = ArmStateMessage.POLICY, 0
        self.acted: np.ndarray | None = None
        self.marked: bool | None = None
        self.raw = Observations(np.zeros((0, task.observation_size)))
        self._images: dict[str, dict[float, Image]] = {"color": {}, "depth": {}}
        self._actions = node.create_publisher(
            Action, "action", EPISODE_QOS, publisher_class=WirePublisher
        )
        self._action = Action(run=run)
        self._resets = node.create_client(ResetEpisode, RESET)
        self._peers = Peers(node, [RESET, "arm/claim"])
        take = Taking(ArmStateMessage, self._take_state)
        alone = MutuallyExclusiveCallbackGroup()  # no call of a service is waited for with it
        node.create_subscription(
            ArmStateMessage, "arm/state", take, EPISODE_QOS, raw=True, callback_group=alone
        )
        node.create_subscription(ArmStatus, "arm/status", self._take_status, LATCHED_QOS)

    def wait_until_there(self, timeout_s: float) -> None:
        """Wait for the camera's node where the task is visual, and for the arm's; take that."""
        if self._task.visual:
            self._listen_to_camera(timeout_s)
        self._waiter.until(
            lambda: (
                self._resets.service_is_ready()
                and self.claim.is_there
                and self._actions.get_subscription_count()
            ),
            timeout_s,
            "arm/reset_episode and a subscriber of action (is the arm node running?)",
        )
        self.claim.take(timeout_s)

    def wait_until_back(self, timeout_s: float) -> None:
        """Wait until the arm's node speaks again; it may have been started again."""
        self.status = None
        what = "arm/status (the arm node hangs, or is gone)"
        self._waiter.until(lambda: self.status is not None, timeout_s, what)

    def wait_until_released(self, timeout_s: float) -> None:
        """Wait until the arm may move; an operator may have to do something for that."""
        self._waiter.until(
            lambda: self.status is not None and self.status.state not in RESTING,
            timeout_s,
            "release of the arm (arm/release)",
        )

    def reset(self, episode: int, seed: int) -> np.ndarray:
        self._episode, self._step, self._state = episode, 0, None
        self.moved, self.operator_steps, self.marked = True, 0, None
        for images in self._images.values():
            images.clear()
        request = ResetEpisode.Request(
            episode=episode,
            run=self._run,
            seed=seed,
            operator_confirmed=self._operator_confirmed,
        )
        reported = self._reset_until_heard(request)
        return self._reached(self._row_of(first_row, reported))

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
        after = partial(next_row, before=self._row)
        return self._reached(self._row_of(after, self._next_state()))

    def observe(self) -> np.ndarray:
        try:
            return self._see(self.raw)
        except ImageError as error:
            raise EpisodeAbortedError(f"camera: {error}") from error

    def _reset_until_heard(self, request: ResetEpisode.Request) -> _Reported:
        """Repeat until state and frame come by topic too: the first may precede discovery."""
        waited_s = 0.0
        while waited_s < self._reset_timeout_s:
            answer = self._asked_to_reset(request)
            if answer.status.code in (Status.OK, Status.OTHER_RUN):
                if answer.status.code == Status.OK:
                    self._believe(answer.state.joint_names)
                try:
                    self._waiter.until(self._heard, RETRY_S, "arm/state")
                except WaitTimeoutError:
                    waited_s += RETRY_S
                    self._take_again(answer.status.code)
                    continue
                assert self._state is not None
                return self._state
            if answer.status.code != Status.NOT_READY:
                raise EpisodeAbortedError(answer.status.message)
            self._waiter.pause(RETRY_S)
            waited_s += RETRY_S
        raise EpisodeAbortedError(
            f"episode {request.episode} did not begin within {self._reset_timeout_s} s: "
            f"{answer.status.message or f'heard no {self._missing()}'}"
        )

    def _take_again(self, code: int) -> None:
        """An arm that was started again works for nobody; of two, a stranger may have refused."""
        if code == Status.OTHER_RUN:
            with suppress(PeerChangedError):  # that one is asked next
                self.claim.regain(self._reset_timeout_s, self._peers)

    def _asked_to_reset(self, request: ResetEpisode.Request) -> ResetEpisode.Response:
        """The answer, of whichever process is the arm's node by then."""
        # One whose operator is asked has much to do for a reset, and would do it twice.
        call = self._waiter.call_again if self._operator_confirmed else self._waiter.call
        while True:
            self._peers.meet()
            try:
                return call(self._resets, request, self._reset_timeout_s, self._peers)
            except PeerChangedError:
                self._waiter.pause(MEET_S)

    def _believe(self, names: list[str]) -> None:
        """Of now on, what does not report the joints that the arm itself names is not its own."""
        self._names = list(names)
        if self._state is not None and self._state.names != self._names:
            self._state = None

    def _next_state(self) -> _Reported:
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
            raise EpisodeLostError(f"{error}; {reason}") from error
        if self._state is None:
            assert self.status is not None
            kind = EpisodeLostError if self._peers.changed else EpisodeAbortedError
            raise kind(self.status.reason)
        return self._state

    def _row_of(self, make: Callable[..., np.ndarray], reported: _Reported) -> np.ndarray:
        self.stamp, self.actor = reported.stamp, reported.actor
        driven = reported.actor == ArmStateMessage.OPERATOR
        self.operator_steps += driven
        self.acted = reported.requested(self._task) if driven else None
        if self._task.visual:
            self.frame = self._frame_of(seconds_of(reported.stamp))
        try:
            return make(self._task, state=reported.state)
        except InputError as error:
            raise EpisodeAbortedError(f"arm/state: {error}") from error

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
        except WaitTimeoutError as error:
            raise EpisodeLostError(f"camera: {error}") from error
        except ImageError as error:
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
        seen = not self._task.visual or self._stamps(seconds_of(self._state.stamp))
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
        if message.run != self._run:
            self.strangers += 1
            return
        if (message.episode, message.step) != (self._episode, self._step):
            return
        names = list(message.joint_names)
        if self._names and names != self._names:
            raise LengthError(f"joints {names}; this arm has reported {self._names}")
        state = arm_state_of_message(message, self._task.robot.arm)
        deltas, joints = np.asarray(message.requested_deltas, dtype=float), len(state.joints)
        if message.actor == ArmStateMessage.OPERATOR and len(deltas) != joints:
            raise LengthError(f"{len(deltas)} requested_deltas for {joints} joints")
        self._state = _Reported(
            message.header.stamp, names, state, message.actor, deltas, message.requested_gripper
        )

    def _take_status(self, message: ArmStatus) -> None:
        """Ours, or that of an arm that was started again since ours has ended."""
        ended = self.status is None or self.status.state == ArmStatus.INACTIVE
        if message.run == self._run or (message.run == NOBODY and ended):
            self.status = message

    def _taker(self, kind: str) -> Callable[[Image], None]:
        images = self._images[kind]

        def take(image: Image) -> None:
            images[seconds_of(image.header.stamp)] = image
            while len(images) > KEPT_FRAMES:  # the first that came, whatever their stamps
                del images[next(iter(images))]

        return take
