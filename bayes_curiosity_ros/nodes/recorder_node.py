"""The recorder node: every episode of a run in one bag."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain, count
from operator import attrgetter
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from tf2_msgs.msg import TFMessage

from bayes_curiosity_interfaces.msg import CuriosityState, LearnerStatus
from bayes_curiosity_ros import __version__
from bayes_curiosity_ros.bags.background_writer import BackgroundWriter, Counts, QueueConfig
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.ledger import BEFORE
from bayes_curiosity_ros.bags.one_run import OneRun
from bayes_curiosity_ros.bags.peek import STEP_TYPES
from bayes_curiosity_ros.bags.storage import Record
from bayes_curiosity_ros.bags.writer import BagConfig, BagWriter
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.files import within
from bayes_curiosity_ros.nodes.conversions.own_frames import only_frames
from bayes_curiosity_ros.nodes.door import CheckedNode
from bayes_curiosity_ros.nodes.memory import give_back_now_and_then
from bayes_curiosity_ros.nodes.parameters import declare
from bayes_curiosity_ros.nodes.qos import LATCHED_QOS
from bayes_curiosity_ros.nodes.run import Guarded, run_node
from bayes_curiosity_ros.nodes.taps import HEARD, LACKING, LEARNER, SETTLED, Tap
from bayes_curiosity_ros.runs import name_of

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
SHOWN = 5  # of what is missing, in the status


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
        required: whether to end, with an error, once nothing more can be written, and if the bag
            is not complete at the end.
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
    required: bool = False
    period_s: float = 0.01
    bag: BagConfig = field(default_factory=BagConfig)
    queue: QueueConfig = field(default_factory=QueueConfig)

    def __post_init__(self) -> None:
        if not 0.001 <= self.period_s <= 0.5:
            raise ConfigError(f"period_s = {self.period_s}; it must be in 0.001 … 0.5")

    def path(self) -> Path:
        """Folder of the bag, within `folder`; a name by the time has a number where it exists."""
        if self.name:
            return within(Path(self.folder), self.name)
        name = f"run_{datetime.now(UTC):%Y%m%d_%H%M%S}"
        numbered = chain([name], (f"{name}_{number}" for number in count(2)))
        paths = (within(Path(self.folder), each) for each in numbered)
        return next(path for path in paths if not path.exists())

    def about(self) -> dict[str, str]:
        """What a bag says of its run."""
        versions = {"bayes_curiosity_ros": __version__, "python": platform.python_version()}
        for package in PACKAGES:
            try:
                versions[package] = importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                continue
        return {
            "task": self.task,
            "seed": str(self.seed),
            "settings": self.settings,
            "versions": json.dumps(versions),
            BEFORE: newest_bag(Path(self.folder).expanduser()),
        }


def newest_bag(folder: Path) -> str:
    """Name of the newest bag in a folder; empty where there is none."""
    bags = [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
    return max(bags, key=lambda path: path.stat().st_mtime).name if bags else ""


class RecorderNode(Guarded, CheckedNode):
    """Empties its taps a hundred times a second into a queue; a thread writes the bag."""

    def __init__(self) -> None:
        super().__init__("recorder")
        config = declare(self, RecorderConfig())
        self._required = config.required
        self.bag = BagWriter(config.path(), config.bag, config.about())
        self._writer = BackgroundWriter(self.bag, config.queue)
        self._frame_prefix = config.frame_prefix
        self._taps = [Tap(self, name, kind) for name, kind in KNOWN.items()]
        self._taps += [Tap(self, name, kind, latched=True) for name, kind in KNOWN_LATCHED.items()]
        self._taps += [Tap(self, name) for name in config.topics]
        self._curiosity_state = self.resolve_topic_name("curiosity/state")
        self._model_id = ""
        self._one_run = OneRun()
        self._declared: set[str] = set()
        self._heard = ""
        self._settled = -1
        self._error = ""
        self._status = self.create_publisher(DiagnosticStatus, "recorder/status", LATCHED_QOS)
        self.create_subscription(
            LearnerStatus, "learner/status", self._follow_learner, LATCHED_QOS
        )
        self.create_timer(config.period_s, self.drain)
        self.create_timer(0.2, self._adapt)
        self.create_timer(1.0, self._report)
        give_back_now_and_then(self)
        self.get_logger().info(f"recording to {self.bag.path}")

    def drain(self) -> None:
        """Move what has come into the queue, in the order it came."""
        records = [record for tap in self._taps for record in self._taken(tap)]
        records.sort(key=attrgetter("received_ns"))
        self._writer.put(records)

    def go_on(self) -> None:
        """End where nothing more can be written, and the recording is required."""
        if self._required and self._error:
            raise BagError(f"the recording is required, and cannot go on: {self._error}")

    def close(self, reason: str) -> None:
        """Take what is left, finish the bag, say how it went."""
        self.drain()
        self.bag.metadata.custom["model_id"] = self._model_id
        self.bag.metadata.custom |= self._about_runs()
        self.bag.metadata.custom["lost"] = json.dumps(self._lost())
        self.bag.metadata.custom["missed"] = json.dumps(self._missed())
        counts = self._writer.close(self._lacking())
        dropped, lost = sum(counts.dropped.values()), sum(self._lost().values())
        line = f"{counts.written} messages of {counts.episodes} episodes in {self.bag.path}"
        verdict = counts.error or counts.verdict.sentence()
        print(f"{line}; {dropped} dropped, {lost} lost on the way; {verdict}", flush=True)
        if self._required and (counts.error or not counts.verdict.complete):
            raise BagError(f"the recording is required, and not whole: {verdict}")

    def _lacking(self) -> list[str]:
        """What never came here; that something of best effort did not is nothing unusual."""
        return [
            f"{tap.name}: {tap.lost} messages lost on the way"
            for tap in self._taps
            if tap.lost and tap.reliable
        ]

    def _taken(self, tap: Tap) -> list[Record]:
        records = [each for each in tap.take() if self._one_run.keeps(each, tap.type_name)]
        if self._frame_prefix and tap.type_name == TF:
            records = [record for record in map(self._of_our_frames, records) if record.data]
        if records and tap.name not in self._declared:
            self._declared.add(tap.name)
            self._writer.add_topic(tap.describe())
        if tap.missed and tap.type_name in STEP_TYPES:
            self.bag.ledger.late = True
        if records and tap.name == self._curiosity_state:
            self._note_model(records)
        return records

    def _note_model(self, records: list[Record]) -> None:
        states = [self.door.let_in(r.topic, CuriosityState, r.data) for r in records]
        for state in filter(None, states):
            self._model_id = state.model_id

    def _follow_learner(self, status: LearnerStatus) -> None:
        if status.state in (LearnerStatus.FINISHED, LearnerStatus.FAILED):
            self._one_run.end(status.run)

    def _about_runs(self) -> dict[str, str]:
        """Runs in the bag, and how many messages of others were left out."""
        strangers = self._one_run.strangers
        return {
            "runs": ", ".join(map(name_of, self._one_run.runs)),
            "strangers": json.dumps(strangers) if strangers else "",
        }

    def _of_our_frames(self, record: Record) -> Record:
        """Without the frames of others; a message that nobody can read is kept as it is."""
        message = self.door.let_in(record.topic, TFMessage, record.data)
        if message is None:
            return record
        return record._replace(data=only_frames(record.data, message, self._frame_prefix))

    def _adapt(self) -> None:
        """Look at the publishers; who waits until we found them, or have all, is told at once."""
        for tap in self._taps:
            tap.adapt()
        heard = " ".join(sorted(publisher for tap in self._taps for publisher in tap.heard))
        verdict = self._writer.counts().verdict
        settled = verdict.settled if verdict.learner == "ended" else -1
        if (heard, settled) != (self._heard, self._settled):
            self._heard, self._settled = heard, settled
            self._report()

    def _lost(self) -> dict[str, int]:
        return {tap.name: tap.lost for tap in self._taps if tap.lost}

    def _missed(self) -> dict[str, int]:
        return {tap.name: tap.missed for tap in self._taps if tap.missed}

    def _report(self) -> None:
        """Say how it goes."""
        counts = self._writer.counts()
        level, message = self._level(counts)
        if level != DiagnosticStatus.OK:
            self.get_logger().warning(message, throttle_duration_sec=10.0)
        values = [KeyValue(key=key, value=str(value)) for key, value in self._values(counts)]
        self._status.publish(
            DiagnosticStatus(level=level, name="recorder", message=message, values=values)
        )
        self._error = counts.error

    def _level(self, counts: Counts) -> tuple[bytes, str]:
        """How it goes, in a word and a sentence."""
        dropped, lost = sum(counts.dropped.values()), sum(self._lost().values())
        if counts.error:
            return DiagnosticStatus.ERROR, f"recording ended: {counts.error}"
        if counts.verdict.lacking:
            return DiagnosticStatus.WARN, "; ".join(counts.verdict.lacking[:SHOWN])
        if dropped or lost or any(tap.problem for tap in self._taps):
            return DiagnosticStatus.WARN, f"{dropped} messages dropped, {lost} lost on the way"
        return DiagnosticStatus.OK, "recording"

    def _values(self, counts: Counts) -> Iterator[tuple[str, object]]:
        """How it goes, in numbers."""
        yield "bag", self.bag.path
        yield HEARD, self._heard
        yield "messages", counts.written
        yield "bytes", counts.written_bytes
        yield "episodes", counts.episodes
        yield SETTLED, counts.verdict.settled
        yield LEARNER, counts.verdict.learner
        yield LACKING, "; ".join(counts.verdict.lacking[:SHOWN])
        yield "waiting", counts.waiting
        yield "dropped", sum(counts.dropped.values())
        yield "lost", sum(self._lost().values())
        yield from ((f"dropped {topic}", count) for topic, count in counts.dropped.items())
        yield from ((f"lost {topic}", count) for topic, count in self._lost().items())
        yield from ((f"missed {topic}", count) for topic, count in self._missed().items())
        yield from ((f"left out {topic}", n) for topic, n in self._one_run.strangers.items())
        for tap in self._taps:
            if tap.problem:
                yield f"not recorded {tap.name}", tap.problem


def main() -> None:
    """Entry point of `ros2 run bayes_curiosity_ros recorder`."""
    sys.exit(run_node(RecorderNode))


if __name__ == "__main__":
    main()
