"""What every arm offers, simulated or real, and the registry of arms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

import numpy as np

from bayes_curiosity_ros.configuration.registry import Registry
from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.robot.decisions import Change
from bayes_curiosity_ros.robot.device import DeviceInputs

if TYPE_CHECKING:
    from bayes_curiosity_ros.robot.config import RobotConfig
    from bayes_curiosity_ros.robot.stepper import Stepper


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
class Arm(Protocol):
    """An arm that moves in control steps; usable as a context manager."""

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, from base to hand."""
        ...

    @property
    def state_topic(self) -> str:
        """Whole name of the topic on which its driver tells of the joints; empty if none does."""
        ...

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
        """Stand still now, and stay so until `release`; may be called again.

        Raises:
            ArmError: the driver refuses or does not answer. No command is accepted all the same.
        """
        ...

    def keep_alive(self) -> None:
        """Somebody still watches over the arm; said every few hundredths of a second."""
        ...

    def is_still(self) -> bool:
        """Measure once more; whether the arm was seen to stand still since the last `stop`.

        Raises:
            ArmError: no state came; nobody knows whether the arm moves.
        """
        ...

    def release(self) -> None:
        """Allow motion again."""
        ...

    def clear_faults(self) -> None:
        """Make the driver forget its faults, on the operator's request only.

        Raises:
            ArmError: the driver refuses, or did not answer in time.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


@runtime_checkable
class PlacedArm(Arm, Protocol):
    """An arm in simulation: an episode begins by placing it and the object, not by homing."""

    def begin(self, seed: int) -> None:
        """Put arm and object where the episode of this seed begins."""
        ...


@dataclass(frozen=True)
class SimulatedCell:
    """A task's cell, for an arm that is simulated in it.

    Attributes:
        robot: the arm and its table, as the task has them.
        stepper: what advances the cell's rows.
        start: the row at which the episode of a seed begins.
    """

    robot: RobotConfig
    stepper: Stepper
    start: Callable[[int], np.ndarray]


@dataclass(frozen=True)
class ArmInputs(DeviceInputs):
    """What an arm is made from.

    Attributes:
        max_speed_deg_s: largest speed of any joint of a real arm.
        cell: gives the task's cell; asked only by a simulated arm.
    """

    max_speed_deg_s: float
    cell: Callable[[], SimulatedCell]


@dataclass(frozen=True)
class ArmEntry:
    """A kind of arm.

    Attributes:
        name: what users type.
        make: makes an arm, not connected yet, from its inputs.
        real: whether metal moves, so that collisions are always checked.
        robot: its own file in config/robots/, used where the user names none.
        needs: arguments of the bringup that it cannot do without.
        parameters: the arm node's parameter that each argument of the bringup sets.
        secrets: environment variables that nobody but its arm node may read.
    """

    name: str
    make: Callable[[ArmInputs], Arm]
    real: bool = True
    robot: str = "jaco.yaml"
    needs: tuple[str, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()


ARMS: Registry[ArmEntry] = Registry("arm", ArmEntry, "bayes_curiosity_ros.robot.arms")


def secrets_of_others(kind: str = "") -> tuple[str, ...]:
    """Environment variables that a node of this kind of arm, or a node of none, may not read."""
    own = ARMS[kind].secrets if kind else ()
    return tuple(name for arm in ARMS for name in arm.secrets if name not in own)
