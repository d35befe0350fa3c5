"""The nodes that are fuzzed."""

from __future__ import annotations

import array
import random
import time
from collections.abc import Callable
from typing import Any
from urllib.request import urlopen

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import Image, JointState, PointCloud2
from std_msgs.msg import String, UInt64
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from bayes_curiosity_interfaces.msg import (
    Action,
    ArmState,
    ArmStatus,
    CuriosityState,
    EpisodeSummary,
    IntrinsicReward,
    LearnerStatus,
    Observation,
    ObservationBatch,
    Status,
)
from bayes_curiosity_interfaces.srv import Claim, Evaluate, ModelFile, ResetEpisode, Update
from bayes_curiosity_ros.bringup.up import port_of_page
from bayes_curiosity_ros.nodes.camera_glances import TOPICS as PICTURES
from bayes_curiosity_ros.nodes.conversions.images import images_of_frame
from bayes_curiosity_ros.nodes.conversions.values import stamp_of
from bayes_curiosity_ros.nodes.qos import LATCHED_QOS
from benchmarks.faults.hostile import spoil, spoil_numbers
from benchmarks.faults.legitimate import (
    legitimate_frame,
    legitimate_joints,
    legitimate_state,
    write_bag,
)
from benchmarks.faults.people import WISHES, Demonstrate, Drive
from benchmarks.faults.target import (
    ANSWER_S,
    FOREIGN,
    Input,
    Message,
    NoAnswerError,
    Target,
    plain,
    spoilt,
    stranger,
)
from support.graph import eventually

REASON_LETTERS = 2000  # longest reason that may be repeated on a status


def claim(rng: random.Random) -> Any:
    """A claim that gives nobody anything: of a run that has nothing, of no run, or of no kind."""
    run, request = rng.randrange(1, 1 << 64), Claim.Request
    what, by = rng.choice(
        (
            (request.KEEP, run),
            (request.LEAVE, run),
            (request.TAKE, 0),
            (rng.randrange(3, 256), run),
        )
    )
    return request(what=what, run=by)


class Arm(Target):
    name = "arm"

    def prepare(self) -> None:
        self.parameters = {"backend": "sim", "task": "reach"}
        self._status = self.inbox(ArmStatus, "arm/status", LATCHED_QOS)
        self._accepted = 0

    def inputs(self) -> list[Input]:
        return [
            Input("action", Action, self._act, stranger(Action)),
            Input("arm/stop", String, spoilt(lambda rng: String()), lambda rng: String(data="x")),
            Input("arm/reset_episode", ResetEpisode, self._reset),
            Input("arm/claim", Claim, claim),
            # Nobody has taken the arm over, so nothing comes of what a person wants.
            *(plain(topic, kind) for topic, kind in WISHES.items()),
        ]

    def _act(self, rng: random.Random) -> Any:
        if rng.random() < 0.5:
            action = spoil(Action(joint_deltas=array.array("d", [0.01] * 6)), rng)
            action.episode = FOREIGN + rng.randrange(FOREIGN)
            return action
        action = Action(episode=1, step=0, joint_deltas=array.array("d", [0.01] * 6))
        return spoil_numbers(action, ("joint_deltas", "gripper"), rng)

    def _reset(self, rng: random.Random) -> Any:
        """Resets are legitimate, whatever their numbers are; the probe makes its own after."""
        return spoil(ResetEpisode.Request(), rng)

    def probe(self) -> Any:
        answer, deadline = self._released_and_reset(), time.monotonic() + ANSWER_S
        while answer.status.code != Status.OK:  # by a stop that was still on its way
            if time.monotonic() > deadline:
                raise NoAnswerError(answer.status.message)
            answer = self._released_and_reset()
        status = eventually(self._status, lambda m: m.state == ArmStatus.READY, ANSWER_S)
        too_long = len(status.reason) > REASON_LETTERS
        return list(answer.state.positions), status.accepted, too_long

    def _released_and_reset(self) -> Any:
        self.call(Trigger, "arm/release", Trigger.Request())
        request = ResetEpisode.Request(episode=1, seed=7)
        return self.call(ResetEpisode, "arm/reset_episode", request)


