"""`bayes-curiosity up`: however it ends, the arm is stopped and no process is left."""

import os
import signal
import subprocess
import sys

import pytest

from bayes_curiosity_interfaces.msg import Observation
from support.graph import eventually, inbox
from support.processes import die_with_parent
from support.waiting import WAIT_S


def up(folder, *options) -> subprocess.Popen:
    words = ["-m", "bayes_curiosity_ros.cli", "up", "--scratch", "--output", str(folder)]
    return subprocess.Popen(
        [sys.executable, *words, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=die_with_parent,
    )


def children(pid: int) -> list[int]:
    path = f"/proc/{pid}/task/{pid}/children"
    with open(path) as file:
        return [int(word) for word in file.read().split()]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_up_stops_the_arm_and_ends_every_process(background, tmp_path, sent):
    observations = inbox(background, Observation, "observation")
    process = up(tmp_path)
    try:
        eventually(observations, lambda m: m.episode >= 1)
        running = children(process.pid)
        assert len(running) == 4
        process.send_signal(sent)
        output = process.communicate(timeout=WAIT_S)[0]
    finally:
        process.kill()
    assert process.returncode == 128 + sent, output
    assert not any(os.path.exists(f"/proc/{pid}") for pid in running)
    assert "arm stopped" in (tmp_path / "log/arm.log").read_text()


def test_a_learner_that_fails_takes_all_with_it(background, tmp_path):
    """A policy file that is none: the learner fails, and nobody is left behind."""
    (tmp_path / "policy").write_text("nothing")
    process = up(tmp_path / "run", "--policy", str(tmp_path / "policy"))
    output = process.communicate(timeout=WAIT_S)[0]
    assert process.returncode == 1
    assert "is damaged or not a checkpoint" in output
    assert "arm stopped" in (tmp_path / "run/log/arm.log").read_text()


def test_a_learner_that_dies_in_mid_episode_takes_all_with_it(background, tmp_path):
    observations = inbox(background, Observation, "observation")
    process = up(tmp_path)
    try:
        eventually(observations, lambda m: m.episode >= 1)
        running = children(process.pid)
        os.kill(running[-1], signal.SIGKILL)  # the learner, started last
        output = process.communicate(timeout=WAIT_S)[0]
    finally:
        process.kill()
    assert process.returncode == 1
    assert "learner ended with code -9; all were ended" in output
    assert not any(os.path.exists(f"/proc/{pid}") for pid in running)
    assert "arm stopped" in (tmp_path / "log/arm.log").read_text()
