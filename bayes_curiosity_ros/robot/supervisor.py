"""Between the graph and an arm, without ROS: order of steps, stops, faults, the watchdog.

Whatever is rejected moves nothing. Nothing resumes by itself after a stop. A stop or a fault is
the state first and an order to the arm then, which is repeated until standstill was measured.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.robot.arms.arm import (
    Arm,
    ArmError,
    ArmState,
    ArmStoppedError,
    Executed,
    PlacedArm,
)
from bayes_curiosity_ros.robot.decisions import REFUSALS
from bayes_curiosity_ros.robot.resting import RestingLook
from bayes_curiosity_ros.robot.stopping import Stopping
from bayes_curiosity_ros.robot.supervision import (
    Counters,
    NotReadyError,
    State,
    SupervisorConfig,
    check_command,
    check_step,
    require_active,
)

T = TypeVar("T")

# Longest wait for standstill before a motion, a release or the end of an activation, in [s].
SETTLE_S = 2.0
WHAT_NEXT = "call arm/release when the cause is removed"


class ArmSupervisor:
    """One arm, one episode at a time.

    `stop` and `watch` may be called from another thread than everything else: they do not wait
    for a motion under way.

    Args:
        arm: the arm to drive; connected by `activate`.
        config: how to watch it.
        clock: monotonic time in [s].
        pause: waits for a time in [s].
    """

    def __init__(
        self,
        arm: Arm,
        config: SupervisorConfig,
        clock: Callable[[], float],
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.arm = arm
        self._placed = arm if isinstance(arm, PlacedArm) else None
        self.config = config
        self.counters = Counters()
        self.state = State.INACTIVE
        self.reason = "not active yet"
        self._clock = clock
        self._lock = threading.RLock()
        self._stopping = Stopping(arm, clock, pause)
        self._confirmed = self._halted = self._kept = False
        self._activation = threading.Lock()
        self._activation_s = 0.0  # longest time that one takes, its own waits together
        self._retired = ""  # why it is never to be active again
        self._episode: int | None = None
        self._step = 0
        self._last_command_s: float | None = None
        self._look = RestingLook(arm, config.move_timeout_s, clock)

    @property
    def step(self) -> tuple[int, int]:
        """(episode, step) of the newest state; episode 0 before the first reset."""
        return self._episode or 0, self._step

    def activate(self, timeout_s: float) -> None:
        """Connect the arm; that somebody activated it releases the stop it was left with.

        Raises:
            BayesCuriosityError: not active; `reason` says why. An arm that moves and cannot be
                stopped stays connected and in fault until `watch` has seen it stand.
        """
        with self._activation:
            self._activation_s = timeout_s + 3.0 * SETTLE_S
            if self.state == State.INACTIVE:
                self._connect(timeout_s)
            self._find_at_rest()
            if self._retired:
                self.abandon(f"stopped: {self._retired}")
                raise NotReadyError(f"the arm is not activated any more: {self._retired}")
            self.arm.release()
            self._kept = self._halted = False
            self._become(State.READY, "", unlatch=True)

    def deactivate(self, reason: str, timeout_s: float = SETTLE_S) -> None:
        """Stop the arm, see it stand still, and let go of it.

        Raises:
            ArmError: no standstill was measured in time. The arm stays connected and in fault,
                and `watch` goes on trying to stop it.
        """
        if self.state == State.INACTIVE:
            return
        self._latch(State.STOPPED, f"stopped: {reason}", reason)
        if not self._stopping.comes_to_rest(timeout_s):
            self._cry_out()
            raise ArmError(self.reason)
        self.abandon(f"stopped: {reason}")

    def retire(self, reason: str, timeout_s: float) -> None:
        """Deactivate for good: an activation under way in another thread does not get through.

        Raises:
            ArmError: as `deactivate`, or the activation did not end in time.
        """
        self._retired = reason
        if not self._activation.acquire(timeout=self._activation_s):
            raise ArmError(f"it is still being activated after {self._activation_s} s")
        self._activation.release()
        self.deactivate(reason, timeout_s)

    def abandon(self, reason: str) -> None:
        """Let go of the arm, whether or not it stands still."""
        self._stopping.under_way = self._kept = False
        self._episode = None
        self._become(State.INACTIVE, reason, unlatch=True)  # first: it may take a while
        with contextlib.suppress(ArmError):
            self.arm.disconnect()

    def confirm(self) -> None:
        """The operator says that the cell is ready for the next reset."""
        self._confirmed = True
        if self.state == State.WAITING_FOR_OPERATOR:
            self._become(State.READY, "")

    def reset_episode(self, episode: int, seed: int, confirmed: bool) -> ArmState:
        """Bring arm and object to the start of an episode."""
        require_active(self.state, self.reason)
        if self.config.confirm_resets and not (confirmed or self._confirmed):
            reason = (
                f"episode {episode} waits for the operator: clear the cell, place the object, "
                "then call arm/confirm"
            )
            self._become(State.WAITING_FOR_OPERATOR, reason)
            raise NotReadyError(reason)
        self._confirmed = False
        self._begin_way("on the way to the start of an episode")
        state = self._guarded(lambda: self._place(seed))
        self._episode, self._step = episode, 0
        self._become(State.READY, "")
        return state

    def measure(self) -> ArmState:
        """The arm's state, for a command that depends on it; one that cannot tell is in fault."""
        return self._guarded(lambda: self.arm.state(self.config.move_timeout_s))

    def act(self, episode: int, step: int, deltas: np.ndarray, gripper: float) -> Executed:
        """Carry out one command.

        Raises:
            BayesCuriosityError: rejected; nothing moved, and the message says why.
        """
        if not self.config.resume_after_halt:
            self._halt_if_silent()  # a node that was held up may come to old commands first
        try:
            self._check(episode, step, deltas, gripper)
        except BayesCuriosityError:
            self.counters.rejected += 1
            raise
        self._unhalt()
        self._become(State.MOVING, self.reason if self.state == State.MOVING else "")
        self._last_command_s = None  # the watchdog counts from when a motion ends
        try:
            executed = self._guarded(lambda: self._move(deltas, gripper))
        finally:
            self._last_command_s = self._clock()
        self._step = step + 1
        self.counters.accepted += 1
        self.counters.limited += bool(executed.changes)
        refused = executed.explanation if executed.changes & REFUSALS else ""
        with self._lock:
            if not self._halted:  # meanwhile, where this thread was held up
                self._become(State.MOVING, refused)
        return executed

    def home(self) -> ArmState:
        """Go to the ready pose; ends the episode."""
        require_active(self.state, self.reason)
        self._begin_way("on the way home")
        state = self._guarded(self._home)
        self._become(State.READY, "")
        return state

    def stop(self, reason: str) -> None:
        """Stand still until `release`; from any thread, at any time."""
        if self.state == State.INACTIVE:
            self.counters.stops += 1
            return
        self._latch(State.STOPPED, f"stopped: {reason}; call arm/release to go on", reason)

    def release(self) -> None:
        """Allow motion again; clears a fault. The next episode begins with a reset.

        Raises:
            ArmError: the arm does not stand still, or its fault does not go away.
        """
        if self.state == State.INACTIVE or self._kept:
            raise NotReadyError(f"the arm is not active ({self.reason}); activate the node first")
        if self.state not in (State.STOPPED, State.FAULT):
            return
        self._stopping.require_rest(SETTLE_S)
        if self.state == State.FAULT:
            self.arm.clear_faults()
            self.arm.stop(self._stopping.reason)  # one that the arm accepts, before all else
        self.arm.state(self.config.move_timeout_s)
        self.arm.release()
        self._halted = False
        self._become(State.READY, "", unlatch=True)

    def watch(self) -> bool:
        """Halt when commands have ceased, stop what should stand, look for faults at rest.

        To be called every few hundredths of a second. Whether state or reason changed.

        Raises:
            Exception: what nobody foresaw; the arm is in fault, and is stopped.
        """
        before, failed = (self.state, self.reason), None
        for look in (self.arm.keep_alive, self._look_after):
            try:
                look()
            except Exception as error:  # of whatever kind, it may not skip a stop
                failed = failed or error
        if failed is not None:
            if self.state not in (State.INACTIVE, State.FAULT):
                self._fault(failed)
            raise failed
        return (self.state, self.reason) != before

    def _look_after(self) -> None:
        if self._stopping.under_way:
            self._go_on_stopping()
        elif not self._halt_if_silent():
            self._look_for_faults()

    def _connect(self, timeout_s: float) -> None:
        if self._retired:
            raise NotReadyError(f"the arm is not activated any more: {self._retired}")
        try:
            self.arm.connect(timeout_s)
        except BayesCuriosityError as error:
            self.abandon(f"cannot activate: {error}")
            raise

    def _find_at_rest(self) -> None:
        """Measure that the arm stands before it is active."""
        try:
            self._stopping.require_rest(SETTLE_S)
        except ArmError as error:
            if self._stopping.under_way:
                self._kept = True  # not active, but connected until it stands
                self._cry_out()
            else:
                self.abandon(f"cannot activate: {error}")
            raise

    def _halt_if_silent(self) -> bool:
        with self._lock:
            last = self._last_command_s
            if last is None or self.state != State.MOVING:
                return False
            silent_s = self._clock() - last
            if silent_s < self.config.command_timeout_s:
                return False
            self._last_command_s, self._halted = None, True
            if not self.config.resume_after_halt:
                self._episode = None
            self.reason = f"halting: no command for {silent_s:.2f} s"
        self._stopping.begin(f"no command for {silent_s:.2f} s")
        self._go_on_stopping()
        return True

    def _go_on_stopping(self) -> None:
        late = self._stopping.lasted_s > self.config.alarm_s
        if late:
            self._cry_out()  # before the attempt: that may have to wait for an answer
        if not self._stopping.attempt():
            return
        if self._kept:
            self.abandon("not active: the arm moved; it stands still now, activate it again")
            return
        with self._lock:
            if late and self.state == State.FAULT:
                said = f"stands still again, {self._stopping.reason}; {WHAT_NEXT}"
                self._become(State.FAULT, said, unlatch=True)
        self._end_halt()

    def _end_halt(self) -> None:
        with self._lock:
            if self._halted and self.state == State.MOVING:
                over = "" if self.config.resume_after_halt else "; the episode is over, reset it"
                self._become(State.READY, f"halted: {self._stopping.reason}{over}")

    def _cry_out(self) -> None:
        """Say that the arm may move, for as long as nobody knows that it stands."""
        trouble = self._stopping.trouble or "it still moves"
        reason = f"the arm cannot be stopped, press its emergency stop: {trouble}; trying on"
        with self._lock:
            if self._stopping.under_way:
                self._episode = None
                self._become(State.FAULT, reason, unlatch=True)

    def _look_for_faults(self) -> None:
        """A simulated arm has none."""
        resting = (State.READY, State.WAITING_FOR_OPERATOR, State.STOPPED)
        looks = self.state in resting and self._placed is None
        if looks and (error := self._look.trouble()) and self.state in resting:
            self._fault(error)

    def _check(self, episode: int, step: int, deltas: np.ndarray, gripper: float) -> None:
        require_active(self.state, self.reason)
        check_command(deltas, gripper, len(self.arm.joint_names))
        expected = None if self._episode is None else self.step
        check_step((episode, step), expected, self.config.max_episode_steps)

    def _begin_way(self, reason: str) -> None:
        """Before a motion that is no step of an episode: the episode is over, the arm at rest."""
        self._episode, self._last_command_s = None, None
        if self._halted and not self._stopping.comes_to_rest(SETTLE_S):
            raise ArmError(f"the arm was halted and moves still: {self._stopping.trouble}")
        self._unhalt()
        self._become(State.MOVING, reason)

    def _place(self, seed: int) -> ArmState:
        if self._placed is None:
            return self._home()
        self._placed.begin(seed)
        return self.arm.state(self.config.move_timeout_s)

    def _move(self, deltas: np.ndarray, gripper: float) -> Executed:
        execute = self.arm.rehearse if self.config.dry_run else self.arm.move
        return execute(deltas, gripper, self.config.move_timeout_s)

    def _home(self) -> ArmState:
        if not self.config.dry_run:
            self.arm.home(self.config.home_timeout_s)
            self._stopping.require_still(SETTLE_S)
        return self.arm.state(self.config.move_timeout_s)

    def _guarded(self, motion: Callable[[], T]) -> T:
        """An arm that fails in mid-motion is stopped, and stays so."""
        try:
            return motion()
        except ArmStoppedError as error:
            self.counters.rejected += 1
            self._become(State.STOPPED, str(error))
            raise
        except BaseException as error:
            if isinstance(error, ArmError) or not isinstance(error, BayesCuriosityError):
                self._fault(error)
            raise

    def _fault(self, error: BaseException) -> None:
        reason = str(error) or repr(error)
        self._latch(State.FAULT, f"{reason}; {WHAT_NEXT}", reason)

    def _latch(self, state: State, said: str, reason: str) -> None:
        """First the state, so that nothing else moves the arm; then the stop, until it stands."""
        with self._lock:
            self.counters.stops += 1
            self._episode = None
            if self.state != State.FAULT or state == State.FAULT:
                self.state, self.reason = state, said
        self._stopping.begin(reason)
        self._stopping.attempt()

    def _unhalt(self) -> None:
        with self._lock:
            halted, self._halted = self._halted, False
        if halted:
            self.arm.release()

    def _become(self, state: State, reason: str, unlatch: bool = False) -> None:
        """Change state; a stop or fault that came in meanwhile, from another thread, prevails."""
        with self._lock:
            if unlatch or self.state not in (State.STOPPED, State.FAULT):
                self.state, self.reason = state, reason