class Curiosity(Target):
    name = "curiosity"
    count = 40

    def prepare(self) -> None:
        self.parameters = {"model_folder": str(self.folder / "models")}
        rng = np.random.default_rng(0)
        self._vectors = rng.normal(size=(self.count, 9))
        self._rewards = self.inbox(IntrinsicReward, "intrinsic_reward")
        self._episode = 1
        self._taken = False

    def inputs(self) -> list[Input]:
        return [
            Input("observation", Observation, self._observe, stranger(Observation)),
            Input("curiosity/evaluate", Evaluate, self._evaluate),
            Input("curiosity/update", Update, self._update),
            Input("curiosity/save", ModelFile, self._path),
            Input("curiosity/load", ModelFile, self._path),
            Input("curiosity/claim", Claim, claim),
        ]

    def _observe(self, rng: random.Random) -> Any:
        return spoil(stranger(Observation)(rng), rng)

    def batch(self) -> ObservationBatch:
        return ObservationBatch(
            count=self.count, vectors=array.array("d", self._vectors.ravel().tolist())
        )

    def _evaluate(self, rng: random.Random) -> Any:
        return spoil(Evaluate.Request(observations=self.batch()), rng, 4)

    def _update(self, rng: random.Random) -> Any:
        request = Update.Request(episode=FOREIGN + rng.randrange(FOREIGN))
        request.observations = spoil_numbers(self.batch(), ("vectors",), rng)
        if rng.random() < 0.3:
            request.observations.image_height = request.observations.image_width = 2**32 - 1
        return request

    def _path(self, rng: random.Random) -> Any:
        outside = self.folder / f"outside_{rng.randrange(1000)}"
        names = (
            "../x",
            "../../y",
            str(outside),
            "/",
            ".",
            "..",
            "",
            "x" * 300,
            "a\0b",
            "/dev/full",
        )
        return ModelFile.Request(path=rng.choice(names))

    def probe(self) -> Any:
        if not self._taken:
            self._taken = True
            self.call(Update, "curiosity/update", Update.Request(observations=self.batch()))
        request = Evaluate.Request(mode=Evaluate.Request.EPISODE, observations=self.batch())
        answer = self.call(Evaluate, "curiosity/evaluate", request)
        if answer.status.code != Status.OK:
            raise NoAnswerError(answer.status.message)
        return list(answer.variance), answer.observations_seen, answer.model_id, self._strays()

    def _strays(self) -> list[str]:
        """Files that should not be there."""
        return sorted(str(path) for path in self.folder.glob("*") if path.name != "models")


class Camera(Target):
    name = "camera"

    def prepare(self) -> None:
        self.parameters = {"backend": "sim", "task": "reach"}
        self._images = self.inbox(Image, "camera/color/image_raw")
        self._depths = self.inbox(Image, "camera/depth/image_raw")
        self._glances = self.inbox(Image, "camera/color/glance")
        self._number = 0

    def inputs(self) -> list[Input]:
        make = lambda rng: legitimate_state(rng.random())  # noqa: E731
        topics = ("arm/state", "arm/glance")
        return [Input(topic, ArmState, spoilt(make), make) for topic in topics]

    def probe(self) -> Any:
        self._number += 1
        state = legitimate_state(1000.0 + self._number)
        publish = lambda: self.publisher(ArmState, "arm/state").publish(state)  # noqa: E731
        fits = lambda m: m.header.stamp == state.header.stamp  # noqa: E731
        color = self.insist(publish, self._images, fits)
        return bytes(color.data)


class Detector(Target):
    name = "detector"

    def prepare(self) -> None:
        self._poses = self.inbox(PoseStamped, "object_pose")
        self._frame = legitimate_frame()
        self._number = 0

    def _images(self, stamp_s: float) -> tuple[Image, Image]:
        color, depth = images_of_frame(self._frame)
        color.header.stamp = depth.header.stamp = stamp_of(stamp_s)
        return color, depth

    def inputs(self) -> list[Input]:
        color = lambda rng: self._images(0.0)[0]  # noqa: E731
        depth = lambda rng: self._images(0.0)[1]  # noqa: E731
        return [
            Input("camera/color/image_raw", Image, _hostile_image(color), color),
            Input("camera/depth/image_raw", Image, _hostile_image(depth), depth),
        ]

    def probe(self) -> Any:
        self._number += 1
        color, depth = self._images(1000.0 + self._number)

        def publish() -> None:
            self.publisher(Image, "camera/color/image_raw").publish(color)
            time.sleep(0.05)
            self.publisher(Image, "camera/depth/image_raw").publish(depth)

        pose = self.insist(publish, self._poses, lambda m: m.header.stamp == depth.header.stamp)
        spot = pose.pose.position
        return spot.x, spot.y, spot.z


class Description(Target):
    name = "description"

    def prepare(self) -> None:
        self._tf = self.inbox(TFMessage, "/tf")
        self._number = 0

    def inputs(self) -> list[Input]:
        joints = lambda rng: legitimate_joints(rng.random())  # noqa: E731
        states = lambda rng: legitimate_state(rng.random())  # noqa: E731
        return [
            Input("joint_states", JointState, spoilt(joints), joints),
            Input("arm/state", ArmState, spoilt(states), states),
        ]

    def probe(self) -> Any:
        self._number += 1
        joints = legitimate_joints(1000.0 + self._number)
        publish = lambda: self.publisher(JointState, "joint_states").publish(joints)  # noqa: E731

        def fits(message: TFMessage) -> bool:
            return any(t.header.stamp == joints.header.stamp for t in message.transforms)

        found = self.insist(publish, self._tf, fits)
        spots = [t.transform.translation for t in found.transforms]
        return [(spot.x, spot.y, spot.z) for spot in spots]


