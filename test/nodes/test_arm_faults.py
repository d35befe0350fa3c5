"""A real arm node, as a process, whose Kortex arm fails: it stops, says so, and goes on trying."""

import os
import signal

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import State as LifecycleState
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState

from bayes_curiosity_interfaces.msg import ArmStatus, Status
from bayes_curiosity_ros.bringup.arguments import defaults
from bayes_curiosity_ros.bringup.table import parameter_files
from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.robot.config import RobotConfig
from support.driver import ARM, Driver
from support.graph import eventually, inbox, parameters
from support.joint_driver import JointDriver
from support.loopback_arm import PASSWORD, VENDOR, LoopbackArm
from support.processes import stopped
from support.waiting import WAIT_S, wait_for

COMMANDS, STATES = "driver/command", "driver/state"
ACTIVATE = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_ACTIVATE))
# A busy machine may be late with an answer; and nothing but the node shall stop the arm.
PATIENT = {"kortex__call_timeout_s": 0.5, "kortex__guard": False, "kortex__inactivity_s": 60.0}


def node_words(arm, **given):
    files = parameter_files(defaults() | {"arm": arm})
    words = [word for path in files for word in ("--params-file", path)]
    return ["--ros-args", *words, *parameters(backend=arm, **given)[1:]]


@pytest.fixture
def hardware(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(VENDOR), prepend=os.pathsep)
    monkeypatch.setenv("KORTEX_PASSWORD", PASSWORD)
    ready = RobotConfig.load("gen3.yaml").arm.ready_rad
    with LoopbackArm(np.degrees(ready) % 360.0) as hardware:
        yield hardware


@pytest.fixture
def run(hardware, start, background):
    """Function that starts the node; its process and who drives it.

    It ends before the arm does: it would else try on to stop it.
    """

    def begin(**given):
        where = {"kortex__ip": "127.0.0.1", "kortex__port": hardware.port}
        process = start(ARM, *node_words("kortex", **where, **(PATIENT | given)))
        return process, Driver(background)

    return begin


def set_in_motion(driver, at_first=lambda: None):
    eventually(driver.status, lambda m: m.state == ArmStatus.READY)
    assert driver.reset().status.code == Status.OK
    at_first()
    driver.act(1, 0, [0.01] * 6)
    driver.reached(1, 1)


def stands(hardware):
    return not any(hardware.speeds)


def test_without_a_clock_it_is_halted_and_ends(run, hardware):
    """Timers of a node with use_sim_time stand still while nobody publishes /clock."""
    process, driver = run(use_sim_time=True)
    set_in_motion(driver)
    halted = eventually(driver.status, lambda m: "halted: no command" in m.reason)
    assert halted.state == ArmStatus.READY
    assert stands(hardware)
    output = stopped(process, signal.SIGINT)
    assert process.returncode == 0, output
    assert "arm stopped: SIGINT" in output


def test_an_arm_that_refuses_to_stop_is_cried_out_and_stopped_in_the_end(run, hardware):
    process, driver = run()
    diagnostics = inbox(driver.background, DiagnosticArray, "/diagnostics", 10)
    set_in_motion(driver, lambda: hardware.refuses.add("Stop"))
    alarm = eventually(driver.status, lambda m: m.state == ArmStatus.FAULT)
    assert "cannot be stopped, press its emergency stop" in alarm.reason
    told = eventually(diagnostics, lambda m: "cannot be stopped" in m.status[0].message)
    assert told.status[0].level == DiagnosticStatus.ERROR
    assert not stands(hardware)
    answer = driver.trigger("release")
    assert not answer.success
    assert "standstill" in answer.message
    assert process.poll() is None
    hardware.refuses.clear()
    still = eventually(driver.status, lambda m: "stands still again" in m.reason)
    assert still.state == ArmStatus.FAULT
    assert stands(hardware)
    assert driver.trigger("release").success
    eventually(driver.status, lambda m: m.state == ArmStatus.READY)
    assert "cannot be stopped, press its emergency stop" in stopped(process)


def test_lost_requests_do_not_end_in_ready(run, hardware):
    _, driver = run()
    set_in_motion(driver)
    hardware.silent = True
    eventually(driver.status, lambda m: m.state == ArmStatus.FAULT)
    assert not driver.trigger("release").success
    assert not stands(hardware)
    hardware.silent = False
    wait_for(lambda: stands(hardware), "stop")
    wait_for(lambda: driver.trigger("release").success, "release")


