"""What an arm's supervisor is told, and what it tells: settings, states, counters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from bayes_curiosity_ros.configuration.settings import require_positive
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.arms.arm import ArmError


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
