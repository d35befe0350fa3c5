"""A person drives: bounded steps towards what they want, standstill when they are silent."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes_curiosity_ros.errors import ConfigError, InputError, LengthError
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.joystick import JoystickConfig, Stick, read_stick
from bayes_curiosity_ros.robot.kinematics import Kinematics, Pose
from bayes_curiosity_ros.robot.operator import Driver, Operator, OperatorConfig
from bayes_curiosity_ros.robot.safety import SafetyFilter
from bayes_curiosity_ros.robot.supervision import NotReadyError
from support.supervised import Clock

ROBOT = RobotConfig.load("jaco.yaml")
READY = np.array(ROBOT.arm.ready_rad)
KINEMATICS = Kinematics(ROBOT)
CONFIG = OperatorConfig()
MOST_M = CONFIG.hand_speed_m_s * ROBOT.world.control_step_s
MOST_RAD = SafetyFilter(ROBOT).speed_rad_s * ROBOT.world.control_step_s


@pytest.fixture(scope="module")
def anybody():
    """An operator that the tests of this file share."""
    return Operator(ROBOT, CONFIG, Clock())


@pytest.fixture
def operator(anybody):
    """The same, who has just taken over."""
    return taking(anybody)


def taking(operator):
    operator.give()
    operator.forget()
    operator._clock.now = 0.0
    operator.take()
    return operator


def away(x=0.0, y=0.0, z=0.0, joints=READY):
    """A pose this far from the hand, turned as it is."""
    hand = KINEMATICS.forward(joints)
    return Pose(hand.position + np.array([x, y, z]), hand.rotation)


def joy(held=True, close=False, open_=False, **axes):
    """A joystick's axes and buttons."""
    config = JoystickConfig()
    values, buttons = np.zeros(6), np.zeros(5, dtype=int)
    for name, value in axes.items():
        values[config.axes["xyz".index(name)]] = value
    buttons[[config.drive, config.close, config.open]] = held, close, open_
    return read_stick(config, values, buttons)


def test_nobody_drives_before_somebody_takes_over(anybody):
    anybody.give()
    for wish in (lambda: anybody.aim(away(z=0.1)), lambda: anybody.steer(joy(z=1.0))):
        with pytest.raises(NotReadyError, match="operator/take"):
            wish()
    anybody.steer(joy(held=False, z=1.0))  # lies on the table, and repeats itself
    assert anybody.driver == Driver.POLICY
    assert not anybody.step(READY).any()


def test_one_person_drives_at_a_time(operator):
    with pytest.raises(NotReadyError, match="drives already"):
        operator.take()
    operator.give()
    operator.take()
    assert operator.driver == Driver.OPERATOR


def test_the_hand_comes_to_where_it_is_wanted_and_rests_there(operator):
    goal, joints, ways = away(x=0.1, y=0.05, z=-0.02), READY, []
    operator.aim(goal)
    for _ in range(40):
        before = KINEMATICS.forward(joints).position
        joints = joints + operator.step(joints)
        ways.append(np.linalg.norm(KINEMATICS.forward(joints).position - before))
    hand = KINEMATICS.forward(joints)
    assert np.linalg.norm(hand.position - goal.position) < 0.002
    assert np.linalg.norm(hand.turn_to(goal)) < 0.01
    assert max(ways) <= MOST_M
    assert ways[-1] < 1e-4


places = st.tuples(*[st.floats(-2.0, 2.0)] * 3)
turns = st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1)
bent = st.tuples(*[st.floats(-1.5, 1.5)] * 6)


@settings(max_examples=60, deadline=None)
@given(places, turns, bent)
def test_no_step_is_faster_than_joints_and_hand_may_be(anybody, place, turn, bend):
    joints = np.clip(READY + bend, KINEMATICS.world.lower_rad, KINEMATICS.world.upper_rad)
    operator = taking(anybody)
    operator.aim(Pose.of(np.array(place), np.array(turn) / np.linalg.norm(turn)))
    deltas = operator.step(joints)
    assert (np.abs(deltas) <= MOST_RAD * (1 + 1e-9)).all()
    hand = [KINEMATICS.forward(each).position for each in (joints, joints + deltas)]
    assert np.linalg.norm(hand[1] - hand[0]) <= MOST_M * (1 + 1e-9)


def test_a_real_arm_is_slower_in_the_same_direction():
    safety = replace(ROBOT.safety, max_velocity_rad_s=(np.radians(10.0),))
    slow = Operator(replace(ROBOT, safety=safety), CONFIG, Clock())
    fast = Operator(ROBOT, CONFIG, Clock())
    for each in (slow, fast):
        each.take()
        each.aim(away(x=-0.2))
    deltas, others = slow.step(READY), fast.step(READY)
    assert np.abs(deltas).max() == pytest.approx(np.radians(1.0))
    np.testing.assert_allclose(
        deltas / np.linalg.norm(deltas), others / np.linalg.norm(others), atol=1e-6
    )


