"""Which of the transforms on TF are of our cell, without a simulator at hand."""

from __future__ import annotations

from rclpy.serialization import deserialize_message, serialize_message
from tf2_msgs.msg import TFMessage


def only_frames(data: bytes, frame_prefix: str) -> bytes:
    """A serialised TFMessage less the frames with another prefix; empty if none are left."""
    message = deserialize_message(data, TFMessage)
    ours = [t for t in message.transforms if t.child_frame_id.startswith(frame_prefix)]
    if len(ours) == len(message.transforms):
        return data
    return serialize_message(TFMessage(transforms=ours)) if ours else b""
