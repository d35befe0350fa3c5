"""The camera node on top of a driver's topics; the driver is a real ROS node."""

import array
import time

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.nodes.conversions.images import frame_of_images
from bayes_curiosity_ros.nodes.conversions.values import stamp_of
from bayes_curiosity_ros.robot.cameras import topics
from bayes_curiosity_ros.robot.cameras.decoders import Decoder
from bayes_curiosity_ros.robot.cameras.encodings import DEPTH_HEADER
from bayes_curiosity_ros.robot.cameras.topics import TopicsCamera, TopicsConfig
from bayes_curiosity_ros.robot.config import RobotConfig
from support.graph import parameters
from support.processes import output_of
from support.waiting import WAIT_S, wait_for

cv2 = pytest.importorskip("cv2", reason="OpenCV is for real cameras only")
NODE = "bayes_curiosity_ros.nodes.camera_node"
WIDTH, HEIGHT = 640, 480
RED_M, BLUE_M = 0.5, 1.5
TICK_S = 0.05


class Driver:
    """An RGBD camera before a wall: the left half red and near, the right half blue and far."""

    def __init__(self, background, compressed, behind_s=0.0):
        self.compressed, self.late_s, self.height = compressed, 0.0, HEIGHT
        self._behind_s, self._ticks = behind_s, 0
        self._node = background.node
        kind, color, depth = Image, "", ""
        if compressed:
            kind, color, depth = CompressedImage, "/compressed", "/compressedDepth"
        self.topics = {"color": f"driver/color{color}", "depth": f"driver/depth{depth}"}
        self._color, self._depth = (
            self._node.create_publisher(kind, topic, qos_profile_sensor_data)
            for topic in self.topics.values()
        )
        self._info = self._node.create_publisher(
            CameraInfo, "driver/info", qos_profile_sensor_data
        )
        self._node.create_timer(TICK_S, self._tick)

    def _tick(self):
        # Whole ticks of its clock, however late we are called: images are never closer.
        self._ticks = max(self._ticks + 1, int((time.time() - self._behind_s) / TICK_S))
        self.stamp_s = self._ticks * TICK_S
        info = CameraInfo(width=WIDTH, height=HEIGHT)
        info.k = [600.0, 0.0, 319.5, 0.0, 600.0, 239.5, 0.0, 0.0, 1.0]
        right = np.arange(WIDTH) >= WIDTH // 2
        color = np.where(right[:, None], [255, 0, 0], [0, 0, 255]).astype(np.uint8)  # BGR
        depth = (1000 * np.where(right, BLUE_M, RED_M)).astype(np.uint16)
        self._publish(self._color, np.tile(color, (self.height, 1, 1)), "bgr8", 0.0)
        self._publish(self._depth, np.tile(depth, (self.height, 1)), "16UC1", self.late_s)
        self._info.publish(info)

    def _publish(self, publisher, pixels, encoding, late_s):
        if self.compressed:
            head = DEPTH_HEADER.pack(0, 0.0, 0.0) if encoding == "16UC1" else b""
            data = head + cv2.imencode(".png", pixels)[1].tobytes()
            message = CompressedImage(format=f"{encoding}; png", data=array.array("B", data))
        else:
            message = Image(height=len(pixels), width=WIDTH, encoding=encoding)
            message.step = pixels.nbytes // len(pixels)
            message.data = array.array("B", pixels.tobytes())
        message.header.stamp = stamp_of(self.stamp_s + late_s)
        publisher.publish(message)


class Seen:
    """What the camera node makes of it."""

    def __init__(self, background):
        self.color, self.depth, self.problems = {}, {}, []
        node = background.node
        for kind, images in (("color", self.color), ("depth", self.depth)):
            node.create_subscription(
                Image,
                f"camera/{kind}/image_raw",
                lambda m, images=images: images.update(
                    {(m.header.stamp.sec, m.header.stamp.nanosec): m}
                ),
                qos_profile_sensor_data,
            )
        node.create_subscription(DiagnosticArray, "/diagnostics", self._take, 10)

    def _take(self, message):
        self.problems += [status.message for status in message.status]

    def said(self, words):
        return any(words in problem for problem in self.problems)

    def frame(self):
        """One of which both images have come."""
        for stamp in sorted(set(self.color) & set(self.depth)):
            return frame_of_images(self.color[stamp], self.depth[stamp])
        return None


