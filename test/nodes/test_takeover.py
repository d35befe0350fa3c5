"""A person takes the arm over, drives it no faster than real time, and gives it back."""

import contextlib
import time

import numpy as np
import pytest
from sensor_msgs.msg import Joy

from bayes_curiosity_interfaces.msg import Action, ArmState, ArmStatus, Status
from bayes_curiosity_ros.errors import BayesCuriosityError, StepError
from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.nodes.takeover import Takeover
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.joystick import JoystickConfig
from bayes_curiosity_ros.robot.operator import Driver as Who
from bayes_curiosity_ros.robot.operator import Operator, OperatorConfig
from bayes_curiosity_ros.robot.supervision import SupervisorConfig
from bayes_curiosity_ros.robot.supervisor import ArmSupervisor
from support.driver import ARM, Driver
from support.graph import eventually
from support.person import Person
from support.processes import started_processes
from support.supervised import Clock, RecordingArm, act
from support.waiting import wait_for

ROBOT = RobotConfig.load("jaco.yaml")
STEP_S = ROBOT.world.control_step_s
# What the learner asks for all the while, in [rad]: another way than any person.
ASKED = (0.02,) * 6


@pytest.fixture(scope="module")
def cell():
    """Driver and person at one arm node that the tests of this file share."""
    with started_processes() as start, BackgroundNode("driver") as background:
        start(ARM)
        driver = Driver(background)
        wait_for(lambda: heard(driver), "reset that is heard")
        yield driver, Person(background)


def heard(driver) -> bool:
    assert driver.reset().status.code == Status.OK
    with contextlib.suppress(AssertionError):
        return bool(eventually(driver.states, lambda m: m.step == 0, 1.0))
    return False


@pytest.fixture
def both(cell):
    """The same, nobody driving, whatever a test before has left behind."""
    driver, person = cell
    person.rest()
    person.give()
    driver.trigger("release")
    for messages in (driver.states, driver.status):
        while not messages.empty():
            messages.get()
    return cell


def steps_of(driver, episode, first, count):
    """States after some steps of a learner that asks for `ASKED`."""
    for step in range(first, first + count):
        driver.act(episode, step, ASKED)
        yield driver.reached(episode, step + 1)


def joints_of(state):
    return np.array(state.positions[:6])


def test_a_person_drags_the_hand_and_gives_it_back_without_a_jump(both):
    driver, person = both
    joints = [joints_of(driver.reset(episode=11).state)]
    goal = person.hand(joints[0]) + np.array([0.07, 0.07, 0.0])
    assert person.take().success
    person.want(joints[0], goal)
    states, began = [], time.monotonic()
    for state in steps_of(driver, 11, 0, 60):
        states.append(state)
        if np.linalg.norm(person.hand(joints_of(state)) - goal) < 0.005:
            break
    lasted_s = time.monotonic() - began
    assert np.linalg.norm(person.hand(joints_of(states[-1])) - goal) < 0.005
    assert all(state.actor == ArmState.OPERATOR for state in states)
    assert lasted_s >= (len(states) - 1) * STEP_S
    assert eventually(driver.status, lambda m: m.driver == ArmStatus.OPERATOR)
    assert person.give().success
    back = list(steps_of(driver, 11, len(states), 5))
    assert all(state.actor == ArmState.POLICY for state in back)
    assert all(tuple(state.requested_deltas) == ASKED for state in back)
    assert eventually(driver.status, lambda m: m.driver == ArmStatus.POLICY)
    require_smooth(person, [*joints, *map(joints_of, states + back)], states + back)
    hands = [person.hand(joints_of(state)) for state in states]
    ways = np.linalg.norm(np.diff(hands, axis=0), axis=1)
    assert ways.max() <= 1.1 * OperatorConfig().hand_speed_m_s * STEP_S


def require_smooth(person, joints, states):
    """Joints go on where they were; no step is longer than it may be, the servo's swing aside."""
    moved = np.diff(joints, axis=0)
    np.testing.assert_allclose(moved, [state.executed_deltas for state in states], atol=1e-12)
    most_rad = person.kinematics.world.max_delta_rad
    assert (np.abs([state.requested_deltas for state in states]) <= most_rad * (1 + 1e-9)).all()
    assert (np.abs(moved) <= 1.1 * most_rad).all()


def test_what_the_learner_asks_does_not_count_while_a_person_drives(both):
    driver, person = both
    before = joints_of(driver.reset(episode=12).state)
    person.take()
    (state,) = steps_of(driver, 12, 0, 1)
    assert state.actor == ArmState.OPERATOR
    assert not any(state.requested_deltas)
    np.testing.assert_allclose(joints_of(state), before, atol=2e-3)


def test_the_arm_stands_when_the_person_falls_silent(both):
    driver, person = both
    joints = joints_of(driver.reset(episode=13).state)
    person.take()
    person.drag(joints, [0.0, 0.3, 0.0])
    states = []

    def moves():
        states.extend(steps_of(driver, 13, len(states), 1))
        return any(states[-1].requested_deltas)

    wait_for(moves, "motion")
    person.rest()
    wait_for(lambda: not moves(), "standstill")
    assert states[-1].actor == ArmState.OPERATOR


