"""The recorder node: every episode of a run in one bag."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.node import Node
from rclpy.serialization import deserialize_message

from bayes_curiosity_interfaces.msg import CuriosityState
from bayes_curiosity_ros import __version__
from bayes_curiosity_ros.bags.background_writer import BackgroundWriter, QueueConfig
from bayes_curiosity_ros.bags.storage import Record
from bayes_curiosity_ros.bags.writer import BagConfig, BagWriter
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.nodes.conversions.own_frames import only_frames
from bayes_curiosity_ros.nodes.parameters import declare
from bayes_curiosity_ros.nodes.qos import LATCHED_QOS
from bayes_curiosity_ros.nodes.run import Guarded, run_node
from bayes_curiosity_ros.nodes.taps import HEARD, Tap

FORMAT = "bayes_curiosity_bag/1"
OURS = "bayes_curiosity_interfaces/msg"
TF = "tf2_msgs/msg/TFMessage"
# Subscribed to from the start, so that not even a first message is missed.
KNOWN = {
    "observation": f"{OURS}/Observation",
    "action": f"{OURS}/Action",
    "intrinsic_reward": f"{OURS}/IntrinsicReward",
    "episode": f"{OURS}/EpisodeSummary",
    "arm/state": f"{OURS}/ArmState",
    "arm/status": f"{OURS}/ArmStatus",
    "learner/status": f"{OURS}/LearnerStatus",
    "object_pose": "geometry_msgs/msg/PoseStamped",
    "joint_states": "sensor_msgs/msg/JointState",
    "camera/color/image_raw": "sensor_msgs/msg/Image",
    "camera/color/camera_info": "sensor_msgs/msg/CameraInfo",
    "camera/depth/image_raw": "sensor_msgs/msg/Image",
    "camera/depth/camera_info": "sensor_msgs/msg/CameraInfo",
    "/tf": TF,
}
KNOWN_LATCHED = {
    "curiosity/state": f"{OURS}/CuriosityState",
    "robot_description": "std_msgs/msg/String",
    "/tf_static": TF,
}
PACKAGES = ("torch", "numpy", "mujoco", "mcap")


@dataclass(frozen=True)
class RecorderConfig:
    """Parameters of the recorder node.

    Attributes:
        folder: folder that bags go to.
        name: name of the bag's folder in it; empty for run_ and the time in UTC.
        topics: topics to record besides the known ones, relative or absolute, of any installed
            type.
        frame_prefix: what the frames on /tf and /tf_static that are recorded begin with; empty
            for all.
        task: task of the run; kept in the bag.
        seed: seed of the run; kept in the bag.
        settings: configuration of the run, for instance as JSON; kept in the bag.
        period_s: time between two visits to the topics, in [s].
        bag: layout of the bag.
        queue: queue between topics and disk.
    """

    folder: str = "bags"
    name: str = ""
    topics: tuple[str, ...] = ("/diagnostics",)
    frame_prefix: str = ""
    task: str = ""
    seed: int = 0
    settings: str = ""
    period_s: float = 0.01
    bag: BagConfig = field(default_factory=BagConfig)
    queue: QueueConfig = field(default_factory=QueueConfig)

    def __post_init__(self) -> None:
        if not 0.001 <= self.period_s <= 0.5:
            raise ConfigError(f"period_s = {self.period_s}; it must be in 0.001 … 0.5")

    def path(self) -> Path:
        """Folder of the bag."""
        name = self.name or f"run_{datetime.now(UTC):%Y%m%d_%H%M%S}"
        return Path(self.folder).expanduser() / name

    def about(self) -> dict[str, str]:
        """What a bag says of its run."""
        versions = {"bayes_curiosity_ros": __version__, "python": platform.python_version()}
        for package in PACKAGES:
            try:
                versions[package] = importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                continue
        return {
            "format": FORMAT,
            "task": self.task,
            "seed": str(self.seed),
            "settings": self.settings,
            "versions": json.dumps(versions),
        }


class RecorderNode(Guarded, Node):
    """Empties its taps a hundred times a second into a queue; a thread writes the bag."""

    def __init__(self) -> None:
        super().__init__("recorder")
        config = declare(self, RecorderConfig())
        self.bag = BagWriter(config.path(), config.bag, config.about())
        self._writer = BackgroundWriter(self.bag, config.queue)
        self._frame_prefix = config.frame_prefix
        self._taps = [Tap(self, name, kind) for name, kind in KNOWN.items()]
        self._taps += [Tap(self, name, kind, latched=True) for name, kind in KNOWN_LATCHED.items()]
        self._taps += [Tap(self, name) for name in config.topics]
        self._curiosity_state = self.resolve_topic_name("curiosity/state")
        self._model_id = ""
        self._declared: set[str] = set()
        self._heard = ""
        self._status = self.create_publisher(DiagnosticStatus, "recorder/status", LATCHED_QOS)
        self.create_timer(config.period_s, self.drain)
        self.create_timer(0.2, self._adapt)
        self.create_timer(1.0, self._report)
        self.get_logger().info(f"recording to {self.bag.path}")

    def drain(self) -> None:
        """Move what has come into the queue, in the order it came."""
        records = [record for tap in self._taps for record in self._taken(tap)]
        records.sort(key=attrgetter("received_ns"))
        self._writer.put(records)

    def close(self, reason: str) -> None:
        """Take what is left, finish the bag, say how it went."""
        self.drain()
        self.bag.metadata.custom["model_id"] = self._model_id
        self.bag.metadata.custom["lost"] = json.dumps(self._lost())
        self.bag.metadata.custom["missed"] = json.dumps(self._missed())
        counts = self._writer.close()
        dropped, lost = sum(counts.dropped.values()), sum(self._lost().values())
        line = f"{counts.written} messages of {counts.episodes} episodes in {self.bag.path}"
        print(f"{line}; {dropped} dropped, {lost} lost on the way; {counts.error or 'complete'}")

    def _taken(self, tap: Tap) -> list[Record]:
        records = tap.take()
        if self._frame_prefix and tap.type_name == TF:
            records = [record for record in map(self._of_our_frames, records) if record.data]
        if records and tap.name not in self._declared:
            self._declared.add(tap.name)
            self._writer.add_topic(tap.describe())
        if records and tap.name == self._curiosity_state:
            self._model_id = deserialize_message(records[-1].data, CuriosityState).model_id
        return records

    def _of_our_frames(self, record: Record) -> Record:
        return record._replace(data=only_frames(record.data, self._frame_prefix))

    def _adapt(self) -> None:
        """Look at the publishers; who waits for us is told at once of those that we have found."""
        for tap in self._taps:
            tap.adapt()
        heard = " ".join(sorted(tap.name for tap in self._taps if tap.heard))
        if heard != self._heard:
            self._heard = heard
            self._report()

    def _lost(self) -> dict[str, int]:
        return {tap.name: tap.lost for tap in self._taps if tap.lost}

    def _missed(self) -> dict[str, int]:
        return {tap.name: tap.missed for tap in self._taps if tap.missed}

    def _report(self) -> None:
        counts, lost = self._writer.counts(), self._lost()
        dropped = sum(counts.dropped.values())
        problems = {tap.name: tap.problem for tap in self._taps if tap.problem}
        values = {
            "bag": str(self.bag.path),
            HEARD: self._heard,
            "messages": counts.written,
            "bytes": counts.written_bytes,
            "episodes": counts.episodes,
            "waiting": counts.waiting,
            "dropped": dropped,
            "lost": sum(lost.values()),
        }
        values |= {f"dropped {topic}": count for topic, count in counts.dropped.items()}
        values |= {f"lost {topic}": count for topic, count in lost.items()}
        values |= {f"missed {topic}": count for topic, count in self._missed().items()}
        values |= {f"not recorded {topic}": reason for topic, reason in problems.items()}
        level, message = DiagnosticStatus.OK, "recording"
        if dropped or lost or problems:
            level = DiagnosticStatus.WARN
            message = f"{dropped} messages dropped, {sum(lost.values())} lost on the way"
        if counts.error:
            level, message = DiagnosticStatus.ERROR, f"recording ended: {counts.error}"
        if level != DiagnosticStatus.OK:
            self.get_logger().warning(message, throttle_duration_sec=10.0)
        self._status.publish(
            DiagnosticStatus(
                level=level,
                name="recorder",
                message=message,
                values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
            )
        )


def main() -> None:
    """Entry point of `ros2 run bayes_curiosity_ros recorder`."""
    sys.exit(run_node(RecorderNode))


if __name__ == "__main__":
    main()
