"""From transforms to TF's message."""

from __future__ import annotations

from collections.abc import Iterable

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from tf2_msgs.msg import TFMessage

from bayes_curiosity_ros.robot.frames import Transform


def tf_message_of(transforms: Iterable[Transform], stamp: Time) -> TFMessage:
    """All of them, of one moment."""
    return TFMessage(transforms=[_stamped(transform, stamp) for transform in transforms])


def _stamped(transform: Transform, stamp: Time) -> TransformStamped:
    message = TransformStamped(child_frame_id=transform.child)
    message.header.stamp, message.header.frame_id = stamp, transform.parent
    shift, turn = message.transform.translation, message.transform.rotation
    shift.x, shift.y, shift.z = transform.translation.tolist()
    turn.w, turn.x, turn.y, turn.z = transform.quaternion.tolist()
    return message
