"""Order, stops, faults and the watchdog, without ROS and without waiting."""

import math

import numpy as np
import pytest

from bayes_curiosity_ros.errors import ConfigError, LengthError, NotFiniteError, StepError
from bayes_curiosity_ros.robot.arms.arm import ArmError, ArmState, ArmStoppedError, Executed
from bayes_curiosity_ros.robot.safety import Change
from bayes_curiosity_ros.robot.supervision import NotReadyError, State, SupervisorConfig
from bayes_curiosity_ros.robot.supervisor import ArmSupervisor


class RecordingArm:
    """Remembers what it was told; fails when asked to."""

    joint_names = ("joint_1", "joint_2")
    state_topic = ""

    def __init__(self):
        self.calls = []
        self.failure = None
        self.stopped = ""
        self.fault = ""
        self.moves = False
        self.stop_trouble = ""
        self.unseen = ""

    def connect(self, timeout_s):
        self.calls.append("connect")

    def disconnect(self):
        self.calls.append("disconnect")

    def state(self, timeout_s):
        if self.fault:
            raise ArmError(self.fault)
        zeros = np.zeros(2)
        return ArmState(0.0, zeros, zeros, np.zeros(0), 0.0, frozenset())

    def move(self, deltas, gripper, timeout_s):
        if self.stopped:
            raise ArmStoppedError(self.stopped)
        if self.failure:
            raise self.failure if isinstance(self.failure, Exception) else ArmError(self.failure)
        self.calls.append("move")
        return Executed(deltas, Change.NONE, "", self.state(timeout_s))

    def rehearse(self, deltas, gripper, timeout_s):
        self.calls.append("rehearse")
        words = "joint_2 within 0.015 m of the table"
        return Executed(0.0 * deltas, Change.COLLISION, words, self.state(timeout_s))

    def home(self, timeout_s):
        self.calls.append("home")
        return self.state(timeout_s)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def stop(self, reason):
        self.stopped = reason
        self.calls.append("stop")
        if self.stop_trouble:
            raise ArmError(self.stop_trouble)

    def keep_alive(self):
        pass

    def is_still(self):
        if self.unseen:
            raise ArmError(self.unseen)
        return not self.moves

    def release(self):
        self.stopped = ""
        self.calls.append("release")

    def clear_faults(self):
        self.calls.append("clear_faults")


class Clock:
    now = 0.0

    def __call__(self):
        return self.now

    def pause(self, duration_s):
        self.now += duration_s


@pytest.fixture
def arm():
    return RecordingArm()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def make(arm, clock):
    def build(**options) -> ArmSupervisor:
        supervisor = ArmSupervisor(arm, SupervisorConfig(**options), clock, clock.pause)
        supervisor.activate(1.0)
        return supervisor

    return build


def act(supervisor, episode=1, step=0, deltas=(0.1, 0.1), gripper=0.0):
    return supervisor.act(episode, step, np.array(deltas), gripper)


def test_steps_count_up_from_the_reset(make):
    supervisor = make()
    supervisor.reset_episode(1, 0, False)
    for step in range(3):
        act(supervisor, step=step)
        assert supervisor.step == (1, step + 1)
    assert supervisor.counters.accepted == 3
    assert supervisor.state == State.MOVING


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"step": 1}, StepError, "expected episode 1, step 0"),
        ({"episode": 2}, StepError, "expected episode 1, step 0"),
        ({"deltas": (0.1,)}, LengthError, "1 joint deltas for 2 joints"),
        ({"deltas": (math.nan, 0.0)}, NotFiniteError, "nan"),
        ({"deltas": (math.inf, 0.0)}, NotFiniteError, "inf"),
        ({"gripper": math.nan}, NotFiniteError, "gripper nan"),
        ({"gripper": 1.5}, NotFiniteError, "0 is open and 1 closed"),
    ],
)
def test_nonsense_is_rejected_and_moves_nothing(make, arm, options, error, words):
    supervisor = make()
    supervisor.reset_episode(1, 0, False)
    before = list(arm.calls)
    with pytest.raises(error, match=words):
        act(supervisor, **options)
    assert arm.calls == before
    assert supervisor.counters.rejected == 1
    act(supervisor)  # and the good one still counts as the first


