"""What the safety filter says: what may be commanded, and what was changed for which reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag

import numpy as np


class Change(IntFlag):
    """Why a permitted command differs from the requested one."""

    NONE = 0
    NOT_FINITE = 1
    WRONG_LENGTH = 2
    OUTSIDE_LIMITS = 4
    STEP = 8
    VELOCITY = 16
    ACCELERATION = 32
    JOINT_LIMIT = 64
    COLLISION = 128
    TABLE = 256
    WORKSPACE = 512


# Refused outright: the arm brakes instead of following a scaled-down command.
REFUSALS = (
    Change.NOT_FINITE
    | Change.WRONG_LENGTH
    | Change.OUTSIDE_LIMITS
    | Change.COLLISION
    | Change.TABLE
    | Change.WORKSPACE
)


@dataclass(frozen=True)
class Commanded:
    """What an arm was last told.

    Attributes:
        position: (J,) joint targets in [rad].
        velocity: (J,) speed towards them in [rad/s].
        finger_rad: finger angle, or None for open.
    """

    position: np.ndarray
    velocity: np.ndarray
    finger_rad: float | None = None

    @staticmethod
    def at_rest(position: np.ndarray, finger_rad: float | None = None) -> Commanded:
        """Standing still."""
        position = np.array(position, dtype=float)
        return Commanded(position, np.zeros_like(position), finger_rad)


@dataclass(frozen=True)
class Decision:
    """What may be commanded, and why it is not what was asked for.

    Attributes:
        commanded: what to send, and to hand in with the next request.
        changes: all reasons that applied.
        explanation: the changes in words; empty when nothing was changed.
    """

    commanded: Commanded
    changes: Change
    explanation: str

    @property
    def refused(self) -> bool:
        """Whether the request was dropped and the arm brakes."""
        return bool(self.changes & REFUSALS)
