"""`bayes-curiosity up`: however it ends, the arm is stopped and no process is left."""

import os
import signal
import subprocess
import sys

import pytest

from bayes_curiosity_interfaces.msg import Observation
from bayes_curiosity_ros.bringup.processes import Ended
from bayes_curiosity_ros.bringup.up import how_to_go_on, logged, stopped
from bayes_curiosity_ros.learning.episode_log import EpisodeRow
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
    assert f"of 30000 ({sent.name}); nothing is saved before the first policy update" in output
    assert "learnt" not in output.splitlines()[-1]
    assert not any(os.path.exists(f"/proc/{pid}") for pid in running)
    assert "arm stopped" in (tmp_path / "log/arm.log").read_text()


def test_a_learner_that_fails_takes_all_with_it(background, tmp_path):
    """A policy file that is none: the learner fails, and nobody is left behind."""
    (tmp_path / "policy").write_text("nothing")
    process = up(tmp_path / "run", "--policy", str(tmp_path / "policy"))
    output = process.communicate(timeout=WAIT_S)[0]
    assert process.returncode == 2
    assert "is damaged or not a checkpoint" in output
    assert "Traceback" not in output
    assert "arm stopped" in (tmp_path / "run/log/arm.log").read_text()


def test_a_signal_to_the_learner_alone_is_told_and_nothing_is_judged(background, tmp_path):
    observations = inbox(background, Observation, "observation")
    process = up(tmp_path, "--timesteps", "30001")
    try:
        eventually(observations, lambda m: m.episode >= 2)
        os.kill(children(process.pid)[-1], signal.SIGTERM)  # the learner, started last
        output = process.communicate(timeout=WAIT_S)[0]
    finally:
        process.kill()
    assert process.returncode == 128 + signal.SIGTERM, output
    steps = logged(tmp_path)[-1].timesteps
    assert f"stopped at step {steps} of 30001 (SIGTERM); nothing is saved" in output
    assert "control steps: " not in output


def test_a_run_that_is_cut_short_says_what_by_and_how_to_go_on(tmp_path):
    row = EpisodeRow(3, 1178, 40, "success", 1.0, 0.0, 0.0)
    assert stopped(Ended("learner", 143), [row], 3000) == "stopped at step 1178 of 3000 (SIGTERM)"
    assert stopped(Ended("", 130), [], 3000) == "stopped at step 0 of 3000 (SIGINT)"
    assert stopped(Ended("arm", 0), [], 9).endswith("(arm ended with code 0)")
    assert "begins again" in how_to_go_on(tmp_path)
    (tmp_path / "checkpoint.pt").touch()
    assert "--resume goes on" in how_to_go_on(tmp_path)