def test_a_repeated_step_is_rejected(make):
    supervisor = make()
    supervisor.reset_episode(1, 0, False)
    act(supervisor)
    with pytest.raises(StepError, match="step 0; expected episode 1, step 1"):
        act(supervisor)


def test_no_action_before_the_first_reset(make):
    with pytest.raises(NotReadyError, match="reset_episode first"):
        act(make())


def test_a_stop_is_latched_across_commands_and_resets(make, arm):
    supervisor = make()
    supervisor.reset_episode(1, 0, False)
    act(supervisor)
    supervisor.stop("a hand in the cell")
    for attempt in (
        lambda: act(supervisor, step=1),
        lambda: supervisor.reset_episode(2, 0, True),
        supervisor.home,
    ):
        with pytest.raises(ArmStoppedError, match="a hand in the cell"):
            attempt()
    assert arm.calls[-1] == "stop"
    supervisor.release()
    with pytest.raises(NotReadyError, match="reset_episode first"):
        act(supervisor, step=1)
    supervisor.reset_episode(2, 0, True)
    act(supervisor, episode=2)


def test_silence_halts_in_less_than_two_tenths_of_a_second(make, arm, clock):
    supervisor = make()
    supervisor.reset_episode(1, 0, False)
    act(supervisor)
    clock.now = 0.14
    assert not supervisor.watch()
    clock.now = 0.16
    assert supervisor.watch()
    assert arm.calls[-1] == "stop"
    assert "no command for 0.16 s" in supervisor.reason
    assert not supervisor.watch()


def test_a_simulated_episode_goes_on_after_a_halt(make, arm, clock):
    supervisor = make(resume_after_halt=True)
    supervisor.reset_episode(1, 0, False)
    act(supervisor)
    clock.now = 1.0
    supervisor.watch()
    act(supervisor, step=1)
    assert arm.calls[-2:] == ["release", "move"]


def test_a_real_episode_is_over_after_a_halt(make, arm, clock):
    supervisor = make(resume_after_halt=False)
    supervisor.reset_episode(1, 0, False)
    act(supervisor)
    clock.now = 1.0
    supervisor.watch()
    with pytest.raises(NotReadyError):
        act(supervisor, step=1)
    assert arm.calls[-1] == "stop"
    supervisor.reset_episode(2, 0, False)
    act(supervisor, episode=2)


def test_an_arm_that_is_slow_to_let_go_of_is_no_fault(make, arm, clock):
    supervisor = make(resume_after_halt=False)
    seen = []

    def disconnect():
        arm.fault = arm.unseen = "the arm is not connected"
        for _ in range(5):
            clock.now += 0.2
            supervisor.watch()
            seen.append(supervisor.state)

    arm.disconnect = disconnect
    supervisor.deactivate("test")
    assert set(seen) == {State.INACTIVE}
    assert arm.calls.count("stop") == 1


def test_a_node_that_was_held_up_does_not_carry_out_what_waited_for_it(make, arm, clock):
    """After a SIGCONT, say: the old command may be served before the watchdog looks."""
    supervisor = make(resume_after_halt=False)
    supervisor.reset_episode(1, 0, False)
    act(supervisor)
    clock.now = 2.0
    with pytest.raises(NotReadyError):
        act(supervisor, step=1)
    assert arm.calls[-1] == "stop"
    assert arm.calls.count("move") == 1


def test_silence_before_the_first_command_is_no_fault(make, clock):
    supervisor = make()
    supervisor.reset_episode(1, 0, False)
    clock.now = 100.0
    assert not supervisor.watch()


def test_a_fault_stops_the_arm_until_it_is_released(make, arm):
    supervisor = make()
    supervisor.reset_episode(1, 0, False)
    arm.failure = "actuator 3 over temperature"
    with pytest.raises(ArmError, match="over temperature"):
        act(supervisor)
    assert supervisor.state == State.FAULT
    assert arm.calls[-1] == "stop"
    with pytest.raises(ArmError, match="arm/release"):
        supervisor.reset_episode(2, 0, True)
    arm.failure = None
    assert "clear_faults" not in arm.calls
    supervisor.release()
    assert arm.calls[-3:] == ["clear_faults", "stop", "release"]
    supervisor.reset_episode(2, 0, True)


