"""Joint states of a ROS driver, and whether they can be believed.

A state counts as news when it is the driver's own, its stamp is newer than the one before, and it
was not under way for long. Whoever needs a state says how old it may be.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.arms.arm import ArmError

if TYPE_CHECKING:
    from rclpy.node import Node

KEPT = 1000  # states, a second of the fastest drivers
# Two computers' clocks may part by this share of the time without a state counting as late.
CLOCK_DRIFT = 1e-3
# A stamp that is older by more than this is of a clock that was set anew, not of an old state.
CLOCK_SET_S = 1.0


@dataclass(frozen=True)
class DriverState:
    """What a driver said of its joints.

    Attributes:
        received_s: when it came, on the steady clock of `time.monotonic`.
        measured_s: when it was measured, on the same clock, as far as its stamp tells.
        positions: (J,) angles in [rad], as the driver counts them.
        velocities: (J,) speeds in [rad/s]; zeros where the driver gives none.
    """

    received_s: float
    measured_s: float
    positions: np.ndarray
    velocities: np.ndarray


class DriverStates:
    """Subscribes to a driver's joint states; callbacks are served by another thread.

    Args:
        node: what to subscribe with.
        topic: where the driver publishes them.
        names: the driver's names of the joints, from base to hand.
        timeout_s: a state older than this is too old.
        settings: beginning of the names of the settings, for errors: "trajectory".
        every: called with every message, whatever joints it has.
        to_rad_s: factor from the driver's speeds to [rad/s].
    """

    def __init__(
        self,
        node: Node,
        topic: str,
        names: tuple[str, ...],
        timeout_s: float,
        settings: str,
        every: Callable[[JointState], None] | None = None,
        to_rad_s: float = 1.0,
    ) -> None:
        self._node = node
        self._names = names
        self._timeout_s = timeout_s
        self._settings = settings
        self._every = every
        self._to_rad_s = to_rad_s
        self._news = threading.Condition()
        self._kept: deque[DriverState] = deque(maxlen=KEPT)
        self._lateness = Lateness()
        self._doubt = ""
        self._subscription = node.create_subscription(
            JointState,
            topic,
            self._take,
            qos_profile_sensor_data,
            callback_group=ReentrantCallbackGroup(),
        )

    @property
    def topic(self) -> str:
        """The topic's whole name, remappings and namespace included."""
        return str(self._subscription.topic_name)

    @property
    def newest(self) -> DriverState | None:
        """The newest state, however old."""
        with self._news:
            return self._kept[-1] if self._kept else None

    def recent(self) -> list[DriverState]:
        """The last states, a second's or more, the oldest first."""
        with self._news:
            return list(self._kept)

    def forget(self) -> None:
        """Begin anew, as with a driver that nobody has heard yet."""
        with self._news:
            self._kept.clear()
            self._doubt, self._lateness = "", Lateness()

    def fresh(self) -> DriverState:
        """A state that is not too old; waits for one as long as one may be old.

        Raises:
            ArmError: there is none; the message says why, and what to look at.
        """
        if not self._node.count_publishers(self.topic):
            raise ArmError(
                f"nobody publishes {self.topic}; is the driver running? "
                f"({self._settings}.state_topic)"
            )
        asked_s = time.monotonic()
        return self.wait(asked_s - self._timeout_s, asked_s + self._timeout_s)

    def wait(self, since_s: float, deadline_s: float) -> DriverState:
        """A state measured at `since_s` or later.

        Raises:
            ArmError: none came until `deadline_s`.
        """
        state = self.later(since_s, deadline_s)
        if state is None:
            raise ArmError(self._missing())
        return state

    def later(self, since_s: float, deadline_s: float) -> DriverState | None:
        """A state measured at `since_s` or later, None if none came until `deadline_s`."""
        with self._news:
            while not self._kept or self._kept[-1].measured_s < since_s:
                if not self._news.wait(max(deadline_s - time.monotonic(), 0.0)):
                    return None
            return self._kept[-1]

    def _missing(self) -> str:
        topic, settings = self._subscription.topic_name, self._settings
        if self._doubt:
            return f"joint states on {topic} are not believed: {self._doubt}"
        return (
            f"no joint states on {topic} with {', '.join(self._names)}; is the driver running? "
            f"({settings}.state_topic, {settings}.driver_joints)"
        )

    def _take(self, message: JointState) -> None:
        """Other joints in the message are none of ours; a broken one is as good as none."""
        if self._every is not None:
            self._every(message)
        state = self._read(message)
        if state is None:
            return
        stamp = message.header.stamp
        now_s = self._node.get_clock().now().nanoseconds * 1e-9
        with self._news:
            self._doubt = self._lateness.doubt(
                stamp.sec + stamp.nanosec * 1e-9, now_s, state.received_s, self._timeout_s
            )
            if not self._doubt:
                measured_s = state.received_s - self._lateness.late_s
                self._kept.append(replace(state, measured_s=measured_s))
                self._news.notify_all()

    def _read(self, message: JointState) -> DriverState | None:
        try:
            where = [message.name.index(name) for name in self._names]
            positions = np.array([message.position[index] for index in where])
            velocities = np.zeros(len(where))
            if message.velocity:
                velocities = np.array([message.velocity[index] for index in where])
        except (ValueError, IndexError):
            return None
        if not (np.isfinite(positions).all() and np.isfinite(velocities).all()):
            return None
        now_s = time.monotonic()
        return DriverState(now_s, now_s, positions, velocities * self._to_rad_s)


class Lateness:
    """What a state's own stamp says against it.

    Clocks of two computers need not agree: how late a state may be counts from the least that any
    state took. A stamp of zero says nothing.

    Attributes:
        late_s: how much later than the quickest the newest state was, in [s].
    """

    def __init__(self) -> None:
        self.late_s = 0.0
        self._stamp_s: float | None = None
        self._least_s = np.inf
        self._taken_s = 0.0

    def doubt(self, stamp_s: float, now_s: float, received_s: float, limit_s: float) -> str:
        """Why a state is not news; empty when it is.

        Args:
            stamp_s: when it was measured, on the driver's clock; 0 where it does not say.
            now_s: our time of the same kind.
            received_s: steady time.
            limit_s: how much later than the quickest it may be.
        """
        if not stamp_s:
            return ""
        before_s, self._stamp_s = self._stamp_s, stamp_s
        if before_s is not None and before_s - CLOCK_SET_S < stamp_s <= before_s:
            self._stamp_s = before_s
            return "their stamps do not advance: somebody repeats an old one"
        if before_s is not None and stamp_s < before_s:
            self._least_s = np.inf
        took_s = now_s - stamp_s
        slack_s = CLOCK_DRIFT * (received_s - self._taken_s)
        self._least_s, self._taken_s = min(took_s, self._least_s + slack_s), received_s
        self.late_s = took_s - self._least_s
        if self.late_s > limit_s:
            return f"they are {self.late_s:.2f} s late, more than {limit_s} s"
        return ""


def require_not_ours(node: Node, states: DriverStates, same_names: bool) -> None:
    """Check that a node does not take its own joint states for a driver's.

    A node whose `joint_states` are its driver's publishes none itself. That is right only
    where the driver gives the joints our names.

    Raises:
        ConfigError: the names differ.
    """
    if states.topic == node.resolve_topic_name("joint_states") and not same_names:
        raise ConfigError(
            f"the driver's joint states and ours would both be {states.topic}, with different "
            "names of the joints: start our nodes in a namespace of their own (namespace:=cell)"
        )
