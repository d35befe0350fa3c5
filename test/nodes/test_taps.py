"""What a tap says of the publishers that it hears."""

from bayes_curiosity_interfaces.msg import ArmStatus
from bayes_curiosity_ros.nodes.qos import LATCHED_QOS
from bayes_curiosity_ros.nodes.taps import Tap, publishers_of
from support.waiting import wait_for

STATUS = "bayes_curiosity_interfaces/msg/ArmStatus"


def drained(tap):
    """Empty it, as a recorder does all the time."""
    tap.adapt()
    return tap.take()


def test_a_latched_publisher_is_heard_once_it_has_spoken_to_us(background):
    """That it is in the graph does not tell whether it has met us."""
    node = background.node
    publisher = node.create_publisher(ArmStatus, "arm/status", LATCHED_QOS)
    tap = Tap(node, "arm/status", STATUS)
    wait_for(publisher.get_subscription_count, "the tap")
    wait_for(lambda: not drained(tap) and tap.latched, "the topic's durability")
    found = publishers_of(tap.name, node.get_publishers_info_by_topic(tap.name))
    assert (len(found), tap.heard) == (1, [])
    publisher.publish(ArmStatus())
    wait_for(lambda: drained(tap), "the status")
    assert tap.heard == found


def test_one_that_was_started_again_is_not_heard_yet(background):
    node = background.node
    first = node.create_publisher(ArmStatus, "arm/status", LATCHED_QOS)
    tap = Tap(node, "arm/status", STATUS, latched=True)
    first.publish(ArmStatus())
    wait_for(lambda: drained(tap), "the status")
    (old,) = tap.heard
    second = node.create_publisher(ArmStatus, "arm/status", LATCHED_QOS)
    wait_for(lambda: node.count_publishers("arm/status") == 2, "the second publisher")
    assert tap.heard == [old]
    second.publish(ArmStatus())
    wait_for(lambda: drained(tap), "its status")
    assert len(tap.heard) == 2