class PlacedRecordingArm(RecordingArm):
    """One in simulation."""

    def begin(self, seed):
        self.calls.append(f"begin {seed}")


@pytest.mark.parametrize("dry_run", [False, True])
def test_an_episode_begins_by_placing_a_simulated_arm_and_by_homing_a_real_one(clock, dry_run):
    for arm, call in ((PlacedRecordingArm(), "begin 7"), (RecordingArm(), "home")):
        supervisor = ArmSupervisor(arm, SupervisorConfig(dry_run=dry_run), clock)
        supervisor.activate(1.0)
        supervisor.reset_episode(1, 7, False)
        moves = call != "home" or not dry_run
        assert arm.calls == ["connect", "release", *([call] if moves else [])]


def test_a_reset_waits_for_the_operator(make, arm):
    supervisor = make(confirm_resets=True)
    with pytest.raises(NotReadyError, match="arm/confirm"):
        supervisor.reset_episode(1, 0, False)
    assert supervisor.state == State.WAITING_FOR_OPERATOR
    assert "home" not in arm.calls
    supervisor.confirm()
    supervisor.reset_episode(1, 0, False)
    with pytest.raises(NotReadyError):  # a confirmation counts once
        supervisor.reset_episode(2, 0, False)


def test_a_dry_run_checks_and_reports_and_moves_nothing(make, arm):
    supervisor = make(dry_run=True)
    supervisor.reset_episode(1, 0, False)
    executed = act(supervisor)
    assert not executed.deltas.any()
    assert "of the table" in supervisor.reason
    assert (supervisor.counters.accepted, supervisor.counters.limited) == (1, 1)
    supervisor.home()
    assert "rehearse" in arm.calls
    assert not {"move", "home"} & set(arm.calls)


def test_leaving_stops_the_arm_first(make, arm):
    supervisor = make()
    supervisor.deactivate("the end")
    assert arm.calls[-2:] == ["stop", "disconnect"]
    with pytest.raises(NotReadyError, match="the end"):
        supervisor.reset_episode(1, 0, True)


def test_a_slow_watchdog_is_refused():
    with pytest.raises(ConfigError, match=r"within 0\.2 s"):
        SupervisorConfig(command_timeout_s=0.5)


