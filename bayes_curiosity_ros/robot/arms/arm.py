"""What every arm offers, simulated or real."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.robot.decisions import Change


class ArmError(BayesCuriosityError):
    """The arm is not connected, has a fault, or did not answer in time."""


class ArmStoppedError(ArmError):
    """The arm was stopped and waits for an explicit release."""


@dataclass(frozen=True)
class ArmState:
    """What is measured of the arm and, where it can be, of the cell.

    Attributes:
        stamp_s: when.
        joints: (J,) angles in [rad].
        velocities: (J,) in [rad/s].
        fingers: angles of all finger joints in [rad], driven ones first; may be empty.
        gripper: 0 open … 1 closed.
        contacts: classes of contact since the state before: "self", "scene", "object".
        object_position: (3,) in [m], None where nothing measures it.
        object_orientation: (4,) quaternion w, x, y, z, None likewise.
    """

    stamp_s: float
    joints: np.ndarray
    velocities: np.ndarray
    fingers: np.ndarray
    gripper: float
    contacts: frozenset[str]
    object_position: np.ndarray | None = None
    object_orientation: np.ndarray | None = None


@dataclass(frozen=True)
class Executed:
    """What came of a command; learning sees this, not what was asked for.

    Attributes:
        deltas: (J,) by how much the joints moved, in [rad].
        changes: what the safety filter changed; `explanation` says it in words.
        state: reached.
    """

    deltas: np.ndarray
    changes: Change
    explanation: str
    state: ArmState


@runtime_checkable
class Arm(AbstractContextManager, Protocol):
    """An arm that moves in control steps; usable as a context manager."""

    @property
    def joint_names(self) -> tuple[str, ...]: ...

    def connect(self, timeout_s: float) -> None:
        """Make it ready to move.

        Raises:
            ArmError: not ready in time; the message says what to check.
        """
        ...

    def disconnect(self) -> None:
        """Stop it and let go; harmless when it is not connected."""
        ...

    def state(self, timeout_s: float) -> ArmState:
        """The newest state.

        Raises:
            ArmError: none came in time.
        """
        ...

    def move(self, deltas: np.ndarray, gripper: float, timeout_s: float) -> Executed:
        """Change joint targets by (J,) `deltas` in [rad] and the gripper to 0 … 1; one step.

        Raises:
            ArmStoppedError: it was stopped before and not released.
            ArmError: not connected, a fault, or no answer in time. Nothing is repeated.
        """
        ...

    def rehearse(self, deltas: np.ndarray, gripper: float, timeout_s: float) -> Executed:
        """What `move` would permit, without moving: no deltas, and what would be changed and why.

        Raises:
            ArmError: not connected, a fault, or no answer in time.
        """
        ...

    def home(self, timeout_s: float) -> ArmState:
        """Go to the ready pose, slowly.

        Raises:
            ArmError: not there in time.
        """
        ...

    def stop(self, reason: str) -> None:
        """Stand still now, and stay so until `release`."""
        ...

    def release(self) -> None:
        """Allow motion again."""
        ...