class Recorder(Target):
    name = "recorder"

    def prepare(self) -> None:
        self.parameters = {"folder": str(self.folder), "name": "bag"}
        self._status = self.inbox(DiagnosticStatus, "recorder/status", LATCHED_QOS)
        self._episode = 0

    def inputs(self) -> list[Input]:
        kinds = {"observation": Observation, "action": Action, "episode": EpisodeSummary}
        kinds |= {"intrinsic_reward": IntrinsicReward}
        found = [
            Input(name, kind, spoilt(_foreign_episode(kind)), _foreign_episode(kind))
            for name, kind in kinds.items()
        ]
        states = lambda rng: legitimate_state(rng.random(), FOREIGN)  # noqa: E731
        return [*found, Input("arm/state", ArmState, spoilt(states), states)]

    def probe(self) -> Any:
        """An episode of ours is recorded: the recorder says so, or at least that it records."""
        before = self._messages(lambda count: True)
        self._episode += 1
        for step in range(3):
            vector = array.array("d", [float(step)] * 9)
            message = Observation(episode=self._episode, step=step, vector=vector)
            self.publisher(Observation, "observation").publish(message)
        summary = EpisodeSummary(episode=self._episode, steps=2)
        self.publisher(EpisodeSummary, "episode").publish(summary)
        self._messages(lambda count: count > before)
        return "records"

    def _messages(self, fits: Callable[[int], bool]) -> int:
        def count(status: DiagnosticStatus) -> int:
            return max((int(v.value) for v in status.values if v.key == "messages"), default=-1)

        return count(eventually(self._status, lambda m: fits(count(m)), ANSWER_S))


class Replay(Target):
    name = "replay"

    def prepare(self) -> None:
        bag = write_bag(self.folder / "bag")
        self.parameters = {"bag": str(bag), "paused": "true", "wait_s": 0.0}

    def inputs(self) -> list[Input]:
        seek = lambda rng: UInt64(data=(1 << 64) - 1 - rng.randrange(1 << 32))  # noqa: E731
        return [Input("replay/seek", UInt64, seek, lambda rng: UInt64(data=(1 << 64) - 1))]

    def probe(self) -> Any:
        answer = self.call(Trigger, "replay/pause", Trigger.Request())
        return answer.success


class Monitor(Target):
    name = "monitor"

    def prepare(self) -> None:
        self._port = port_of_page("127.0.0.1", 0)
        self.parameters = {"web_port": self._port}

    def inputs(self) -> list[Input]:
        shown = {"joint_states": JointState, "arm/glance": ArmState, "episode": EpisodeSummary}
        shown |= {"curiosity/map": PointCloud2, "/diagnostics": DiagnosticArray}
        shown |= dict.fromkeys(PICTURES.values(), Image)
        latched = {"arm/status": ArmStatus, "learner/status": LearnerStatus}
        latched |= {"curiosity/state": CuriosityState, "recorder/status": DiagnosticStatus}
        latched |= {"replay/status": DiagnosticStatus}
        return [
            *(plain(topic, kind) for topic, kind in shown.items()),
            *(plain(topic, kind, LATCHED_QOS) for topic, kind in latched.items()),
        ]

    def probe(self) -> Any:
        """It holds nothing but a picture: the page is there."""
        try:
            with urlopen(f"http://127.0.0.1:{self._port}/", timeout=ANSWER_S) as page:
                return page.status, len(page.read())
        except OSError as error:
            raise NoAnswerError(str(error)) from error


NODES = (
    Arm, Camera, Curiosity, Demonstrate, Description, Detector, Drive, Monitor, Recorder, Replay,
)  # fmt: skip
TARGETS: dict[str, type[Target]] = {kind.name: kind for kind in NODES}


def _foreign_episode(kind: Any) -> Message:
    return lambda rng: kind(episode=FOREIGN + rng.randrange(FOREIGN))


def _hostile_image(make: Message) -> Message:
    def hostile(rng: random.Random) -> Any:
        image = make(rng)
        if rng.random() < 0.5:  # a size that fits its data, but not the camera's
            side = rng.choice((1, 2, 31, 32, 65, 128))
            size = 3 if image.encoding == "rgb8" else 4
            image.height = image.width = side
            image.step, image.data = side * size, array.array("B", bytes(side * side * size))
            return image
        return spoil(image, rng)

    return hostile
