"""TF for real: published, recorded, and published again by a replay."""

import array
import contextlib
import gc

import numpy as np
import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.serialization import deserialize_message
from rosbags.typesys import Stores, get_typestore
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker

from bayes_curiosity_interfaces.msg import ArmState
from bayes_curiosity_ros.bags.definitions import find_definition
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.bringup.table import nodes
from bayes_curiosity_ros.bringup.up import command_of
from bayes_curiosity_ros.cli import main
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS
from bayes_curiosity_ros.resources import find
from bayes_curiosity_ros.robot.cameras.camera import Extrinsics
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.kinematics import Kinematics
from support.driver import ARM
from support.graph import Graph, parameters, wait_until_recorded
from support.processes import output_of, stopped
from support.waiting import wait_for

DESCRIPTION = "bayes_curiosity_ros.nodes.description_node"
RECORDER = "bayes_curiosity_ros.nodes.recorder_node"
REPLAY = "bayes_curiosity_ros.nodes.replay_node"
OBJECT = (0.4, -0.1, 0.06)


@pytest.fixture(scope="module")
def robot():
    return RobotConfig.load("jaco.yaml")


class Listener:
    """What a listener of TF knows: the newest transform of every child."""

    def __init__(self, background):
        node = background.node
        self.transforms, self.markers, self.urdf = {}, [], []
        node.create_subscription(TFMessage, "/tf", self.take, EPISODE_QOS)
        node.create_subscription(TFMessage, "/tf_static", self.take, LATCHED_QOS)
        node.create_subscription(Marker, "object_marker", self.markers.append, EPISODE_QOS)
        node.create_subscription(
            String, "robot_description", lambda m: self.urdf.append(m.data), LATCHED_QOS
        )

    def take(self, message):
        for transform in message.transforms:
            self.transforms[transform.child_frame_id] = transform

    def pose(self, frame):
        """Position and rotation in the world, along the chain of parents."""
        position, rotation = np.zeros(3), np.eye(3)
        while frame != "world":
            step = self.transforms[frame]
            shift, turn = step.transform.translation, rotation_of(step.transform.rotation)
            position = np.array([shift.x, shift.y, shift.z]) + turn @ position
            rotation, frame = turn @ rotation, step.header.frame_id
        return position, rotation


def rotation_of(q):
    """Hamilton's formula, not the code under test."""
    w, x, y, z = q.w, q.x, q.y, q.z
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def publish(graph, robot, joints):
    graph.publish("joint_states", JointState(name=robot.arm.joints, position=joints.tolist()))
    state = ArmState(positions=array.array("d", joints), object_known=True)
    spot = state.object_pose.position
    spot.x, spot.y, spot.z = OBJECT
    state.object_pose.orientation.w = 1.0
    graph.publish("arm/state", state)


def shows(listener, robot, joints):
    """Whether hand, camera and object are where they should be."""
    if not {robot.arm.end_effector, "camera_optical_frame", "object"} <= set(listener.transforms):
        return False
    hand, camera = Kinematics(robot).forward(joints), Extrinsics.of(robot.world.camera)
    expected = {
        robot.arm.end_effector: (hand.position, hand.rotation),
        "camera_optical_frame": (camera.position, camera.rotation),
        "object": (OBJECT, np.eye(3)),
    }
    return all(
        np.allclose(found, wanted, atol=1e-9)
        for frame, pose in expected.items()
        for found, wanted in zip(listener.pose(frame), pose, strict=True)
    )


def rviz_frames():
    """Frames that the RViz configuration names."""
    manager = yaml.safe_load(find("rviz", "cell.rviz").read_text())["Visualization Manager"]
    named = {display.get("Reference Frame", "world") for display in manager["Displays"]}
    return named | {manager["Global Options"]["Fixed Frame"]}


def test_the_message_is_tf2s_own():
    """Another reader's table of Jazzy's types knows its hash; other programs then accept it."""
    ours = find_definition("tf2_msgs/msg/TFMessage")
    assert ours.type_hash == get_typestore(Stores.ROS2_JAZZY).hash_rihs01(ours.type_name)


def test_tf_is_published_recorded_and_replayed(start, background, robot, tmp_path, capsys):
    rng, listener = np.random.default_rng(0), Listener(background)
    description = start(DESCRIPTION)
    bag = tmp_path / "run"
    recorder = start(RECORDER, *parameters(folder=tmp_path, name="run"))
    graph = Graph(background, {"joint_states": 2, "arm/state": 2})
    wait_until_recorded(background, 2)  # robot_description and /tf_static
    for _ in range(3):
        joints = np.array(robot.arm.ready_rad) + rng.uniform(-0.5, 0.5, 6)

        def shown(joints=joints):
            publish(graph, robot, joints)
            return shows(listener, robot, joints)

        wait_for(shown, "transform of the pose")
    assert rviz_frames() <= {"world", *listener.transforms}
    assert "<robot" in listener.urdf[0]
    assert listener.markers[-1].scale.z == robot.world.object.height_m
    for process in (recorder, description):
        output = stopped(process)
        assert process.returncode == 0, output

    reader = BagReader(bag)
    again = Listener(background)
    again.transforms.clear()
    for record in reader.records():
        if record.topic in ("/tf", "/tf_static"):
            again.take(deserialize_message(record.data, TFMessage))
    assert shows(again, robot, joints)
    fixed = reader.metadata.topics["/tf_static"][0]
    assert fixed.qos[0].durability == "transient_local"
    main(["bag", "info", str(bag)])
    told = capsys.readouterr().out
    assert all(f"/{name} " in told for name in ("tf", "tf_static", "robot_description"))

    heard = Listener(background)
    replay = start(REPLAY, *parameters(bag=bag, rate=0.0))
    output = output_of(replay)
    assert replay.returncode == 0, output
    wait_for(lambda: shows(heard, robot, joints), "replayed pose")
    leaves_the_graph(bag, background)


