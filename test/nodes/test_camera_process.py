"""The simulated camera's node in a process of its own."""

import time

from sensor_msgs.msg import Image

from bayes_curiosity_interfaces.msg import ArmState
from bayes_curiosity_ros.nodes.arm_watchers import GLANCE
from bayes_curiosity_ros.nodes.camera_glances import PICTURE_S, TOPICS
from bayes_curiosity_ros.nodes.conversions.arm_states import message_of_arm_state
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS
from bayes_curiosity_ros.robot.arms.simulated import SimulatedArm
from bayes_curiosity_ros.robot.config import RobotConfig
from support.graph import eventually, inbox, parameters
from support.waiting import wait_for

CAMERA = "bayes_curiosity_ros.nodes.camera_node"


def state_of_an_arm() -> ArmState:
    robot = RobotConfig.load()
    with SimulatedArm(robot) as arm:
        names = robot.arm.joints + robot.arm.gripper.fingers
        return message_of_arm_state(arm.state(1.0), names)


def test_the_arm_is_followed_only_while_somebody_watches(start, background):
    start(CAMERA, *parameters(frame_prefix="left/"))
    node = background.node
    states = node.create_publisher(ArmState, "arm/state", EPISODE_QOS)
    wait_for(lambda: node.count_publishers("camera/color/image_raw"), "camera")
    assert states.get_subscription_count() == 0
    images = inbox(background, Image, "camera/color/image_raw")
    wait_for(states.get_subscription_count, "camera that follows the arm")
    message = state_of_an_arm()

    def seen():
        states.publish(message)
        return not images.empty()

    wait_for(seen, "image")
    image = eventually(images, lambda m: True)
    assert (image.encoding, image.header.frame_id) == ("rgb8", "left/camera_optical_frame")
    node.destroy_subscription(next(s for s in node.subscriptions if "color" in s.topic_name))
    wait_for(lambda: states.get_subscription_count() == 0, "camera that rests")


def test_who_glances_has_a_picture_now_and_then_and_no_step_is_followed_for_it(start, background):
    start(CAMERA)
    node = background.node
    states = node.create_publisher(ArmState, "arm/state", EPISODE_QOS)
    glances = node.create_publisher(ArmState, GLANCE, 1)
    wait_for(lambda: node.count_publishers(TOPICS["rgb8"]), "camera")
    assert glances.get_subscription_count() == 0
    pictures = {encoding: inbox(background, Image, topic) for encoding, topic in TOPICS.items()}
    wait_for(glances.get_subscription_count, "camera that glances at the arm")
    message, began_s = state_of_an_arm(), time.monotonic()

    def seen():
        glances.publish(message)
        return pictures["rgb8"].qsize() >= 2

    wait_for(seen, "second picture")
    assert time.monotonic() - began_s > 0.5 * PICTURE_S
    assert states.get_subscription_count() == 0
    for encoding, found in pictures.items():
        assert eventually(found, lambda m: True).encoding == encoding
    for subscription in [s for s in node.subscriptions if s.topic_name.endswith("/glance")]:
        node.destroy_subscription(subscription)
    wait_for(lambda: glances.get_subscription_count() == 0, "camera that rests")
