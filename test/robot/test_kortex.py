"""The Kortex arm against a fake with the vendor's names, units and failures."""

import importlib.util
import time
from pathlib import Path

import numpy as np
import pytest

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.arms.arm import Arm, ArmError, ArmStoppedError
from bayes_curiosity_ros.robot.arms.kortex import KortexArm, KortexConfig
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.safety import Change

SPEC = importlib.util.spec_from_file_location(
    "fake_kortex", Path(__file__).parent / "fake_kortex.py"
)
fake_kortex = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fake_kortex)
TIMEOUT_S = 2.0


@pytest.fixture(scope="module")
def gen3():
    return RobotConfig.load("gen3.yaml")


@pytest.fixture
def hardware(monkeypatch, gen3):
    hardware = fake_kortex.FakeRobot(np.degrees(gen3.arm.ready_rad) % 360.0)
    fake_kortex.install(monkeypatch, hardware)
    monkeypatch.setenv("KORTEX_PASSWORD", fake_kortex.PASSWORD)
    return hardware


@pytest.fixture
def arm(hardware, gen3):
    arm = KortexArm(gen3, KortexConfig(ip="192.0.2.10"))
    arm.connect(TIMEOUT_S)
    yield arm
    arm.disconnect()


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
    time.sleep(0.05)
    arm.state(TIMEOUT_S)
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


def test_a_wrong_password_and_an_unreachable_arm(hardware, gen3, monkeypatch):
    monkeypatch.setenv("KORTEX_PASSWORD", "wrong")
    with pytest.raises(ArmError, match="the password is wrong"):
        KortexArm(gen3, KortexConfig(ip="192.0.2.10")).connect(TIMEOUT_S)
    hardware.unreachable = True
    with pytest.raises(ArmError, match="is the arm on"):
        KortexArm(gen3, KortexConfig(ip="192.0.2.10")).connect(TIMEOUT_S)


def test_no_start_from_outside_the_limits(hardware, gen3):
    hardware.positions[1] = 170.0  # joint 2 may turn by 128 degrees
    with pytest.raises(ArmError, match="no start from here: joint_2"):
        KortexArm(gen3, KortexConfig(ip="192.0.2.10")).connect(TIMEOUT_S)


def test_no_password_in_any_default(hardware, gen3, monkeypatch):
    monkeypatch.delenv("KORTEX_PASSWORD")
    with pytest.raises(ConfigError, match="KORTEX_PASSWORD"):
        KortexArm(gen3, KortexConfig(ip="192.0.2.10"))


def test_without_the_vendors_package_it_says_how_to_install_it(gen3, monkeypatch):
    monkeypatch.setenv("KORTEX_PASSWORD", "any")
    with pytest.raises(ArmError, match="pip install --no-deps kortex_api"):
        KortexArm(gen3, KortexConfig(ip="192.0.2.10"))