def leaves_the_graph(bag, background):
    """A replay in this process takes what it latched with it, not only once that is collected."""
    published = background.node.count_publishers
    gc.disable()
    try:
        assert main(["replay", str(bag), "--rate", "0"]) == 0
        wait_for(lambda: published("robot_description") == 0, "end of the latched description")
    finally:
        gc.enable()


def so_far(bag):
    """Records of a bag that is being written; none before there is one."""
    with contextlib.suppress(BagError):
        return list(BagReader(bag).records())
    return []


def test_two_cells_in_one_graph_keep_apart(start, background, robot, tmp_path):
    """Every frame but the world is of one of them, and a recorder keeps its own alone."""
    listener = Listener(background)
    for side in ("left", "right"):
        words = parameters(frame_prefix=f"{side}/", rate_hz=1000.0)
        start(DESCRIPTION, *words, "-r", f"__ns:=/{side}", "-r", "joint_states:=/joint_states")
    words = parameters(folder=tmp_path, name="run", frame_prefix="left/")
    recorder = start(RECORDER, *words, "-r", "__ns:=/left")
    graph = Graph(background, {"joint_states": 2})

    def recorded():
        """Frames of what is in the bag; both cells publish what they hear."""
        publish(graph, robot, np.array(robot.arm.ready_rad))
        messages = {"/tf": set(), "/tf_static": set()}
        for record in so_far(tmp_path / "run"):
            if record.topic in messages:
                for transform in deserialize_message(record.data, TFMessage).transforms:
                    messages[record.topic].add(transform.child_frame_id)
        return messages if all(messages.values()) else {}

    wait_for(recorded, "transforms in the bag")
    wait_for(lambda: {"left/link_1", "right/link_1"} <= set(listener.transforms), "both arms")
    left, right = (listener.pose(f"{side}/link_1")[0] for side in ("left", "right"))
    np.testing.assert_array_equal(left, right)  # in one world
    output = stopped(recorder)
    assert recorder.returncode == 0, output
    frames = set().union(*recorded().values())
    assert {"left/camera_optical_frame", "left/link_1"} <= frames
    assert all(frame.startswith("left/") for frame in frames)


def test_diagnostics_of_two_cells_are_told_apart_in_a_bag(start, tmp_path):
    """There is one topic of them in a graph, as every ROS tool expects; all else is a cell's."""
    for side in ("left", "right"):
        start(ARM, "--ros-args", "-r", f"__ns:=/{side}")
    words = parameters(folder=tmp_path, name="run")
    recorder = start(RECORDER, *words, "-r", "__ns:=/left")
    wanted = {"/left/arm: sim", "/right/arm: sim"}

    def recorded():
        told = [r.data for r in so_far(tmp_path / "run") if r.topic == "/diagnostics"]
        arrays = [deserialize_message(data, DiagnosticArray) for data in told]
        return {status.name for array in arrays for status in array.status}

    wait_for(lambda: wanted <= recorded(), "word of both arms")
    output = stopped(recorder)
    assert recorder.returncode == 0, output
    topics = BagReader(tmp_path / "run").metadata.topics
    assert "/left/arm/status" in topics
    assert not [topic for topic in topics if topic.startswith("/right/")]


def test_a_watcher_in_a_namespace_hears_the_clock_of_its_simulation(start, background):
    given = {"namespace": "left", "description": "true", "use_sim_time": "true"}
    (spec,) = [spec for spec in nodes(given) if spec.name == "description"]
    start(spec.module, *command_of(spec, "left")[3:])

    def listeners(topic):
        found = background.node.get_subscriptions_info_by_topic(topic)
        return [info.node_name for info in found]

    wait_for(lambda: "description" in listeners("/left/clock"), "listener to the clock")
    assert "description" not in listeners("/clock")
    start(ARM, "--ros-args", "-r", "__ns:=/left")
    wait_for(lambda: background.node.count_publishers("/left/clock"), "clock of the simulation")
    assert not background.node.count_publishers("/clock")


def test_a_prefix_that_tf_refuses_is_refused(start):
    process = start(DESCRIPTION, *parameters(frame_prefix="/left"))
    assert "frames do not begin with a slash" in output_of(process)
    assert process.returncode == 2


def test_beside_robot_state_publisher_only_the_world_is_ours(start, background, robot):
    listener = Listener(background)
    start(DESCRIPTION, *parameters(links="false"))
    graph = Graph(background, {"arm/state": 1})
    joints = np.array(robot.arm.ready_rad)

    def drawn():
        publish(graph, robot, joints)
        return "object" in listener.transforms and "camera_optical_frame" in listener.transforms

    wait_for(drawn, "object and camera")
    assert set(listener.transforms) == {"object", "camera_optical_frame", "root"}
