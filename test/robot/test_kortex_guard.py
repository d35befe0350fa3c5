"""What stops a Kortex arm whose node was killed, held up, or left without its guard."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from bayes_curiosity_ros.robot.arms.arm import ArmError
from bayes_curiosity_ros.robot.arms.kortex_guard import Guard
from bayes_curiosity_ros.robot.arms.kortex_link import LinkConfig
from bayes_curiosity_ros.robot.config import RobotConfig
from support.loopback_arm import PASSWORD, VENDOR, LoopbackArm, forget_vendor
from support.processes import die_with_parent
from support.waiting import WAIT_S, until, wait_for

# Sets speeds, says so, and does nothing more.
MOVER = """
import sys, time
import numpy as np
from bayes_curiosity_ros.robot.arms.kortex import KortexArm, KortexConfig
from bayes_curiosity_ros.robot.config import RobotConfig

options = dict(guard=sys.argv[2] == "guarded", inactivity_s=float(sys.argv[3]))
config = KortexConfig(ip="127.0.0.1", port=int(sys.argv[1]), call_timeout_s=5.0, **options)
arm = KortexArm(RobotConfig.load("gen3.yaml"), config, 10.0)
arm.connect(60.0)
arm.move(np.full(6, 0.01), 0.0, 60.0)
print("moving", flush=True)
while True:
    arm.keep_alive()
    time.sleep(0.01)
"""


@pytest.fixture
def hardware(monkeypatch):
    monkeypatch.syspath_prepend(VENDOR)
    monkeypatch.setenv("PYTHONPATH", str(VENDOR), prepend=os.pathsep)
    monkeypatch.setenv("KORTEX_PASSWORD", PASSWORD)
    gen3 = RobotConfig.load("gen3.yaml")
    with LoopbackArm(np.degrees(gen3.arm.ready_rad) % 360.0) as hardware:
        yield hardware
    forget_vendor()


@pytest.fixture
def start_mover(hardware):
    """Function that starts a process which has set the arm in motion."""
    processes = []

    def start(guarded, inactivity_s):
        words = [sys.executable, "-c", MOVER, str(hardware.port), guarded, str(inactivity_s)]
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, text=True, preexec_fn=die_with_parent
        )
        processes.append(process)
        assert process.stdout.readline() == "moving\n"
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait(WAIT_S)
        process.stdout.close()


def stands(hardware):
    return not any(hardware.speeds)


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGSTOP])
def test_the_guard_stops_the_arm_of_a_dead_or_halted_process(hardware, start_mover, sent):
    hardware.forgives_silence = True  # so that nothing but the guard can stop it
    mover = start_mover("guarded", 0.25)
    assert not stands(hardware)
    mover.send_signal(sent)
    wait_for(lambda: stands(hardware), "stop by the guard")


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGSTOP])
def test_the_arm_stops_itself_where_it_hears_nothing(hardware, start_mover, sent):
    mover = start_mover("alone", 0.25)
    mover.send_signal(sent)
    wait_for(lambda: stands(hardware), "stop by the session's inactivity")


def test_speeds_persist_where_neither_is(hardware, start_mover):
    """Why there is a guard."""
    hardware.forgives_silence = True
    mover = start_mover("alone", 0.25)
    mover.kill()
    assert not until(lambda: stands(hardware), 1.0)


def test_a_guard_that_is_sent_away_leaves_nothing_behind(hardware):
    guard = Guard(LinkConfig("127.0.0.1", hardware.port, "admin", PASSWORD, 0.25))
    guard.start()
    assert hardware.sessions == 1
    guard.end()
    wait_for(lambda: not hardware.connections, "end of its connection")
    assert hardware.sessions == hardware.stops == 0


def test_a_guard_that_is_sent_away_in_motion_stops_the_arm_first(hardware):
    guard = Guard(LinkConfig("127.0.0.1", hardware.port, "admin", PASSWORD, 0.25))
    guard.start()
    guard.beat(moves=True)
    guard.end()
    wait_for(lambda: hardware.stops > 0, "stop")


def test_a_guard_outlives_signals(hardware):
    """Ctrl-C and a launch system send them to it, too, while its node still moves the arm."""
    guard = Guard(LinkConfig("127.0.0.1", hardware.port, "admin", PASSWORD, 0.25))
    guard.start()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        guard._process._process.send_signal(number)
    guard.beat(moves=True)
    wait_for(lambda: hardware.stops > 0, "stop after silence")
    guard.end()


def test_a_guard_without_a_session_says_why(hardware):
    guard = Guard(LinkConfig("127.0.0.1", hardware.port, "admin", "wrong", 0.25))
    with pytest.raises(ArmError, match="the password is wrong"):
        guard.start()


def test_a_dead_guard_is_noticed_and_replaced(hardware):
    guard = Guard(LinkConfig("127.0.0.1", hardware.port, "admin", PASSWORD, 0.25))
    guard.start()
    guard._process._process.kill()

    def noticed():
        try:
            guard.beat()
        except ArmError as error:
            return "guard has died" in str(error)

    wait_for(noticed, "error")
    guard.start()
    guard.beat()
    guard.end()


def test_an_arm_that_the_guard_stopped_says_so(hardware):
    guard = Guard(LinkConfig("127.0.0.1", hardware.port, "admin", PASSWORD, 0.25))
    guard.start()
    guard.beat(moves=True)
    wait_for(lambda: hardware.stops > 0, "stop after silence")

    def told():
        try:
            guard.beat()
        except ArmError as error:
            return "held up for more than 0.2 s" in str(error)

    wait_for(told, "word of it")
    with pytest.raises(ArmError, match="held up"):
        guard.beat()
    guard.start()
    guard.beat(moves=False)
    guard.end()
