"""Arm nodes of a test's own: what a signal does to one, and the camera node beside one."""

import contextlib
import signal

import numpy as np
import pytest
from sensor_msgs.msg import Image

from bayes_curiosity_interfaces.msg import ArmStatus
from bayes_curiosity_ros.bringup.arguments import defaults
from bayes_curiosity_ros.bringup.table import parameter_files
from bayes_curiosity_ros.nodes.conversions.images import frame_of_images
from bayes_curiosity_ros.tasks.registry import make_task
from support.driver import ARM, Driver
from support.graph import eventually, inbox, parameters
from support.processes import stopped
from support.waiting import wait_for

CAMERA = "bayes_curiosity_ros.nodes.camera_node"


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_signals_leave_the_arm_stopped(start, background, sent):
    process = start(ARM)
    driver = Driver(background)
    driver.reset()
    output = stopped(process, sent)
    assert process.returncode == 0, output
    assert f"arm stopped: {sent.name}" in output
    assert "Traceback" not in output
    last = eventually(driver.status, lambda m: m.state == ArmStatus.INACTIVE and m.stops)
    assert last.stops == 1


def test_a_signal_while_the_arm_is_activated_ends_it_quietly(start, background):
    """A driver that is not there is waited for in another thread, which still has its graph."""
    files = parameter_files(defaults() | {"arm": "trajectory"})
    words = [word for path in files for word in ("--params-file", path)]
    more = parameters(backend="trajectory", connect_timeout_s=1.5)[1:]
    process = start(ARM, "--ros-args", *words, *more)
    wait_for(lambda: "arm" in background.node.get_node_names(), "arm on the graph")
    output = stopped(process, signal.SIGINT)
    assert process.returncode == 0, output
    assert "arm stopped: SIGINT" in output
    assert "Traceback" not in output


def test_the_camera_sees_what_the_task_sees(start, background):
    start(CAMERA, *parameters(task="visual_grasp"))
    start(ARM, *parameters(task="visual_grasp"))
    color = inbox(background, Image, "camera/color/image_raw")
    depth = inbox(background, Image, "camera/depth/image_raw")
    task = make_task("visual_grasp")
    states = task.initial_states(1, np.random.default_rng(5))
    driver = Driver(background)
    pictures = []

    def seen():
        """Whether a picture came; the camera may not have heard of us before."""
        driver.reset(episode=1, seed=5)
        with contextlib.suppress(AssertionError):
            pictures.append(eventually(color, lambda m: True, 1.0))
        return pictures

    wait_for(seen, "picture")
    frame = frame_of_images(pictures[0], eventually(depth, lambda m: True))
    expected_color, expected_depth = task.camera.frames(states)
    np.testing.assert_array_equal(frame.color, expected_color[0])
    np.testing.assert_array_equal(frame.depth, expected_depth[0])
