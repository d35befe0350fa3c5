"""The Kortex arm against one on loopback with the vendor's names, units and failures."""

import contextlib
import os
import sys
import threading

import numpy as np
import pytest

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.arms import kortex
from bayes_curiosity_ros.robot.arms.arm import Arm, ArmError, ArmStoppedError
from bayes_curiosity_ros.robot.arms.kortex import KortexArm, KortexConfig
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.safety import Change
from support.loopback_arm import PASSWORD, VENDOR, LoopbackArm, forget_vendor
from support.waiting import WAIT_S, wait_for

MAX_SPEED_DEG_S = 10.0
FAST_DEG_S = 100.0
TIMEOUT_S = 2.0
# A busy machine may be late with an answer.
PATIENT = {"call_timeout_s": 1.0, "inactivity_s": 5.0, "guard": False}


@pytest.fixture(scope="module")
def gen3():
    return RobotConfig.load("gen3.yaml")


@pytest.fixture
def hardware(monkeypatch, gen3):
    monkeypatch.syspath_prepend(VENDOR)
    monkeypatch.setenv("PYTHONPATH", str(VENDOR), prepend=os.pathsep)
    monkeypatch.setenv("KORTEX_PASSWORD", PASSWORD)
    with LoopbackArm(np.degrees(gen3.arm.ready_rad) % 360.0) as hardware:
        yield hardware
    forget_vendor()


@pytest.fixture
def make(hardware, gen3):
    """Function that makes an arm, not connected."""

    def build(max_speed_deg_s=MAX_SPEED_DEG_S, **options):
        config = KortexConfig(ip="127.0.0.1", port=hardware.port, **(PATIENT | options))
        return KortexArm(gen3, config, max_speed_deg_s)

    return build


@pytest.fixture
def arm(make):
    with make() as arm:
        yield arm


def test_it_is_an_arm_and_measures_radians_around_zero(arm, hardware, gen3):
    assert isinstance(arm, Arm)
    np.testing.assert_allclose(arm.state(TIMEOUT_S).joints, gen3.arm.ready_rad, atol=1e-6)
    assert hardware.mode == 2


def test_a_step_moves_by_what_was_asked_and_no_faster_than_allowed(arm, hardware):
    arm.move(np.full(6, 0.01), 0.0, TIMEOUT_S)
    assert np.all(np.array(hardware.speeds) > 0)
    executed = arm.move(np.full(6, 10.0), 0.0, TIMEOUT_S)
    assert executed.changes & Change.VELOCITY
    assert max(hardware.speeds) <= 10.0 + 1e-9


def test_speeds_persist_until_the_stop(arm, hardware):
    arm.move(np.full(6, 0.01), 0.0, TIMEOUT_S)
    before = np.array(hardware.positions)
    arm.state(TIMEOUT_S)  # a little later
    assert np.any(np.array(hardware.positions) != before)  # why we need our own watchdog
    arm.stop("test")
    assert hardware.speeds == [0.0] * 6
    with pytest.raises(ArmStoppedError):
        arm.move(np.zeros(6), 0.0, TIMEOUT_S)
    arm.release()
    arm.move(np.zeros(6), 0.0, TIMEOUT_S)


def test_leaving_stops_it_and_ends_the_session(arm, hardware):
    arm.move(np.full(6, 0.01), 0.0, TIMEOUT_S)
    arm.disconnect()
    assert hardware.speeds == [0.0] * 6
    assert hardware.sessions == 0


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ({"fault": 4}, "fault in the base: banks 0x4"),
        ({"emergency": True}, "the emergency stop is pressed"),
        ({"silent": True}, "did not answer within"),
        ({"refuses": {"SendJointSpeedsCommand"}}, "the robot is not ready"),
        ({"torques": [0, 0, 99.0, 0, 0, 0]}, "joint_3 has 99.0 Nm"),
    ],
)
def test_trouble_is_an_error_in_words(arm, hardware, trouble, words):
    vars(hardware).update(trouble)
    with pytest.raises(ArmError, match=words):
        arm.move(np.full(6, 0.01), 0.0, TIMEOUT_S)
    vars(hardware).update(silent=False)


def test_faults_are_cleared_only_on_request(arm, hardware):
    hardware.fault = 4
    with pytest.raises(ArmError):
        arm.state(TIMEOUT_S)
    arm.release()
    assert hardware.fault == 4
    arm.clear_faults()
    arm.state(TIMEOUT_S)


def test_a_wrong_password_and_an_unreachable_arm(hardware, make, monkeypatch):
    monkeypatch.setenv("KORTEX_PASSWORD", "wrong")
    with pytest.raises(ArmError, match="the password is wrong"):
        make().connect(TIMEOUT_S)
    port, hardware.port = hardware.port, 1
    with pytest.raises(ArmError, match="is the arm on"):
        make().connect(TIMEOUT_S)
    hardware.port = port


