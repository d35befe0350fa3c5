"""Between the graph and an arm, without ROS: order of steps, stops, faults, the watchdog.

Whatever is rejected moves nothing. Nothing resumes by itself after a stop.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

import numpy as np

from bayes_curiosity_ros.configuration.settings import require_positive
from bayes_curiosity_ros.errors import (
    BayesCuriosityError,
    ConfigError,
    LengthError,
    NotFiniteError,
    StepError,
)
from bayes_curiosity_ros.robot.arms.arm import (
    Arm,
    ArmError,
    ArmState,
    ArmStoppedError,
    Executed,
    PlacedArm,
)
from bayes_curiosity_ros.robot.decisions import REFUSALS

T = TypeVar("T")


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
    move_timeout_s: float = 2.0
    home_timeout_s: float = 60.0
    resume_after_halt: bool = True
    confirm_resets: bool = False
    dry_run: bool = False
    max_episode_steps: int = 1000

    def __post_init__(self) -> None:
        require_positive(self, "command_timeout_s", "move_timeout_s", "home_timeout_s")
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


class ArmSupervisor:
    """One arm, one episode at a time.

    `stop` may be called from another thread than everything else: it does not wait for a
    motion under way.

    Args:
        arm: the arm to drive; connected by `activate`.
        config: how to watch it.
        clock: monotonic time in [s].
    """

    def __init__(self, arm: Arm, config: SupervisorConfig, clock: Callable[[], float]) -> None:
        self.arm = arm
        self.config = config
        self.counters = Counters()
        self.state = State.INACTIVE
        self.reason = "not active yet"
        self._clock = clock
        self._lock = threading.RLock()
        self._confirmed = False
        self._episode: int | None = None
        self._step = 0
        self._last_command_s: float | None = None
        self._halted = False

    @property
    def step(self) -> tuple[int, int]:
        """(episode, step) of the newest state; episode 0 before the first reset."""
        return self._episode or 0, self._step

    def activate(self, timeout_s: float) -> None:
        """Connect the arm; that somebody activated it releases the stop it was left with."""
        self.arm.connect(timeout_s)
        self.arm.release()
        self._become(State.READY, "")

    def deactivate(self, reason: str) -> None:
        """Stop the arm and let go of it."""
        if self.state == State.INACTIVE:
            return
        try:
            self.arm.stop(reason)
        finally:
            self.arm.disconnect()
            self._episode = None
            self.counters.stops += 1
            self._become(State.INACTIVE, f"stopped: {reason}", unlatch=True)

    def confirm(self) -> None:
        """The operator says that the cell is ready for the next reset."""
        self._confirmed = True
        if self.state == State.WAITING_FOR_OPERATOR:
            self._become(State.READY, "")

    def reset_episode(self, episode: int, seed: int, confirmed: bool) -> ArmState:
        """Bring arm and object to the start of an episode."""
        self._require_active()
        if self.config.confirm_resets and not (confirmed or self._confirmed):
            reason = (
                f"episode {episode} waits for the operator: clear the cell, place the object, "
                "then call arm/confirm"
            )
            self._become(State.WAITING_FOR_OPERATOR, reason)
            raise NotReadyError(reason)
        self._confirmed = False
        self._episode, self._last_command_s = None, None
        self._unhalt()
        self._guarded(lambda: self._place(seed))
        state = self.arm.state(self.config.move_timeout_s)
        self._episode, self._step = episode, 0
        self._become(State.READY, "")
        return state

    def act(self, episode: int, step: int, deltas: np.ndarray, gripper: float) -> Executed:
        """Carry out one command.

        Raises:
            BayesCuriosityError: rejected; nothing moved, and the message says why.
        """
        try:
            self._check(episode, step, deltas, gripper)
        except BayesCuriosityError:
            self.counters.rejected += 1
            raise
        self._unhalt()
        # The watchdog counts from when a motion ends, not from when it began.
        self._last_command_s = None
        executed = self._guarded(lambda: self._move(deltas, gripper))
        self._last_command_s = self._clock()
        self._step = step + 1
        self.counters.accepted += 1
        self.counters.limited += bool(executed.changes)
        refused = executed.explanation if executed.changes & REFUSALS else ""
        self._become(State.MOVING, refused)
        return executed

    def home(self) -> ArmState:
        """Go to the ready pose; ends the episode."""
        self._require_active()
        self._episode, self._last_command_s = None, None
        self._unhalt()
        state = self._guarded(self._home)
        self._become(State.READY, "")
        return state

    def stop(self, reason: str) -> None:
        """Stand still until `release`; from any thread, at any time."""
        self.arm.stop(reason)
        with self._lock:
            self.counters.stops += 1
            self._episode = None
            if self.state != State.INACTIVE:
                self._become(State.STOPPED, f"stopped: {reason}; call arm/release to go on")

    def release(self) -> None:
        """Allow motion again; clears a fault. The next episode begins with a reset."""
        if self.state == State.INACTIVE:
            raise NotReadyError("the arm is not active; activate the node first")
        if self.state == State.FAULT:
            self.arm.clear_faults()
        self.arm.release()
        self._halted = False
        self._become(State.READY, "", unlatch=True)

    def check_commands(self) -> bool:
        """The watchdog: halt when commands have ceased. Whether it did so now."""
        with self._lock:
            last = self._last_command_s
            if last is None or self.state != State.MOVING:
                return False
            silent_s = self._clock() - last
            if silent_s < self.config.command_timeout_s:
                return False
            self._last_command_s, self._halted = None, True
        reason = f"no command for {silent_s:.2f} s"
        self.arm.stop(reason)
        if not self.config.resume_after_halt:
            self._episode = None
            reason += "; the episode is over, reset it"
        self._become(State.READY, f"halted: {reason}")
        return True

    def _check(self, episode: int, step: int, deltas: np.ndarray, gripper: float) -> None:
        self._require_active()
        joints = len(self.arm.joint_names)
        if deltas.shape != (joints,):
            raise LengthError(f"{deltas.size} joint deltas for {joints} joints")
        if not np.isfinite(deltas).all() or not math.isfinite(gripper):
            raise NotFiniteError(
                f"joint deltas {deltas.tolist()}, gripper {gripper}; all must be finite"
            )
        if not 0.0 <= gripper <= 1.0:
            raise NotFiniteError(f"gripper = {gripper}; 0 is open and 1 closed")
        if self._episode is None:
            raise NotReadyError(
                f"no episode is under way for action ({episode}, {step}); "
                "call arm/reset_episode first"
            )
        if (episode, step) != (self._episode, self._step):
            raise StepError(
                f"action of episode {episode}, step {step}; expected episode {self._episode}, "
                f"step {self._step}"
            )
        if step >= self.config.max_episode_steps:
            raise StepError(f"step {step} exceeds max_episode_steps; reset the episode")

    def _require_active(self) -> None:
        if self.state == State.INACTIVE:
            raise NotReadyError(f"the arm is not active: {self.reason}")
        if self.state == State.STOPPED:
            raise ArmStoppedError(self.reason)
        if self.state == State.FAULT:
            raise ArmError(f"{self.reason}; call arm/release when the cause is removed")

    def _place(self, seed: int) -> None:
        if isinstance(self.arm, PlacedArm):
            self.arm.begin(seed)
        else:
            self._home()

    def _move(self, deltas: np.ndarray, gripper: float) -> Executed:
        timeout_s = self.config.move_timeout_s
        execute = self.arm.rehearse if self.config.dry_run else self.arm.move
        return execute(deltas, gripper, timeout_s)

    def _home(self) -> ArmState:
        if self.config.dry_run:
            return self.arm.state(self.config.move_timeout_s)
        return self.arm.home(self.config.home_timeout_s)

    def _guarded(self, motion: Callable[[], T]) -> T:
        """An arm that fails in mid-motion is stopped, and stays so."""
        try:
            return motion()
        except ArmStoppedError as error:
            self.counters.rejected += 1
            self._become(State.STOPPED, str(error))
            raise
        except ArmError as error:
            self._episode = None
            self.arm.stop(str(error))
            self.counters.stops += 1
            self._become(State.FAULT, str(error))
            raise

    def _unhalt(self) -> None:
        if self._halted:
            self._halted = False
            self.arm.release()

    def _become(self, state: State, reason: str, unlatch: bool = False) -> None:
        """Change state; a stop that came in meanwhile, from another thread, prevails."""
        with self._lock:
            if unlatch or self.state != State.STOPPED:
                self.state, self.reason = state, reason
