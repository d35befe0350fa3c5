"""From transforms to TF's message."""

from __future__ import annotations

from collections.abc import Iterable

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from tf2_msgs.msg import TFMessage

from bayes_curiosity_ros.robot.frames import Transform, prefixed


def tf_message_of(
    transforms: Iterable[Transform], stamp: Time, frame_prefix: str = ""
) -> TFMessage:
    """All of them, of one moment."""
    stamped = [_stamped(transform, stamp, frame_prefix) for transform in transforms]
    return TFMessage(transforms=stamped)


def _stamped(transform: Transform, stamp: Time, frame_prefix: str) -> TransformStamped:
    message = TransformStamped(child_frame_id=prefixed(transform.child, frame_prefix))
    message.header.stamp = stamp
    message.header.frame_id = prefixed(transform.parent, frame_prefix)
    shift, turn = message.transform.translation, message.transform.rotation
    shift.x, shift.y, shift.z = transform.translation.tolist()
    turn.w, turn.x, turn.y, turn.z = transform.quaternion.tolist()
    return message