@pytest.fixture
def see(start, background):
    """Function that starts a camera node on a driver's topics; what the node makes of them."""

    def run(driver, **options):
        seen = Seen(background)
        topics = {f"topics__{kind}_topic": topic for kind, topic in driver.topics.items()}
        topics["topics__info_topic"] = "driver/info"
        start(NODE, *parameters(backend="topics", read_timeout_s=0.3, **topics, **options))
        return seen

    return run


@pytest.fixture
def driver_node():
    with BackgroundNode("driver") as node:
        yield node


@pytest.mark.parametrize("compressed", [False, True], ids=["raw", "compressed"])
def test_a_drivers_images_become_frames(see, driver_node, compressed):
    seen = see(Driver(driver_node, compressed))
    wait_for(seen.frame, "frame")
    frame = seen.frame()
    assert frame.color.shape == (64, 64, 3)
    assert (frame.color[:, :30] == [255, 0, 0]).all()
    assert (frame.color[:, 34:] == [0, 0, 255]).all()
    np.testing.assert_allclose(frame.depth[:, :30], RED_M)
    np.testing.assert_allclose(frame.depth[:, 34:], BLUE_M)


def test_a_drivers_faults_are_said_and_the_camera_goes_on(see, driver_node):
    driver = Driver(driver_node, compressed=False)
    seen = see(driver)
    wait_for(seen.frame, "frame")
    driver.late_s = 0.025  # never within topics.slop_s
    wait_for(lambda: seen.said("colour and depth are never within"), "diagnostics")
    driver.late_s, driver.height = 0.0, HEIGHT // 2
    wait_for(lambda: seen.said("camera_info says"), "diagnostics")
    driver.height = HEIGHT
    seen.color.clear()
    wait_for(lambda: len(seen.color) > 2, "frame")


def test_the_decoder_that_was_made_is_the_one_that_reads(background, driver_node, monkeypatch):
    asked = []

    def make_grey(wanted):
        asked.append(wanted)
        return Decoder(
            "a test",
            lambda image: np.full((image.height, image.width, 3), 7, np.uint8),
            lambda image: np.full((image.height, image.width), 1.25, np.float32),
        )

    monkeypatch.setattr(topics, "make_decoder", make_grey)
    driver = Driver(driver_node, compressed=False)
    names = TopicsConfig(driver.topics["color"], driver.topics["depth"], "driver/info")
    with TopicsCamera(RobotConfig.load("jaco.yaml"), names, background.node) as camera:
        frame = camera.read(WAIT_S)
    assert asked == ["auto"]  # unless another is set
    assert (frame.color == 7).all()
    assert (frame.depth == 1.25).all()


@pytest.mark.parametrize("decoder", ["auto", "builtin"])
def test_the_log_says_who_decodes(start, decoder):
    process = start(NODE, *parameters(backend="topics", topics__decoder=decoder))
    for line in process.stdout:
        if "raw images are read by" in line:
            break
    assert ("our own decoder" in line) or (decoder == "auto" and "cv_bridge" in line)


def test_stamps_of_another_clock_are_refused_or_replaced(see, driver_node):
    since = time.time() - 60.0  # a camera that counts from when it was switched on
    seen = see(Driver(driver_node, compressed=False, behind_s=since))
    wait_for(lambda: seen.said("of another clock, such as the camera's own"), "diagnostics")
    assert not seen.frame()


def test_frames_can_have_the_time_of_their_arrival(see, driver_node):
    began = time.time() - 60.0
    driver = Driver(driver_node, compressed=False, behind_s=began)
    seen = see(driver, topics__stamps="arrival")
    wait_for(seen.frame, "frame")
    assert began + 60.0 <= min(seen.color)[0] + 1 <= time.time() + 1


def test_a_camera_does_not_listen_to_itself(start):
    """Its own topics in this namespace are those of realsense2_camera."""
    process = start(NODE, *parameters(backend="topics"), "-r", "__ns:=/camera")
    for line in process.stdout:
        if "cannot activate" in line:
            break
    assert "/camera/camera/color/image_raw is published by this node" in line


@pytest.mark.parametrize("name", ["decoder", "stamps"])
def test_other_choices_are_refused(start, name):
    process = start(NODE, *parameters(backend="topics", **{f"topics__{name}": "magic"}))
    assert f"unknown topics.{name} 'magic'; choose one of" in output_of(process)
    assert process.returncode == 2
