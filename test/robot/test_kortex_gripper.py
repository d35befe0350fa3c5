"""A gripper on a Kortex arm: one that the model has is driven, any other is refused."""

import numpy as np
import pytest

from bayes_curiosity_ros.robot.arms.arm import ArmError
from bayes_curiosity_ros.robot.arms.kortex import KortexArm, KortexConfig
from bayes_curiosity_ros.robot.config import RobotConfig
from support.loopback_arm import PASSWORD, VENDOR, LoopbackArm, forget_vendor

TIMEOUT_S = 2.0
MODEL = RobotConfig.load("gen3_robotiq.yaml")


@pytest.fixture
def hardware(monkeypatch):
    monkeypatch.syspath_prepend(VENDOR)
    monkeypatch.setenv("KORTEX_PASSWORD", PASSWORD)
    with LoopbackArm(np.degrees(MODEL.arm.ready_rad) % 360.0) as hardware:
        hardware.has_gripper = True
        yield hardware
    forget_vendor()


def arm_of(hardware, robot):
    config = KortexConfig(
        ip="127.0.0.1",
        port=hardware.port,
        call_timeout_s=1.0,
        inactivity_s=5.0,
        guard=False,
        gripper_closed=0.425,
    )
    return KortexArm(robot, config, 10.0)


def test_a_gripper_that_the_model_does_not_know_is_refused(hardware):
    bare = RobotConfig.load("gen3.yaml")
    with pytest.raises(ArmError, match=r"a gripper is mounted, .*robot:=gen3_robotiq\.yaml"):
        arm_of(hardware, bare).connect(TIMEOUT_S)


def test_closed_is_what_the_robot_file_calls_closed(hardware):
    with arm_of(hardware, MODEL) as arm:
        arm.move(np.zeros(6), 1.0, TIMEOUT_S)
        assert hardware.gripper_commands[-1] == pytest.approx(0.425)
        hardware.gripper_percent = 42.5
        assert arm.state(TIMEOUT_S).gripper == pytest.approx(1.0)
