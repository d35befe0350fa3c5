"""From transforms to TF's message, and which of them are ours."""

from __future__ import annotations

from collections.abc import Iterable

from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from rclpy.serialization import deserialize_message, serialize_message
from tf2_msgs.msg import TFMessage

from bayes_curiosity_ros.robot.frames import Transform, prefixed


def tf_message_of(
    transforms: Iterable[Transform], stamp: Time, frame_prefix: str = ""
) -> TFMessage:
    """All of them, of one moment."""
    stamped = [_stamped(transform, stamp, frame_prefix) for transform in transforms]
    return TFMessage(transforms=stamped)


def only_frames(data: bytes, frame_prefix: str) -> bytes:
    """A serialised TFMessage less the frames with another prefix; empty if none are left."""
    message = deserialize_message(data, TFMessage)
    ours = [t for t in message.transforms if t.child_frame_id.startswith(frame_prefix)]
    if len(ours) == len(message.transforms):
        return data
    return serialize_message(TFMessage(transforms=ours)) if ours else b""


def _stamped(transform: Transform, stamp: Time, frame_prefix: str) -> TransformStamped:
    message = TransformStamped(child_frame_id=prefixed(transform.child, frame_prefix))
    message.header.stamp = stamp
    message.header.frame_id = prefixed(transform.parent, frame_prefix)
    shift, turn = message.transform.translation, message.transform.rotation
    shift.x, shift.y, shift.z = transform.translation.tolist()
    turn.w, turn.x, turn.y, turn.z = transform.quaternion.tolist()
    return message
