"""An arm that does not stop when it is told to: what its supervisor does and says."""

import threading

import pytest

from bayes_curiosity_ros.robot.arms.arm import ArmError
from bayes_curiosity_ros.robot.supervision import NotReadyError, State, SupervisorConfig
from bayes_curiosity_ros.robot.supervisor import ArmSupervisor
from support.supervised import act
from support.waiting import WAIT_S, wait_for


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

    def test_an_arm_that_is_home_and_moves_on_is_a_fault(self, supervisor, arm):
        arm.stop_trouble = "refused"
        with pytest.raises(ArmError, match="arrived, but moves still"):
            supervisor.home()
        assert (supervisor.state, arm.calls[-1]) == (State.FAULT, "stop")

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
        for _ in range(2):
            with pytest.raises(ArmError, match="no standstill"):
                supervisor.activate(1.0)
        assert arm.calls.count("connect") == 1
        assert supervisor.state == State.FAULT
        with pytest.raises(NotReadyError, match="cannot be stopped"):
            supervisor.release()
        stops = arm.calls.count("stop")
        self.watched(supervisor, clock, 1.0)
        assert arm.calls.count("stop") >= stops + 8
        assert supervisor.state == State.FAULT
        arm.moves = False
        self.watched(supervisor, clock, 0.1)
        assert (supervisor.state, arm.calls[-1]) == (State.INACTIVE, "disconnect")
        assert "activate it again" in supervisor.reason
        supervisor.activate(1.0)
        assert supervisor.state == State.READY

    def test_an_arm_that_cannot_be_seen_is_not_activated_and_let_go_of(self, arm, clock):
        arm.unseen = "no states"
        supervisor = ArmSupervisor(arm, SupervisorConfig(), clock, clock.pause)
        with pytest.raises(ArmError, match="no states"):
            supervisor.activate(1.0)
        assert (supervisor.state, arm.calls[-1]) == (State.INACTIVE, "disconnect")
        assert "cannot activate: no states" in supervisor.reason

    def test_an_arm_that_was_halted_while_its_motion_ended_is_at_rest(
        self, supervisor, arm, clock
    ):
        """A thread may be held up between the end of a motion and what it says of it."""
        arm.moves = False
        finished = supervisor._guarded

        def held_up(motion):
            executed = finished(motion)
            supervisor._last_command_s = clock.now
            self.watched(supervisor, clock, 0.2)
            return executed

        supervisor._guarded = held_up
        act(supervisor, step=1)
        assert supervisor.state == State.READY


class TestAnArmThatIsRetired:
    """Whoever ends a node does not know whether another thread activates its arm just then."""

    @pytest.fixture
    def supervisor(self, arm, clock):
        return ArmSupervisor(arm, SupervisorConfig(), clock, clock.pause)

    @pytest.mark.parametrize("moment", ["connect", "is_still"])
    def test_an_activation_under_way_does_not_get_through(
        self, supervisor, arm, monkeypatch, moment
    ):
        ends, under_way, go_on = [], threading.Event(), threading.Event()
        real = getattr(arm, moment)

        def slow(*arguments):
            under_way.set()
            assert go_on.wait(WAIT_S)
            return real(*arguments)

        def activate():
            with pytest.raises(NotReadyError, match="the end") as error:
                supervisor.activate(WAIT_S)
            ends.append(error)

        monkeypatch.setattr(arm, moment, slow)
        activation = threading.Thread(target=activate)
        retirement = threading.Thread(target=supervisor.retire, args=("the end", 1.0))
        activation.start()
        assert under_way.wait(WAIT_S)
        retirement.start()
        wait_for(lambda: supervisor._retired, "retirement")
        go_on.set()
        for thread in (activation, retirement):
            thread.join(WAIT_S)
        assert ends
        assert (supervisor.state, arm.calls[-1]) == (State.INACTIVE, "disconnect")
        assert "release" not in arm.calls

    def test_it_is_not_connected_afterwards(self, supervisor, arm):
        supervisor.retire("the end", 1.0)
        with pytest.raises(NotReadyError, match="the end"):
            supervisor.activate(1.0)
        assert arm.calls == []

    def test_an_activation_that_never_ends_is_told(self, supervisor):
        with supervisor._activation, pytest.raises(ArmError, match="still being activated"):
            supervisor.retire("the end", 1.0)
