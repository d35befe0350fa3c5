"""Episode and step of a serialised message, without decoding the rest of it.

All messages of a step begin alike: std_msgs/Header, uint64 episode, uint32 step.
"""

from __future__ import annotations

import struct

PACKAGE = "bayes_curiosity_interfaces/msg"
STEP_TYPES = frozenset(
    f"{PACKAGE}/{name}"
    for name in ("Action", "ArmState", "Observation", "IntrinsicReward", "EpisodeSummary")
)
_ENCAPSULATION = 4
_STAMP = 8


def episode_and_step(data: bytes) -> tuple[int, int]:
    """Episode and step of a message whose type is one of STEP_TYPES.

    An EpisodeSummary has its number of steps in place of the step.
    """
    order = "<" if data[1] & 1 else ">"
    at = _ENCAPSULATION + _STAMP
    (length,) = struct.unpack_from(f"{order}I", data, at)
    after = _STAMP + 4 + length
    aligned = -(-after // 8) * 8  # CDR aligns to the value's size, from behind the encapsulation
    episode, step = struct.unpack_from(f"{order}QI", data, _ENCAPSULATION + aligned)
    return episode, step