def test_a_dropped_connection_is_a_fault_and_opened_anew(run, hardware):
    process, driver = run()
    set_in_motion(driver)
    hardware.drop()
    eventually(driver.status, lambda m: m.state == ArmStatus.FAULT)
    wait_for(lambda: stands(hardware), "stop over a new connection")
    wait_for(lambda: driver.trigger("release").success, "release")
    assert hardware.sessions == 1
    output = stopped(process, signal.SIGTERM)
    assert process.returncode == 0, output
    assert "Traceback" not in output
    wait_for(lambda: not hardware.connections, "end of the connection")


def test_a_signal_ends_it_only_after_standstill(run, hardware):
    process, driver = run()
    set_in_motion(driver, lambda: hardware.refuses.add("Stop"))
    process.send_signal(signal.SIGINT)
    eventually(driver.status, lambda m: "SIGINT" in m.reason or "cannot be stopped" in m.reason)
    assert process.poll() is None
    hardware.refuses.clear()
    output = process.communicate(timeout=WAIT_S)[0]
    assert process.returncode == 0, output
    assert stands(hardware)


def wait_until_inactive(driver):
    def inactive():
        answer = driver.background.call(GetState, "arm/get_state", GetState.Request(), WAIT_S)
        return answer.current_state.id == LifecycleState.PRIMARY_STATE_INACTIVE

    wait_for(inactive, "end of the failed transition")


def activate(driver):
    wait_until_inactive(driver)
    assert driver.background.call(ChangeState, "arm/change_state", ACTIVATE, WAIT_S).success
    eventually(driver.status, lambda m: m.state == ArmStatus.READY)


def test_an_arm_that_moves_before_it_is_active_is_kept_until_it_stands(run, hardware):
    hardware.refuses.add("Stop")
    hardware.speeds = [1.0] * 6
    _, driver = run()
    eventually(driver.status, lambda m: "cannot be stopped" in m.reason)
    wait_until_inactive(driver)
    assert not driver.trigger("release").success
    assert not stands(hardware)
    hardware.refuses.clear()
    told = eventually(driver.status, lambda m: "it stands still now" in m.reason)
    assert told.state == ArmStatus.INACTIVE
    assert stands(hardware)
    activate(driver)


def test_a_fault_at_rest_and_a_failed_activation_are_told(run, hardware):
    hardware.refuses.add("SetServoingMode")
    _, driver = run()
    told = eventually(driver.status, lambda m: "cannot activate" in m.reason)
    assert told.state == ArmStatus.INACTIVE
    assert "the robot is not ready" in told.reason
    wait_for(lambda: not hardware.connections, "end of the connection")
    hardware.refuses.clear()
    activate(driver)
    # A second one makes no sense; it is not answered, and must not end the node.
    change = driver.background.node.create_client(ChangeState, "arm/change_state")
    change.call_async(ACTIVATE)
    hardware.fault = 4
    fault = eventually(driver.status, lambda m: m.state == ArmStatus.FAULT)
    assert "fault in the base: banks 0x4" in fault.reason
    assert driver.trigger("release").success
    assert hardware.fault == 0


def test_a_real_arm_homes_to_where_its_task_starts(start, background):
    arm = RobotConfig.load("jaco.yaml").arm
    with BackgroundNode("driver") as node:
        hardware = JointDriver(node, arm.ready_rad, arm.joints, COMMANDS, STATES)
        given = {"trajectory__command_topic": COMMANDS, "trajectory__state_topic": STATES}
        quick = {"max_speed_deg_s": 30.0, "trajectory__state_timeout_s": 0.5}
        start(ARM, *node_words("trajectory", task="parked_reach", **given, **quick))
        driver = Driver(background)
        eventually(driver.status, lambda m: m.state == ArmStatus.READY)
        answer = driver.reset()
        assert answer.status.code == Status.OK, answer.status.message
        expected = np.add(arm.ready_rad, [1.0, 0, 0, 0, 0, 0])
        np.testing.assert_allclose(hardware.position, expected, atol=0.03)
