"""QoS of our topics is the user's to set, by the parameters that ROS has for it."""

import pytest
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from sensor_msgs.msg import Image

from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS, SENSOR_QOS
from support.graph import inbox, parameters
from support.processes import output_of
from support.waiting import wait_for

NODES = "bayes_curiosity_ros.nodes"
TOPICS = {  # of each node one that it publishes and one that it hears
    "arm": ("/arm/state", "/action"),
    "camera": ("/camera/color/image_raw", "/arm/state"),
    "curiosity": ("/intrinsic_reward", "/observation"),
    "demonstrate": ("/action", "/joint_states"),
    "description": ("/tf", "/joint_states"),
    "detector": ("/object_pose", "/camera/color/image_raw"),
}


def profile(infos, name):
    return next((info.qos_profile for info in infos if info.node_name == name), None)


@pytest.mark.parametrize("name", TOPICS)
def test_parameters_set_the_qos_of_topics(start, background, name):
    published, heard = TOPICS[name]
    node, publisher, listener = background.node, "publisher.reliability", "subscription.durability"
    overrides = {
        f"qos_overrides.{published}.{publisher}": "best_effort",
        f"qos_overrides.{heard}.{listener}": "transient_local",
    }
    words = [word for key, value in overrides.items() for word in ("-p", f"{key}:={value}")]
    if name == "camera":  # it follows the arm only while somebody watches
        inbox(background, Image, published, SENSOR_QOS)
    start(f"{NODES}.{name}_node", "--ros-args", *words)

    def profiles():
        return (
            profile(node.get_publishers_info_by_topic(published), name),
            profile(node.get_subscriptions_info_by_topic(heard), name),
        )

    wait_for(lambda: all(profiles()), "publisher and subscription")
    offered, wanted = profiles()
    assert offered.reliability == ReliabilityPolicy.BEST_EFFORT
    assert wanted.durability == DurabilityPolicy.TRANSIENT_LOCAL


def test_what_one_topic_is_given_no_other_has(start, background):
    """Many topics share one profile of ours."""
    key = "qos_overrides./arm/status.publisher.durability"
    start(f"{NODES}.arm_node", "--ros-args", "-p", f"{key}:=volatile")
    find = background.node.get_publishers_info_by_topic
    wait_for(lambda: profile(find("/arm/state"), "arm"), "arm node")
    wait_for(lambda: profile(find("/arm/status"), "arm"), "status")
    assert profile(find("/arm/status"), "arm").durability == DurabilityPolicy.VOLATILE
    assert LATCHED_QOS.durability == DurabilityPolicy.TRANSIENT_LOCAL
    state = profile(find("/arm/state"), "arm")
    assert state.reliability == EPISODE_QOS.reliability


def test_a_value_that_there_is_not_is_named_with_its_topic(start):
    key = "qos_overrides__/arm/state__publisher__reliability"
    process = start(f"{NODES}.arm_node", *parameters(**{key: "perfect"}))
    output = output_of(process)
    assert "qos_overrides of arm/state: Unexpected QoS override for policy" in output
    assert "Traceback" not in output
    assert process.returncode == 2
