"""Nodes that are sent hundreds of messages nobody should send: none ends, nothing changes."""

import array
import asyncio
import inspect
import math
from types import SimpleNamespace

import numpy as np
import pytest
import rclpy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import String

from bayes_curiosity_interfaces.msg import (
    ArmState,
    CuriosityState,
    ObservationBatch,
    Status,
)
from bayes_curiosity_interfaces.srv import Evaluate, ModelFile, ResetEpisode
from bayes_curiosity_ros.bags.storage import Record
from bayes_curiosity_ros.nodes.arm_client import ArmClient
from bayes_curiosity_ros.nodes.arm_node import ArmNode
from bayes_curiosity_ros.nodes.camera_node import CameraNode
from bayes_curiosity_ros.nodes.conversions.images import images_of_frame
from bayes_curiosity_ros.nodes.curiosity_node import CuriosityNode
from bayes_curiosity_ros.nodes.demonstrate_node import DemonstrateNode
from bayes_curiosity_ros.nodes.description_node import DescriptionNode
from bayes_curiosity_ros.nodes.descriptions import RCLPY, TABLE
from bayes_curiosity_ros.nodes.detector_node import DetectorNode
from bayes_curiosity_ros.nodes.door import CheckedNode
from bayes_curiosity_ros.nodes.recorder_node import RecorderNode
from bayes_curiosity_ros.nodes.waiter import WaitTimeoutError
from bayes_curiosity_ros.robot.cameras.camera import Frame
from bayes_curiosity_ros.tasks.registry import make_task
from support.curiosity import vectors
from support.hostile import broken, hostile

# Whatever is in a request of these, it is a request.
ALWAYS_RIGHT = {"claim", "reset", "reset_episode", "save"}
TIMES = 100


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """One node of each kind in this process; nobody spins them, the tests call their callbacks."""
    folder = tmp_path_factory.mktemp("run")
    given = {"folder": folder, "name": "bag", "model_folder": folder, "autostart": "false"}
    words = [word for key, value in given.items() for word in ("-p", f"{key}:={value}")]
    rclpy.init(args=["--ros-args", *words])
    kinds = (ArmNode, CameraNode, CuriosityNode, DemonstrateNode, DescriptionNode, DetectorNode)
    made = {kind.__name__: kind() for kind in (*kinds, RecorderNode)}
    try:
        made["ArmNode"].start()
        made["CameraNode"].start()
        made["CameraNode"]._watched = lambda: True
        made["CameraNode"]._listen_or_not()
        yield SimpleNamespace(**{name.removesuffix("Node").lower(): n for name, n in made.items()})
    finally:
        made["RecorderNode"].close("the end")
        made["ArmNode"].close("the end")
        for node in made.values():
            node.destroy_node()
        rclpy.try_shutdown()


def ask(node, name, request):
    """What a service of a node answers."""
    found = next(each for each in node.services if each.srv_name.endswith(f"/{name}"))
    answer = found.callback(request, found.srv_type.Response())
    return asyncio.run(_awaited(answer)) if inspect.isawaitable(answer) else answer


async def _awaited(answer):
    return await answer


def tell(node, topic, message):
    """Give a message to a node's subscription, as an executor would."""
    found = next(each for each in node.subscriptions if each.topic_name.endswith(topic))
    raw = isinstance(message, bytes) or not found.raw
    found.callback(message if raw else serialize_message(message))


def inputs(node):
    """Types that come to a node: of its topics, and of its services."""
    topics = {each.topic_name: each.msg_type for each in node.subscriptions}
    services = {each.srv_name: each.srv_type.Request for each in node.services}
    ours = {n: k for n, k in services.items() if k.__module__.split(".")[0] not in RCLPY}
    return topics, ours


