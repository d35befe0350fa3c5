"""What is at the start of a serialised message, without decoding the rest of it.

All messages of a step begin alike: std_msgs/Header, uint64 episode, uint32 step. Where the fields
are is written down here alone.
"""

from __future__ import annotations

import struct

PACKAGE = "bayes_curiosity_interfaces/msg"
SUMMARY = f"{PACKAGE}/EpisodeSummary"
LEARNER_STATUS = f"{PACKAGE}/LearnerStatus"
STEP_TYPES = frozenset(
    f"{PACKAGE}/{name}"
    for name in ("Action", "ArmState", "Observation", "IntrinsicReward", "EpisodeSummary")
)
UNREADABLE = (struct.error, IndexError)  # raised on bytes that are too short
_ENCAPSULATION = 4
_STAMP = 8
_STRINGS_OF_STATUS = 4  # reason, algorithm, bonus, task
_RUN = {SUMMARY: 40, LEARNER_STATUS: 48}  # bytes before the run; 16 in the others


def episode_and_step(data: bytes) -> tuple[int, int]:
    """Episode and step of a message whose type is one of STEP_TYPES.

    An EpisodeSummary has its number of steps in place of the step.
    """
    order, at = _behind_header(data)
    episode, step = struct.unpack_from(f"{order}QI", data, _aligned(at, 8))
    return episode, step


def outcome_of_summary(data: bytes) -> int:
    """The outcome in an EpisodeSummary, which follows episode and steps."""
    _, at = _behind_header(data)
    return data[_aligned(at, 8) + 12]


def state_and_episodes(data: bytes) -> tuple[int, int]:
    """State and number of the newest episode in a LearnerStatus."""
    order, at = _behind_header(data)
    state, at = data[at], _behind_strings(data, order, at + 1)
    _, episodes = struct.unpack_from(f"{order}QQ", data, _aligned(at, 8))
    return state, episodes


def _behind_header(data: bytes) -> tuple[str, int]:
    """Byte order, and where the header ends."""
    order = "<" if data[1] & 1 else ">"
    at = _ENCAPSULATION + _STAMP
    (length,) = struct.unpack_from(f"{order}I", data, at)
    return order, at + 4 + length


def _aligned(at: int, size: int) -> int:
    """CDR aligns to the value's size, from behind the encapsulation."""
    return at + (_ENCAPSULATION - at) % size


def run_of(type_name: str, data: bytes) -> int:
    """Run of a message of one of STEP_TYPES or a LearnerStatus, since these name it."""
    order, at = _run_at(type_name, data)
    (run,) = struct.unpack_from(f"{order}Q", data, at)
    return int(run)


def with_run(type_name: str, data: bytes, run: int) -> bytes:
    """The same message of another run."""
    order, at = _run_at(type_name, data)
    return data[:at] + struct.pack(f"{order}Q", run) + data[at + 8 :]


def _run_at(type_name: str, data: bytes) -> tuple[str, int]:
    """Byte order, and where the run is: behind the step, or behind all the numbers."""
    order, at = _behind_header(data)
    if type_name == LEARNER_STATUS:
        at = _behind_strings(data, order, at + 1)
    return order, _aligned(at, 8) + _RUN.get(type_name, 16)


def _behind_strings(data: bytes, order: str, at: int) -> int:
    """Where the strings of a LearnerStatus end, which begin here."""
    for _ in range(_STRINGS_OF_STATUS):
        at = _aligned(at, 4)
        at += 4 + int(struct.unpack_from(f"{order}I", data, at)[0])
    return at
