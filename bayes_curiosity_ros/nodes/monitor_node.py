"""The monitor node: the operator's page. It listens, and calls services that a viewer asks for.

In a process of its own, at a lower priority than what it watches; nobody waits for it.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Image, JointState, PointCloud2
from std_msgs.msg import UInt64
from std_srvs.srv import Trigger

from bayes_curiosity_interfaces.msg import (
    ArmState,
    ArmStatus,
    CuriosityState,
    EpisodeSummary,
    LearnerStatus,
)
from bayes_curiosity_ros.errors import ConfigError, InputError
from bayes_curiosity_ros.monitor.history import EpisodePoint
from bayes_curiosity_ros.monitor.orders import GIVE_BACK, ORDERS, REPLAY, STOP, TAKE_OVER, Order
from bayes_curiosity_ros.monitor.settings import MonitorConfig
from bayes_curiosity_ros.nodes.arm_watchers import GLANCE
from bayes_curiosity_ros.nodes.camera_glances import TOPICS as PICTURES
from bayes_curiosity_ros.nodes.conversions.clouds import values_of_cloud
from bayes_curiosity_ros.nodes.conversions.parts import (
    part_of_arm,
    part_of_curiosity,
    part_of_diagnostic,
    part_of_learner,
    parts_of_diagnostics,
    rejection_of,
)
from bayes_curiosity_ros.nodes.conversions.pixels import color_pixels, depth_pixels
from bayes_curiosity_ros.nodes.door import CheckedNode
from bayes_curiosity_ros.nodes.glances import FEW_QOS, GLANCE_QOS, LATCHED_FEW_QOS, Glance
from bayes_curiosity_ros.nodes.map_maker import MapMaker
from bayes_curiosity_ros.nodes.parameters import declare
from bayes_curiosity_ros.nodes.replay_map import ReplayMap
from bayes_curiosity_ros.nodes.run import STEADY_CLOCK, Guarded, run_node
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.frames import WORLD

INSTALL = "pip install 'viser>=1.1.1,<1.2'"
# Joint states go to browsers, and targets to the arm, so often in [s] while somebody drives; else
# half as often.
TICK_S = 0.05
CURIOSITY = "curiosity"  # the bonus that there is a map of
# An order that was not answered for so long in [s] is said to have failed.
ANSWER_S = 5.0
FRAMES = ("camera/color/image_raw", "camera/depth/image_raw")
# Others come first.
NICENESS = 5
# For so long in [s] after a person took over, the arm's word that nobody drives is not believed:
# it may be from just before.
SETTLE_S = 1.0


class MonitorNode(Guarded, CheckedNode):
    """Thin: takes what came, hands it to the page, and carries out what the page was told."""

    def __init__(self) -> None:
        super().__init__("monitor")
        self.config = declare(self, MonitorConfig())
        try:
            from bayes_curiosity_ros.monitor.page import Page
        except ModuleNotFoundError as error:
            raise ConfigError(
                f"the page needs {error.name}, which is not installed; install it with: {INSTALL}"
            ) from error
        self.robot = RobotConfig.load(self.config.robot)
        self.page = Page(self.config, self.robot)
        self._information, self._steps_per_s = 0.0, 0.0
        self._drove_s = 0.0
        self._map = MapMaker(self)
        self._seeks: Any = None
        self._replay_map: ReplayMap | None = None
        self._calls: dict[Any, tuple[float, int, Order]] = {}
        self._targets = self.create_publisher(PoseStamped, "operator/target", 1)
        self._offered = {
            order: self.create_client(Trigger, order.service)
            for order in (STOP, TAKE_OVER, GIVE_BACK, *ORDERS)
        }
        self._glances = self._listen()
        self.create_timer(TICK_S, self._tick, clock=STEADY_CLOCK)
        self.get_logger().info(f"the page is at {self.url}")

    @property
    def url(self) -> str:
        """Where browsers find the page."""
        return f"http://{self.config.web_host}:{self.page.port}"

    def close(self, reason: str) -> None:
        """Serve no more."""
        self.page.close()

    def _listen(self) -> list[tuple[Glance, Any]]:
        """What is looked at every tick, and who takes it."""
        topics = (
            (DiagnosticStatus, "replay/status", LATCHED_FEW_QOS, self._take_replay),
            (JointState, "joint_states", GLANCE_QOS, self._take_joints),
            (ArmState, GLANCE, GLANCE_QOS, self._take_state),
            (PointCloud2, "curiosity/map", GLANCE_QOS, self._take_map),
            *((Image, topic, GLANCE_QOS, self._take_picture) for topic in PICTURES.values()),
            (EpisodeSummary, "episode", FEW_QOS, self._take_episode),
            (DiagnosticArray, "/diagnostics", FEW_QOS, self._take_diagnostics),
            (ArmStatus, "arm/status", LATCHED_FEW_QOS, self._take_arm),
            (LearnerStatus, "learner/status", LATCHED_FEW_QOS, self._take_learner),
            (CuriosityState, "curiosity/state", LATCHED_FEW_QOS, self._take_curiosity),
            (DiagnosticStatus, "recorder/status", LATCHED_FEW_QOS, self._take_recorder),
        )
        return [self._glance(*each) for each in topics]

    def _glance(self, kind: Any, topic: str, qos: QoSProfile, take: Any) -> tuple[Glance, Any]:
        return Glance(self, kind, topic, qos), self.door.guarded(topic, take)

    def _tick(self) -> None:
        if not self.page.due():
            return
        for glance, take in list(self._glances):
            for message in glance.look():
                take(message)
        self.page.tick()
        for viewer, order in self.page.orders():
            self._call(viewer, order)
        self._give_up_on_calls()
        self._publish_target()
        self._publish_seek()
        self._map.go_on()
        if self._replay_map is not None:
            self._replay_map.go_on()

    def _call(self, viewer: int, order: Order) -> None:
        client = self._offered[order]
        if not client.service_is_ready():
            name = order.service
            self.page.answer(viewer, order, False, f"{name} is not offered by any node here")
            return
        future = client.call_async(Trigger.Request())
        self._calls[future] = time.monotonic() + ANSWER_S, viewer, order
        future.add_done_callback(self._answered)

    def _answered(self, future: Any) -> None:
        if future not in self._calls:
            return
        _, viewer, order = self._calls.pop(future)
        answer = future.result()
        self._drove_s = time.monotonic()
        self.page.answer(viewer, order, answer.success, answer.message)

    def _give_up_on_calls(self) -> None:
        now_s = time.monotonic()
        for future, (until_s, viewer, order) in list(self._calls.items()):
            if now_s > until_s:
                del self._calls[future]
                self._offered[order].remove_pending_request(future)
                words = f"{order.service} has not answered within {ANSWER_S:.0f} s"
                self.page.answer(viewer, order, False, words)

    def _publish_target(self) -> None:
        """The hand's pose wanted, for as long as the driver's browser is there."""
        wanted = self.page.target()
        if wanted is None:
            return
        target = PoseStamped()
        target.header.frame_id = WORLD
        target.header.stamp = self.get_clock().now().to_msg()
        spot, turn = target.pose.position, target.pose.orientation
        spot.x, spot.y, spot.z = map(float, wanted[0])
        turn.w, turn.x, turn.y, turn.z = map(float, wanted[1])
        self._targets.publish(target)

    def _publish_seek(self) -> None:
        episode = self.page.sought()
        if episode is not None and self._seeks is not None:
            self._seeks.publish(UInt64(data=episode))
            self._look_at(episode)

    def _look_at(self, episode: int) -> None:
        if self._replay_map is not None:
            self._replay_map.episode = episode

    def _take_picture(self, message: Image) -> None:
        if message.encoding == "rgb8":
            self.page.show_color(color_pixels(message))
        else:
            self.page.show_depth(depth_pixels(message))

    def _take_joints(self, message: JointState) -> None:
        self.page.show_joints(dict(zip(message.name, message.position, strict=False)))

    def _take_state(self, message: ArmState) -> None:
        self.page.begin(message.episode)
        self._look_at(message.episode)
        if message.limited_by:
            self.page.show_limit()
        if message.object_known:
            spot, turn = message.object_pose.position, message.object_pose.orientation
            self.page.show_object(
                np.array([spot.x, spot.y, spot.z]), np.array([turn.w, turn.x, turn.y, turn.z])
            )

    def _take_map(self, message: PointCloud2) -> None:
        self.page.show_map(*values_of_cloud(message))

    def _take_episode(self, message: EpisodeSummary) -> None:
        self.page.history.add(
            EpisodePoint(
                episode=message.episode,
                success=float(message.outcome == EpisodeSummary.SUCCESS),
                extrinsic_return=message.extrinsic_return,
                curiosity=message.mean_curiosity,
                information=self._information,
                steps_per_s=self._steps_per_s,
            )
        )

    def _take_diagnostics(self, message: DiagnosticArray) -> None:
        camera = f"{self.get_namespace().rstrip('/')}/camera: "
        for name, part in parts_of_diagnostics(message):
            self.page.situation.diagnose(name, part)
            if name.startswith(camera) and "inputs" not in name:
                self._hear("camera", part)

    def _take_arm(self, message: ArmStatus) -> None:
        self._hear("arm", part_of_arm(message))
        if words := rejection_of(message):
            self.page.situation.reject(words)
        settled = time.monotonic() - self._drove_s > SETTLE_S
        if self.page.controls.driving and settled and message.driver == ArmStatus.POLICY:
            self.page.drive(False)

    def _take_learner(self, message: LearnerStatus) -> None:
        self._steps_per_s = message.steps_per_second
        self._hear("learner", part_of_learner(message))
        if message.bonus == CURIOSITY and self._replay_map is None:
            self._map.begin(message.task, self.robot)

    def _take_curiosity(self, message: CuriosityState) -> None:
        self._information = message.information
        self._hear("curiosity", part_of_curiosity(message))

    def _take_recorder(self, message: DiagnosticStatus) -> None:
        self._hear("recorder", part_of_diagnostic(message))

    def _take_replay(self, message: DiagnosticStatus) -> None:
        """A bag is being replayed: it can be held and sent elsewhere, and the map is its own."""
        values = {each.key: each.value for each in message.values}
        first, last = (values.get(f"{which} episode", "") for which in ("first", "last"))
        if not (first.isdecimal() and last.isdecimal()):
            raise InputError(f"replay/status of episodes {first!r} to {last!r}; expected numbers")
        self.page.show_replay(int(first), int(last))
        if self._seeks is None:
            self._seeks = self.create_publisher(UInt64, "replay/seek", 10)
            self._offered |= {o: self.create_client(Trigger, o.service) for o in REPLAY}
            self._replay_map = ReplayMap(self, Path(message.message))
            # Bags have every step and frame, and no glances at them.
            self._glances.append(self._glance(ArmState, "arm/state", GLANCE_QOS, self._take_state))
            for topic in FRAMES:
                self._glances.append(self._glance(Image, topic, GLANCE_QOS, self._take_picture))

    def _hear(self, name: str, part: Any) -> None:
        self.page.situation.hear(name, part, time.monotonic())


def main() -> None:
    """Entry point of `ros2 run bayes_curiosity_ros monitor`."""
    os.nice(NICENESS)
    sys.exit(run_node(MonitorNode))


if __name__ == "__main__":
    main()
