"""What an arm's supervisor is told, and what it tells: settings, states, counters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from bayes_curiosity_ros.configuration.settings import require_positive
from bayes_curiosity_ros.errors import ConfigError, LengthError, NotFiniteError, StepError
from bayes_curiosity_ros.robot.arms.arm import ArmError, ArmStoppedError


class NotReadyError(ArmError):
    """The arm is not active, or waits for its operator."""


class State(IntEnum):
    """State of the arm; the numbers are those of ArmStatus.msg."""

    INACTIVE = 0
    READY = 1
    MOVING = 2
    STOPPED = 3
    FAULT = 4
    WAITING_FOR_OPERATOR = 5


@dataclass(frozen=True)
class SupervisorConfig:
    """How an arm is watched.

    Attributes:
        command_timeout_s: the arm is halted when no command came for so long; below 0.2.
        alarm_s: an arm that was not measured to stand so long after a stop is cried out. A driver
            that reports rarely needs more: three of its periods, and 0.2.
        move_timeout_s: longest wait for one control step.
        home_timeout_s: longest wait for the ready pose.
        resume_after_halt: take up an episode again where the watchdog halted it. Right in
            simulation, where time stands still between commands; on a real arm the
            episode is over, and a reset begins the next one.
        confirm_resets: a reset waits until the operator has said that the cell is ready.
        dry_run: check and report every command, execute none.
        max_episode_steps: commands accepted in one episode.
    """

    command_timeout_s: float = 0.15
    alarm_s: float = 0.3
    move_timeout_s: float = 2.0
    home_timeout_s: float = 60.0
    resume_after_halt: bool = True
    confirm_resets: bool = False
    dry_run: bool = False
    max_episode_steps: int = 1000

    def __post_init__(self) -> None:
        require_positive(self, "command_timeout_s", "alarm_s", "move_timeout_s", "home_timeout_s")
        if self.command_timeout_s > 0.19:
            raise ConfigError(
                f"command_timeout_s = {self.command_timeout_s} exceeds 0.19: a cut command "
                "stream must end in standstill within 0.2 s"
            )
        require_positive(self, "max_episode_steps")


@dataclass
class Counters:
    """Numbers of commands and stops since the node started, as in ArmStatus.msg."""

    accepted: int = 0
    limited: int = 0
    rejected: int = 0
    stops: int = 0


def require_active(state: State, reason: str) -> None:
    """Refuse to move an arm that may not move in this state, for the reason it is in it."""
    if state == State.INACTIVE:
        raise NotReadyError(f"the arm is not active: {reason}")
    if state == State.STOPPED:
        raise ArmStoppedError(reason)
    if state == State.FAULT:
        raise ArmError(reason)


def check_command(deltas: np.ndarray, gripper: float, joints: int) -> None:
    """Refuse a command that no arm of so many joints could carry out.

    Raises:
        LengthError: it is for another number of joints.
        NotFiniteError: it has NaN, infinity, or a gripper beyond open and closed.
    """
    if deltas.shape != (joints,):
        raise LengthError(f"{deltas.size} joint deltas for {joints} joints")
    if not all(map(math.isfinite, (*deltas.tolist(), gripper))):
        raise NotFiniteError(
            f"joint deltas {deltas.tolist()}, gripper {gripper}; all must be finite"
        )
    if not 0.0 <= gripper <= 1.0:
        raise NotFiniteError(f"gripper = {gripper}; 0 is open and 1 closed")


def check_step(given: tuple[int, int], expected: tuple[int, int] | None, most: int) -> None:
    """Refuse a command that is not the next one.

    Args:
        given: its episode and step.
        expected: those that come next; None where no episode is under way.
        most: number of steps in an episode.

    Raises:
        NotReadyError: no episode is under way.
        StepError: it is repeated, skips one, is of another episode, or of one too long.
    """
    if expected is None:
        raise NotReadyError(
            f"no episode is under way for action ({given[0]}, {given[1]}); "
            "call arm/reset_episode first"
        )
    if given != expected:
        raise StepError(
            f"action of episode {given[0]}, step {given[1]}; expected episode {expected[0]}, "
            f"step {expected[1]}"
        )
    if given[1] >= most:
        raise StepError(f"step {given[1]} exceeds max_episode_steps; reset the episode")
