"""Waiting: what counts as time, and what ends a wait."""

from types import SimpleNamespace

import pytest
from rclpy.task import Future
from std_srvs.srv import Trigger

from bayes_curiosity_ros.nodes import waiter as module
from bayes_curiosity_ros.nodes.run import WAKE_S
from bayes_curiosity_ros.nodes.waiter import PeerChangedError, Waiter, WaitTimeoutError


class Clock:
    """Time that passes in `spin_once` alone, as long as it is told to take."""

    def __init__(self):
        self.now_s, self.turns = 0.0, 0
        self.stopped_s = {}

    def monotonic(self):
        return self.now_s

    def spin_once(self, timeout_sec):
        self.now_s += timeout_sec + self.stopped_s.get(self.turns, 0.0)
        self.turns += 1


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def waiter(clock):
    return Waiter(clock, SimpleNamespace(wanted=""))


def test_a_wait_ends_when_its_time_is_over(waiter, clock):
    with pytest.raises(WaitTimeoutError, match=r"rain: nothing within 5.0 s"):
        waiter.until(lambda: False, 5.0, "rain")
    assert 5.0 <= clock.now_s < 5.0 + 3 * WAKE_S


def test_time_in_which_nothing_could_be_served_does_not_count(waiter, clock):
    """This process was stopped for 8 s, and what it waits for comes in the turn after."""
    clock.stopped_s = {2: 8.0}
    waiter.until(lambda: clock.turns == 20, 5.0, "what came meanwhile")
    assert clock.now_s > 8.0


def test_an_answer_that_was_lost_is_asked_for_again(waiter, clock):
    asked = []

    def ask(request):
        asked.append(future := Future())
        if len(asked) == 3:
            future.set_result(Trigger.Response(success=True))
        return future

    client = SimpleNamespace(srv_name="a", call_async=ask, remove_pending_request=lambda _: None)
    assert waiter.call_again(client, None, 60.0).success
    assert clock.now_s < 5.0
    asked.extend([None] * 3)
    with pytest.raises(WaitTimeoutError, match=r"nothing within 10.0 s"):
        waiter.call_again(client, None, 10.0)


def test_a_call_that_a_new_process_did_not_hear_is_not_waited_for(waiter):
    forgotten = []
    client = SimpleNamespace(srv_name="a", remove_pending_request=forgotten.append)
    future = Future()
    with pytest.raises(PeerChangedError, match="started again"):
        waiter.answer(client, future, 5.0, SimpleNamespace(changed=True))
    assert forgotten == [future]
    future.set_result(yes := Trigger.Response(success=True))
    assert waiter.answer(client, future, 5.0, SimpleNamespace(changed=True)) is yes
