"""Which of the transforms on TF are of our cell, without a simulator at hand."""

from __future__ import annotations

from rclpy.serialization import serialize_message
from tf2_msgs.msg import TFMessage


def only_frames(data: bytes, message: TFMessage, frame_prefix: str) -> bytes:
    """Bytes of a message less the frames with another prefix; empty if none are left.

    Args:
        data: bytes of the message.
        message: the same, read.
        frame_prefix: what the names of our frames begin with.
    """
    ours = [t for t in message.transforms if t.child_frame_id.startswith(frame_prefix)]
    if len(ours) == len(message.transforms):
        return data
    return serialize_message(TFMessage(transforms=ours)) if ours else b""
