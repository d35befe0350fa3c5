"""Order, stops, faults and the watchdog, without ROS and without waiting."""

import math

import pytest

from bayes_curiosity_ros.errors import ConfigError, LengthError, NotFiniteError, StepError
from bayes_curiosity_ros.robot.arms.arm import ArmError, ArmStoppedError
from bayes_curiosity_ros.robot.supervision import NotReadyError, State, SupervisorConfig
from bayes_curiosity_ros.robot.supervisor import ArmSupervisor
from support.supervised import RecordingArm, act


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


@pytest.mark.parametrize("broken", ["keep_alive", "_look_for_faults"])
def test_what_nobody_foresaw_in_the_watch_stops_the_arm(make, arm, monkeypatch, broken):
    supervisor = make()
    supervisor.reset_episode(1, 0, False)

    def fail():
        raise TypeError("nobody thought of it")

    monkeypatch.setattr(arm if broken == "keep_alive" else supervisor, broken, fail)
    with pytest.raises(TypeError):
        supervisor.watch()
    assert arm.calls[-1] == "stop"
    assert supervisor.state == State.FAULT
    assert "nobody thought of it" in supervisor.reason


def test_a_watch_that_fails_still_halts_what_fell_silent(make, arm, clock, monkeypatch):
    supervisor = make()
    supervisor.reset_episode(1, 0, False)
    act(supervisor)
    monkeypatch.setattr(arm, "keep_alive", lambda: 1 / 0)
    clock.now = 1.0
    with pytest.raises(ZeroDivisionError):
        supervisor.watch()
    assert "stop" in arm.calls