def test_the_arm_stands_when_wishes_cease_and_control_goes_back_later(operator):
    operator.aim(away(x=0.1))
    clock = operator._clock
    clock.now = CONFIG.stale_s
    assert operator.step(READY).any()
    clock.now = CONFIG.stale_s + 0.01
    assert not operator.step(READY).any()
    assert operator.driver == Driver.OPERATOR
    clock.now = CONFIG.silence_s
    assert not operator.is_silent()
    clock.now += 0.01
    assert operator.is_silent()


def test_what_was_wanted_before_does_not_count_after_a_reset_or_another_take(operator):
    operator.aim(away(x=0.1))
    operator.forget()
    assert not operator.step(READY).any()
    operator.aim(away(y=0.1))
    operator.give()
    assert not operator.step(READY).any()
    operator.take()
    assert not operator.step(READY).any()


def test_a_wish_that_is_only_repeated_does_not_move_the_arm_in_the_next_episode(operator):
    operator.aim(away(x=0.1))
    for _ in range(2):
        operator.forget()
        operator._clock.now += 0.4
        operator.aim(away(x=0.1))
        assert not operator.step(READY).any()
    operator._clock.now += 9.9  # the person was heard of, though
    assert not operator.is_silent()
    operator.aim(away(y=0.1))
    assert operator.step(READY).any()
    operator.aim(away(x=0.1))
    assert operator.step(READY).any()


def test_a_joystick_moves_the_hand_while_its_button_is_held(operator):
    operator.steer(joy(z=1.0))
    way = KINEMATICS.forward(READY + operator.step(READY)).position - away().position
    assert way[2] > 0.8 * MOST_M
    assert np.linalg.norm(way) <= MOST_M
    operator.steer(joy(held=False, z=1.0))
    assert not operator.step(READY).any()


def test_a_joystick_at_rest_does_not_undo_what_is_wanted_otherwise(operator):
    operator.aim(away(x=0.1))
    operator.steer(joy(held=False))
    assert operator.step(READY).any()


def test_a_joystick_whose_button_is_not_held_is_as_good_as_silent(operator):
    operator._clock.now = CONFIG.silence_s + 0.01
    operator.steer(joy(held=False, x=1.0))
    assert operator.is_silent()


def test_the_gripper_stays_as_it_is_until_a_button_says_otherwise(operator):
    operator.gripper = 0.6
    operator.steer(joy(x=0.5))
    assert operator.gripper == 0.6
    operator.steer(joy(close=True))
    assert operator.gripper == 1.0
    operator.steer(joy(open_=True))
    assert operator.gripper == 0.0
    operator.steer(joy(held=False, close=True))
    assert operator.gripper == 0.0


@given(st.lists(st.floats(-1e3, 1e3), min_size=6, max_size=6), st.floats(0.0, 0.9))
def test_a_joystick_asks_for_no_more_than_the_largest_speed(axes, dead_zone):
    config = JoystickConfig(axes=(0, 1, 2, 3, 4, 5), dead_zone=dead_zone)
    stick = read_stick(config, axes, [1] * 5)
    assert np.linalg.norm(stick.ways[:3]) <= 1 + 1e-9
    assert np.linalg.norm(stick.ways[3:]) <= 1 + 1e-9
    resting = np.abs(axes) <= dead_zone
    assert not stick.ways[resting].any()
    assert (stick.ways * axes >= 0.0).all()


def test_a_joystick_with_too_few_axes_or_buttons_is_refused():
    with pytest.raises(LengthError, match="2 axes and 5 buttons"):
        read_stick(JoystickConfig(), [0.0, 0.0], [0] * 5)
    with pytest.raises(LengthError, match="6 axes and 1 buttons"):
        read_stick(JoystickConfig(), [0.0] * 6, [0])


@pytest.mark.parametrize(
    ("options", "words"),
    [({"axes": (0, 1)}, "6 numbers"), ({"dead_zone": 1.0}, "dead_zone"), ({"drive": -1}, "drive")],
)
def test_a_joystick_that_makes_no_sense_is_refused(options, words):
    with pytest.raises(ConfigError, match=words):
        JoystickConfig(**options)


def test_control_cannot_go_back_before_the_arm_stands():
    with pytest.raises(ConfigError, match="silence_s"):
        OperatorConfig(silence_s=0.2)


@pytest.mark.parametrize("turn", [(0.0,) * 4, (2.0, 0.0, 0.0, 0.0), (float("nan"), 0.0, 0.0, 1.0)])
def test_a_pose_needs_a_unit_quaternion(turn):
    with pytest.raises(InputError, match="quaternion"):
        Pose.of(np.zeros(3), np.array(turn))


def test_a_stick_turns_the_hand(operator):
    hand = away()
    operator.steer(Stick(True, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])))
    turn = hand.turn_to(KINEMATICS.forward(READY + operator.step(READY)))
    assert 0.01 < turn[2] <= CONFIG.hand_turn_rad_s * ROBOT.world.control_step_s * 1.1