def bombard(node):
    """Everything hostile to every input of a node but those where all is right."""
    rng = np.random.default_rng(1)
    topics, services = inputs(node)
    for name, kind in topics.items():
        raw = next(each.raw for each in node.subscriptions if each.topic_name == name)
        for _ in range(0 if name.endswith("arm/stop") else TIMES):
            tell(node, name, hostile(kind, rng))
        for data in broken(kind(), rng) if raw else ():
            tell(node, name, data)
    for name, kind in services.items():
        last = name.rpartition("/")[2]
        if kind.get_fields_and_field_types() and last not in ALWAYS_RIGHT:
            for _ in range(TIMES):
                ask(node, last, hostile(kind, rng))


@pytest.mark.parametrize(
    "name", ["arm", "camera", "curiosity", "demonstrate", "description", "detector"]
)
def test_every_input_of_every_node_is_described(nodes, name):
    topics, services = inputs(getattr(nodes, name))
    assert {*topics.values(), *services.values()} <= TABLE.keys()


def test_an_arm_that_is_sent_nonsense_does_what_it_did(nodes):
    first = ask(nodes.arm, "reset_episode", ResetEpisode.Request(episode=1, seed=3))
    assert first.status.code == Status.OK
    bombard(nodes.arm)
    supervisor = nodes.arm.supervisor
    assert (supervisor.step, supervisor.counters.accepted) == ((1, 0), 0)
    assert not nodes.arm.door.failed
    again = ask(nodes.arm, "reset_episode", ResetEpisode.Request(episode=1, seed=3))
    assert again.state.positions == first.state.positions


def test_a_stop_stops_however_long_its_reason_is(nodes):
    ask(nodes.arm, "reset_episode", ResetEpisode.Request(episode=1))
    tell(nodes.arm, "arm/stop", String(data="x" * 5_000_000))
    assert nodes.arm.supervisor.state.name == "STOPPED"
    assert len(nodes.arm.supervisor.reason) < 1000
    nodes.arm.supervisor.release()


def test_a_camera_shows_only_the_arm_that_it_knows(nodes):
    camera = nodes.camera
    state = ask(nodes.arm, "reset_episode", ResetEpisode.Request(episode=1)).state
    before = camera._frames
    bombard(camera)
    for count in (7, 8, 10):  # other numbers of fingers
        numbers = array.array("d", [0.1] * count)
        names = [*state.joint_names, "one", "more"][:count]
        other = ArmState(joint_names=names, positions=numbers, velocities=numbers)
        other.object_known, other.object_pose = True, state.object_pose
        tell(camera, "arm/state", other)
    assert camera._frames == before
    assert not camera.door.failed
    tell(camera, "arm/state", state)
    assert camera._frames == before + 1


def test_a_curiosity_that_is_sent_nonsense_has_learnt_nothing(nodes):
    node = nodes.curiosity
    legitimate = Evaluate.Request(observations=vectors(5))
    before = ask(node, "evaluate", legitimate)
    bombard(node)
    huge = ObservationBatch(count=1, image_height=1 << 31, image_width=1 << 31)
    huge.vectors = array.array("d", [0.0] * 9)
    for count in (1 << 31, 4, 1):
        huge.count = count
        for image in ((1 << 31, 1 << 31), ((1 << 32) - 1, (1 << 32) - 1), (1 << 31, 1 << 2)):
            huge.image_height, huge.image_width = image
            answer = ask(node, "evaluate", Evaluate.Request(observations=huge))
            assert answer.status.code != Status.OK
    assert not node.door.failed
    long = ask(node, "load", ModelFile.Request(path="x" * 300))
    assert long.status.code == Status.BAD_FILE
    assert ask(node, "evaluate", legitimate) == before


def test_a_detector_that_sees_another_size_sees_nothing(nodes):
    bombard(nodes.detector)
    frame = Frame(np.zeros((32, 32, 3), np.uint8), np.ones((32, 32), np.float32), 0.0)
    frame.color[..., 0] = 255
    color, depth = images_of_frame(frame)
    tell(nodes.detector, "color/image_raw", color)
    tell(nodes.detector, "depth/image_raw", depth)
    tell(nodes.detector, "depth/image_raw", Image())
    assert not nodes.detector.door.failed