@pytest.mark.parametrize("refused", ["CreateSession", "SetServoingMode", "RefreshFeedback"])
def test_a_failed_connection_leaves_nothing_open(hardware, make, refused):
    hardware.refuses.add(refused)
    arm = make()
    for _ in range(3):
        with pytest.raises(ArmError):
            arm.connect(TIMEOUT_S)
    wait_for(lambda: not hardware.connections, "end of all connections")
    assert hardware.sessions == 0
    hardware.refuses.clear()
    with arm:
        assert hardware.sessions == 1


def test_no_start_from_outside_the_limits(hardware, make):
    hardware.positions[1] = 170.0  # joint 2 may turn by 128 degrees
    with pytest.raises(ArmError, match="no start from here: joint_2"):
        make().connect(TIMEOUT_S)
    assert hardware.sessions == 0


def fails(arm):
    with contextlib.suppress(ArmError):
        arm.state(TIMEOUT_S)
        return False
    return True


def test_a_broken_connection_is_an_error_in_words_and_opened_anew(arm, hardware, monkeypatch):
    monkeypatch.setattr(kortex, "DEAD_S", np.inf)  # what is known to be broken is not waited for
    arm.move(np.full(6, 0.01), 0.0, TIMEOUT_S)
    hardware.drop()
    wait_for(lambda: fails(arm), "error")
    with pytest.raises(ArmError, match="the connection to the arm is broken"):
        arm.state(TIMEOUT_S)
    arm.stop("test")  # over a new connection
    assert hardware.speeds == [0.0] * 6
    arm.release()
    arm.move(np.zeros(6), 0.0, TIMEOUT_S)


def test_a_connection_on_which_nothing_is_answered_is_opened_anew(arm, hardware):
    """As after a cable that was pulled: nobody says that it is broken."""
    hardware.silent = True
    wait_for(lambda: fails(arm) and not hardware.connections, "end of the connection")
    hardware.silent = False
    arm.stop("test")
    # The arm's side notices a little later that one which was too slow was given up.
    wait_for(lambda: hardware.connections == 1, "a single connection")
    arm.release()
    arm.move(np.zeros(6), 0.0, TIMEOUT_S)


def test_it_is_let_go_of_without_a_connection(make, hardware):
    arm = make()
    arm.connect(TIMEOUT_S)
    hardware.unreachable = True
    hardware.drop()
    with pytest.raises(ArmError):
        arm.disconnect()
    hardware.unreachable = False
    with arm:  # and can be connected again
        arm.state(TIMEOUT_S)


def test_frozen_feedback_is_an_error(arm, hardware):
    arm.move(np.full(6, 0.01), 0.0, TIMEOUT_S)
    hardware.freeze()

    def move_on():
        for _ in range(20):
            arm.move(np.full(6, 0.01), 0.0, TIMEOUT_S)

    with pytest.raises(ArmError, match="the joint states are frozen"):
        move_on()


def test_standstill_is_measured_even_in_fault(arm, hardware):
    arm.move(np.full(6, 0.01), 0.0, TIMEOUT_S)
    hardware.fault = 4
    assert not arm.is_still()
    arm.stop("test")
    wait_for(arm.is_still, "standstill")


def test_a_stop_that_comes_before_the_command_stops_it(arm, hardware, monkeypatch):
    """The motion's thread may send its speeds after another thread's stop."""
    command = arm.command

    def stopped_just_before(*arguments):
        arm.stop("a hand in the cell")
        command(*arguments)

    monkeypatch.setattr(arm, "command", stopped_just_before)
    with pytest.raises(ArmStoppedError):
        arm.move(np.full(6, 0.01), 0.0, TIMEOUT_S)
    assert hardware.speeds == [0.0] * 6


def test_no_password_in_any_default(hardware, make, monkeypatch):
    monkeypatch.delenv("KORTEX_PASSWORD")
    with pytest.raises(ConfigError, match="KORTEX_PASSWORD"):
        make()


def test_without_the_vendors_package_it_says_how_to_install_it(gen3, monkeypatch):
    monkeypatch.setenv("KORTEX_PASSWORD", "any")
    with pytest.raises(ArmError, match="pip install --no-deps kortex_api"):
        KortexArm(gen3, KortexConfig(ip="192.0.2.10"), MAX_SPEED_DEG_S)


@pytest.fixture
def make_reaching(make):
    """Function that makes an arm that moves goal by goal, connected until the test ends."""
    with contextlib.ExitStack() as connected:

        def build(reach_timeout_s=WAIT_S, max_speed_deg_s=MAX_SPEED_DEG_S):
            arm = make(max_speed_deg_s, mode="reach_angles", reach_timeout_s=reach_timeout_s)
            return connected.enter_context(arm)

        yield build


@pytest.fixture
def reaching(make_reaching):
    return make_reaching()


