"""What the arm node tells those who only watch: joint states, a step now and then, the clock."""

from __future__ import annotations

import time
from typing import Any

from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from bayes_curiosity_interfaces.msg import ArmState
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS

# The newest step, for who need not have all of them: to be sent one more message at every step
# costs more than to show it.
GLANCE = "arm/glance"
# All this comes no oftener, in [s] of this machine's time.
WATCHERS_S = 0.02


class ArmWatchers:
    """Joint states, steps and the clock at a bounded rate; every step is on `arm/state`.

    Args:
        node: the arm's node.
        simulated: whether there is a clock to publish.
        state_topic: whole name of the topic on which a driver tells of the joints; empty if none
            does. Where that is ours, the driver's are the only ones: we would hear ourselves.
    """

    def __init__(self, node: Any, simulated: bool, state_topic: str) -> None:
        self._joints = self._clock = None
        self._glance = node.create_publisher(ArmState, GLANCE, 1)
        if state_topic != node.resolve_topic_name("joint_states"):
            self._joints = node.create_publisher(JointState, "joint_states", EPISODE_QOS)
        if simulated:
            self._clock = node.create_publisher(Clock, "clock", 10)
        self._untold: ArmState | None = None
        self._told_s = 0.0

    def take(self, state: ArmState) -> None:
        """Tell of the state after a step, now or with the next."""
        self._untold = state
        if time.monotonic() - self._told_s >= WATCHERS_S:
            self.tell_watchers()

    def tell_watchers(self) -> None:
        """Tell of the newest state, unless that was done."""
        state, self._untold = self._untold, None
        if state is None:
            return
        self._told_s = time.monotonic()
        self.show(state)
        self._glance.publish(state)
        if self._clock is not None:
            self._clock.publish(Clock(clock=state.header.stamp))

    def show(self, state: ArmState) -> None:
        """Publish joint states."""
        if self._joints is None:
            return
        self._joints.publish(
            JointState(
                header=state.header,
                name=state.joint_names,
                position=state.positions,
                velocity=state.velocities,
            )
        )