def test_a_joystick_drives_while_its_button_is_held(both):
    driver, person = both
    first = joints_of(driver.reset(episode=14).state)
    assert person.take().success
    sticks = driver.background.node.create_publisher(Joy, "joy", 10)
    config = JoystickConfig()
    axes, buttons = [0.0] * 6, [0] * 5
    axes[config.axes[2]], buttons[config.drive], buttons[config.close] = 1.0, 1, 1
    states = []

    def rises():
        sticks.publish(Joy(axes=axes, buttons=buttons))
        states.extend(steps_of(driver, 14, len(states), 1))
        return person.hand(joints_of(states[-1]))[2] > person.hand(first)[2] + 0.03

    wait_for(rises, "rise of the hand")
    assert states[-1].requested_gripper == 1.0


def test_a_stop_ends_the_driving_and_nobody_takes_over_a_stopped_arm(both):
    driver, person = both
    joints = joints_of(driver.reset(episode=15).state)
    person.take()
    person.drag(joints, [0.0, 0.1, 0.0])
    list(steps_of(driver, 15, 0, 2))
    assert driver.trigger("stop").success
    driver.act(15, 2, ASKED)
    eventually(driver.status, lambda m: "action (15, 2) rejected" in m.reason)
    refused = person.take()
    assert not refused.success
    assert "arm/release" in refused.message
    assert driver.trigger("release").success
    assert eventually(driver.status, lambda m: m.state == ArmStatus.READY).driver == 0
    driver.reset(episode=16)
    (state,) = steps_of(driver, 16, 0, 1)
    assert state.actor == ArmState.POLICY


def test_it_is_said_that_nothing_moves_without_the_learner(both):
    driver, person = both
    driver.reset(episode=17)
    assert person.take().success
    status = eventually(driver.status, lambda m: m.driver == ArmStatus.OPERATOR)
    assert "nothing moves until the learner acts" in status.reason
    again = person.take()
    assert (again.success, "drives already" in again.message) == (False, True)


class PretendedTimer:
    """A timer that the test lets go off."""

    timer_period_ns = 0
    running = True

    def cancel(self):
        self.running = False

    def reset(self):
        self.running = True


class Desk:
    """A takeover of an arm that remembers what it was told; no graph."""

    def __init__(self):
        self.timer, self.acted, self.told = PretendedTimer(), [], []
        self.operator = Operator(ROBOT, OperatorConfig(), Clock())
        self.supervisor = ArmSupervisor(RecordingArm(), SupervisorConfig(), Clock())
        self.supervisor.activate(1.0)
        self.takeover = Takeover(
            self, self.operator, self.supervisor, self.acted.append, self.told.append, None
        )

    def create_timer(self, period_s, call, callback_group, clock):
        self.goes_off = call
        return self.timer


def test_an_action_waits_for_the_control_step_and_a_second_one_is_refused():
    desk = Desk()
    first, second = Action(episode=1, step=1), Action(episode=1, step=2)
    assert not desk.takeover.postpones(first)
    desk.takeover.take()
    assert not desk.takeover.postpones(first)  # nothing was done yet
    desk.takeover.asked(Action())
    assert desk.takeover.postpones(first)
    assert desk.timer.running
    assert 0 < desk.timer.timer_period_ns <= STEP_S * 1e9 + 1
    with pytest.raises(StepError, match=r"\(1, 1\) waits"):
        desk.takeover.postpones(second)
    desk.goes_off()
    assert (desk.acted, desk.timer.running) == ([first], False)


def test_an_action_that_waits_is_dropped_when_another_episode_begins():
    desk = Desk()
    desk.takeover.take()
    desk.takeover.asked(Action())
    assert desk.takeover.postpones(Action(episode=1, step=1))
    desk.takeover.forget()
    assert desk.takeover.postpones(Action(episode=2, step=0))
    desk.goes_off()
    assert [action.episode for action in desk.acted] == [2]


def test_control_goes_back_when_nothing_is_heard():
    desk = Desk()
    desk.takeover.take()
    desk.operator._clock.now = 9.9
    desk.takeover.watch()
    assert (desk.takeover.driver, desk.told) == (Who.OPERATOR, [])
    desk.operator._clock.now = 10.1
    desk.takeover.watch()
    desk.takeover.watch()
    assert desk.takeover.driver == Who.POLICY
    assert desk.told == [
        "control went back to the learner: nothing was heard of the person for 10 s"
    ]


def test_a_fault_ends_the_driving():
    desk = Desk()
    desk.takeover.take()
    desk.supervisor.arm.fault = "a torque sensor"
    with pytest.raises(BayesCuriosityError, match="torque"):
        desk.takeover.asked(Action())
    desk.takeover.watch()
    assert desk.takeover.driver == Who.POLICY
    assert "take it over again" in desk.told[-1]
    with pytest.raises(BayesCuriosityError, match="torque"):
        desk.takeover.take()


def test_the_watchdog_halts_an_arm_whose_next_step_could_not_be_computed(monkeypatch):
    desk = Desk()
    desk.supervisor.reset_episode(1, 0, confirmed=True)
    act(desk.supervisor, 1, 0)
    desk.takeover.take()
    monkeypatch.setattr(desk.operator, "step", lambda joints: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        desk.takeover.asked(Action(episode=1, step=1))
    assert "stop" not in desk.supervisor.arm.calls
    desk.supervisor._clock.now += 2 * desk.supervisor.config.command_timeout_s
    desk.supervisor.watch()
    assert desk.supervisor.arm.calls[-1] == "stop"
    assert "no command for" in desk.supervisor.reason
