"""A visual learner whose camera is missing, or not the one that its encoder knows."""

import threading

import numpy as np
import pytest
from sensor_msgs.msg import Image

from bayes_curiosity_ros.nodes.conversions.images import images_of_frame
from bayes_curiosity_ros.nodes.conversions.values import stamp_of
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS
from bayes_curiosity_ros.robot.cameras.camera import Frame
from support.graph import parameters
from support.processes import output_of

ARM, LEARNER = (f"bayes_curiosity_ros.nodes.{name}_node" for name in ("arm", "learner"))


def visual_learner(start, folder, **options):
    given = {"task": "visual_reach", "bonus": "none", "folder": folder}
    given |= {"operator_confirmed": "true", "max_aborts": 1} | options
    return start(LEARNER, *parameters(**given))


def test_a_missing_camera_is_asked_for(start, tmp_path):
    learner = visual_learner(start, tmp_path, start_timeout_s=1.0)
    output = output_of(learner)
    assert learner.returncode == 2, output
    assert "camera/color/image_raw" in output
    assert "is the camera node running?" in output


@pytest.fixture
def small_camera(background):
    """Publishes 32 × 32 pixels, newer than anything."""
    topics = [f"camera/{kind}/image_raw" for kind in ("color", "depth")]
    publishers = [background.node.create_publisher(Image, t, EPISODE_QOS) for t in topics]
    frame = Frame(np.zeros((32, 32, 3), np.uint8), np.ones((32, 32), np.float32), 0.0)
    done = threading.Event()

    def publish():
        stamp_s = 1e6
        while not done.wait(0.05):
            stamp_s += 1.0
            for publisher, image in zip(publishers, images_of_frame(frame), strict=True):
                image.header.stamp = stamp_of(stamp_s)
                publisher.publish(image)

    thread = threading.Thread(target=publish)
    thread.start()
    yield
    done.set()
    thread.join()


def test_frames_of_another_size_are_not_learnt_from(start, small_camera, tmp_path):
    start(ARM, *parameters(task="visual_reach"))
    learner = visual_learner(start, tmp_path)
    output = output_of(learner)
    assert learner.returncode == 2, output
    assert "camera: images have shape (4, 32, 32); expected channels-first (4, 64, 64)" in output