def test_a_goal_is_reached_before_the_step_ends(reaching, hardware, gen3):
    executed = reaching.move(np.full(6, 0.01), 0.0, TIMEOUT_S)
    np.testing.assert_allclose(executed.deltas, 0.01, atol=1e-6)
    np.testing.assert_allclose(reaching.state(TIMEOUT_S).joints, np.add(gen3.arm.ready_rad, 0.01))
    assert hardware.speeds == [0.0] * 6
    assert hardware.listeners == 0


def test_a_goal_is_no_faster_than_allowed(reaching, hardware):
    executed = reaching.move(np.full(6, 10.0), 0.0, TIMEOUT_S)
    assert executed.changes & Change.VELOCITY
    way_deg = np.degrees(executed.deltas).max()
    assert way_deg / hardware.durations[-1] <= MAX_SPEED_DEG_S + 1e-6


def test_it_goes_home_by_goals(make_reaching, hardware, gen3):
    reaching = make_reaching(max_speed_deg_s=FAST_DEG_S)
    start = np.add(gen3.arm.ready_rad, [0.3, -0.1, 0.05, 0.1, 0.1, 6.2])
    hardware.positions = list(np.degrees(start) % 360.0)
    state = reaching.home(WAIT_S)
    np.testing.assert_allclose(state.joints, gen3.arm.ready_rad, atol=0.02)
    assert 1 < len(hardware.durations) < 5  # in pieces, and the last joint the short way round
    assert FAST_DEG_S * sum(hardware.durations) > 2 * np.degrees(0.28)  # at half the speed


def test_the_way_home_is_checked_first(reaching, hardware, gen3):
    ready = np.array(gen3.arm.ready_rad)
    poses = ready + np.random.default_rng(0).uniform(-1.5, 1.5, (200, 6))
    down = next(
        pose for pose in poses if reaching.filter.obstacles(pose, 0.9 * pose + 0.1 * ready)
    )
    hardware.positions = list(np.degrees(down) % 360.0)
    with pytest.raises(ArmError, match="the way home is blocked"):
        reaching.home(TIMEOUT_S)
    assert hardware.durations == []


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ({"abort_code": 65}, "aborted its motion: a joint position limit forbids it"),
        ({"abort_code": 3}, "sub-code 3"),
        ({"emergency": True}, "the emergency stop is pressed"),
        ({"silent": True}, "did not answer within"),
        # The subscription has our time limit, not the vendor's of ten seconds.
        ({"loses": {"OnNotificationActionTopic"}}, r"did not answer within \d\.\d+ s"),
    ],
)
def test_a_goal_that_fails_is_an_error_in_words(reaching, hardware, trouble, words):
    vars(hardware).update(trouble)
    with pytest.raises(ArmError, match=words):
        reaching.move(np.full(6, 0.01), 0.0, TIMEOUT_S)
    assert hardware.speeds == [0.0] * 6
    assert hardware.listeners == 0
    vars(hardware).update(silent=False)


def test_every_call_has_our_time_limit(reaching, monkeypatch):
    """The vendor's own is ten seconds; a subscription takes options, too."""
    router, limits_ms = sys.modules["kortex_api.RouterClient"].RouterClient, {}
    call = router.call

    def noted(self, name, arguments, options):
        limits_ms[name] = options.timeout_ms
        return call(self, name, arguments, options)

    monkeypatch.setattr(router, "call", noted)
    reaching.move(np.full(6, 0.01), 0.0, TIMEOUT_S)
    limits_ms.pop("KeepAlive", None)  # a thread of the vendor's sends those
    assert {"OnNotificationActionTopic", "ExecuteAction", "Unsubscribe"} <= set(limits_ms)
    assert set(limits_ms.values()) == {1000}


def test_a_goal_whose_end_is_never_reported_is_an_error(make_reaching, hardware):
    hardware.never_ends = True
    with pytest.raises(ArmError, match="reported no end of a motion"):
        make_reaching(reach_timeout_s=0.1).move(np.full(6, 0.01), 0.0, TIMEOUT_S)
    assert hardware.speeds == [0.0] * 6
    assert hardware.listeners == 0


def test_a_stop_ends_a_goal_under_way(reaching, hardware):
    hardware.positions[0] = 40.0
    hardware.never_ends = True  # so that nothing but the stop can end it

    def stop_it():
        assert hardware.under_way.wait(WAIT_S)
        reaching.stop("a hand in the cell")

    operator = threading.Thread(target=stop_it)
    operator.start()
    with pytest.raises(ArmStoppedError, match="a hand in the cell"):
        reaching.home(WAIT_S)
    operator.join(WAIT_S)
    assert hardware.speeds == [0.0] * 6
    assert hardware.listeners == 0


def test_an_unknown_mode_is_named():
    with pytest.raises(ConfigError, match="joint_speeds, reach_angles"):
        KortexConfig(mode="torque")