def test_angles_that_are_no_numbers_are_not_drawn(nodes):
    node, drawn = nodes.description, []
    node._tf = SimpleNamespace(publish=drawn.append)
    bombard(node)
    node._drawn_s["links"] = 0.0
    names = list(node._robot.arm.joints)
    tell(node, "joint_states", JointState(name=names, position=[math.nan] * len(names)))
    for message in drawn:
        for each in message.transforms:
            turn = each.transform.rotation
            assert all(map(math.isfinite, (turn.w, turn.x, turn.y, turn.z)))
    drawn.clear()
    tell(node, "joint_states", JointState(name=names, position=[0.1] * len(names)))
    assert len(drawn) == 1  # what was rejected did not count as drawn
    assert not node.door.failed
    bombard(nodes.demonstrate)
    assert not nodes.demonstrate.door.failed


def test_a_recorder_keeps_the_model_of_the_last_state_that_it_could_read(nodes):
    recorder, rng = nodes.recorder, np.random.default_rng(0)
    whole = CuriosityState(model_id="abc")
    every = [serialize_message(whole), *broken(CuriosityState(), rng), b""]
    recorder._note_model([Record("/curiosity/state", 0, 0, data) for data in every[:3]])
    assert recorder._model_id == "abc"
    assert recorder.door.rejected["/curiosity/state"] == 2
    unread = Record("/tf", 0, 0, b"\x00\x01\x00\x00\xff")
    assert recorder._of_our_frames(unread) == unread


class Asked:
    """A waiter that answers a reset with a state, and waits for nothing."""

    def __init__(self, client_of, state):
        self.state, self.heard = state, client_of

    def call(self, client, request, timeout_s, peers):
        self.heard()
        return ResetEpisode.Response(state=self.state)

    call_again = call

    def until(self, ready, timeout_s, what, step=False):
        if not ready():
            raise WaitTimeoutError(what)


def test_a_learner_believes_no_state_of_another_arm(nodes):
    task = make_task("reach")
    state = ask(nodes.arm, "reset_episode", ResetEpisode.Request(episode=1)).state
    node = CheckedNode("learning")
    try:
        asked = Asked(lambda: tell(node, "arm/state", state), state)
        client = ArmClient(node, asked, task, 1.0, 1.0, True, 0)
        row = client.reset(1, 0)
        count = len(task.robot.arm.joints)
        for lies in (
            {"joint_names": state.joint_names[:count]},
            {"joint_names": [], "positions": array.array("d")},
            {"joint_names": ["elbow"] * len(state.joint_names)},
            {"positions": array.array("d", [math.nan] * len(state.positions))},
            {"velocities": state.velocities[:2]},
        ):
            lie = ArmState(**{s[1:]: getattr(state, s[1:]) for s in state.__slots__[:-1]} | lies)
            for name in ("positions", "velocities"):
                if "joint_names" in lies and len(lie.joint_names) < len(getattr(lie, name)):
                    setattr(lie, name, getattr(lie, name)[: len(lie.joint_names)])
            client._state = None
            tell(node, "arm/state", lie)
            assert client._state is None, lies
        assert node.door.rejected["arm/state"] == 5
        bombard(node)
        assert not node.door.failed
        np.testing.assert_array_equal(client.reset(1, 0), row)
    finally:
        node.destroy_node()


def test_what_was_rejected_is_told_on_diagnostics(nodes):
    node, told = nodes.detector, []
    tell(node, "color/image_raw", Image(encoding="x" * 9999))
    node._diagnosis = lambda counts: told.append(counts) or type(node)._diagnosis(node, counts)
    next(iter(node.timers)).callback()
    assert told[0]["rejected camera/color/image_raw"] >= 1