class TestAnArmThatDoesNotStop:
    """State first, then the stop, until standstill is measured; READY only then."""

    @pytest.fixture
    def supervisor(self, make, arm):
        supervisor = make(resume_after_halt=False)
        supervisor.reset_episode(1, 0, False)
        act(supervisor)
        arm.moves = True
        return supervisor

    @staticmethod
    def watched(supervisor, clock, duration_s):
        """States and reasons while the node's timer goes on."""
        end_s, seen = clock.now + duration_s, []
        while clock.now < end_s:
            clock.now += 0.02
            supervisor.watch()
            seen.append((supervisor.state, supervisor.reason))
        return seen

    def test_a_stop_that_fails_is_tried_again(self, supervisor, arm, clock):
        arm.stop_trouble = "the arm did not answer within 0.15 s"
        supervisor.stop("a hand in the cell")
        assert supervisor.state == State.STOPPED
        seen = self.watched(supervisor, clock, 1.0)
        assert arm.calls.count("stop") >= 8
        assert seen[-1][0] == State.FAULT
        assert "press its emergency stop: the stop failed: the arm did not answer" in seen[-1][1]
        arm.stop_trouble = ""
        arm.moves = False
        self.watched(supervisor, clock, 0.1)
        assert supervisor.state == State.FAULT
        assert supervisor.reason.startswith("stands still again, a hand in the cell")
        assert "arm/release" in supervisor.reason

    def test_a_fault_is_the_state_even_where_the_stop_fails(self, supervisor, arm, clock):
        arm.failure, arm.stop_trouble = "no answer", "refused"
        with pytest.raises(ArmError, match="no answer"):
            act(supervisor, step=1)
        assert supervisor.state == State.FAULT
        assert State.READY not in {state for state, _ in self.watched(supervisor, clock, 2.0)}

    def test_an_error_that_nobody_expected_stops_the_arm(self, supervisor, arm):
        arm.failure = ZeroDivisionError("a mistake of ours")
        with pytest.raises(ZeroDivisionError):
            act(supervisor, step=1)
        assert (supervisor.state, arm.calls[-1]) == (State.FAULT, "stop")

    def test_silence_is_ready_only_after_standstill(self, supervisor, arm, clock):
        seen = self.watched(supervisor, clock, 0.2)
        assert seen[-1][0] == State.MOVING
        assert "halting: no command for" in seen[-1][1]
        arm.moves = False
        assert self.watched(supervisor, clock, 0.02)[-1] == (
            State.READY,
            "halted: no command for 0.16 s; the episode is over, reset it",
        )

    def test_a_halt_that_fails_is_a_fault(self, supervisor, arm, clock):
        arm.stop_trouble = "refused"
        seen = self.watched(supervisor, clock, 1.0)
        assert {state for state, _ in seen} == {State.MOVING, State.FAULT}

    @pytest.mark.parametrize("trouble", [{"moves": True}, {"unseen": "no states"}])
    def test_a_release_needs_standstill(self, supervisor, arm, trouble):
        supervisor.stop("test")
        arm.moves = False
        vars(arm).update(trouble)
        with pytest.raises(ArmError, match="standstill"):
            supervisor.release()
        assert supervisor.state != State.READY
        vars(arm).update(moves=False, unseen="")
        supervisor.release()
        assert supervisor.state == State.READY

    def test_a_release_in_motion_changes_nothing(self, supervisor):
        supervisor.release()
        assert supervisor.state == State.MOVING

    def test_a_fault_that_does_not_go_away_is_not_released(self, supervisor, arm):
        arm.moves, arm.failure = False, "a fault"
        with pytest.raises(ArmError):
            act(supervisor, step=1)
        arm.fault = "fault in the base"
        with pytest.raises(ArmError, match="fault in the base"):
            supervisor.release()
        assert supervisor.state == State.FAULT

    def test_it_is_not_let_go_of_while_it_moves(self, supervisor, arm, clock):
        arm.stop_trouble = "refused"
        with pytest.raises(ArmError, match="refused"):
            supervisor.deactivate("the end")
        assert "disconnect" not in arm.calls
        assert supervisor.state == State.FAULT
        arm.moves, arm.stop_trouble = False, ""
        supervisor.deactivate("the end")
        assert (supervisor.state, arm.calls[-1]) == (State.INACTIVE, "disconnect")

    def test_an_arm_that_moves_is_stopped_before_it_is_active(self, arm, clock):
        arm.moves = True
        supervisor = ArmSupervisor(arm, SupervisorConfig(), clock, clock.pause)
        with pytest.raises(ArmError, match="no standstill"):
            supervisor.activate(1.0)
        assert "stop" in arm.calls
        assert arm.calls[-1] == "disconnect"
        assert supervisor.state == State.INACTIVE
        assert "cannot activate: no standstill" in supervisor.reason


def test_a_fault_at_rest_is_seen(make, arm, clock):
    supervisor = make()
    clock.now += 1.0
    assert not supervisor.watch()
    arm.fault = "fault in the base: banks 0x4"
    clock.now += 1.0
    assert not supervisor.watch()  # one late answer at rest is none
    clock.now += 0.1
    assert supervisor.watch()
    assert supervisor.state == State.FAULT
    assert "fault in the base" in supervisor.reason
    assert "arm/release" in supervisor.reason


def test_it_is_never_ready_on_its_way(make, arm):
    supervisor = make()
    seen = []
    arm.home = lambda timeout_s: seen.append(supervisor.state)
    supervisor.reset_episode(1, 0, False)
    supervisor.home()
    assert seen == [State.MOVING] * 2
    assert supervisor.state == State.READY


def test_a_failed_activation_says_why(arm, clock):
    supervisor = ArmSupervisor(arm, SupervisorConfig(), clock, clock.pause)

    def connect(timeout_s):
        raise ArmError("the password is wrong")

    arm.connect = connect
    with pytest.raises(ArmError):
        supervisor.activate(1.0)
    assert supervisor.reason == "cannot activate: the password is wrong"
