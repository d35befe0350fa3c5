"""How a node's process ends when something goes wrong before or while it spins."""

import os
import signal
import subprocess
import sys

import pytest

from bayes_curiosity_ros.environment import DIE_WITH_PARENT, have_a_log_folder
from bayes_curiosity_ros.nodes.run import Ending

FAILING = """
import sys
from dataclasses import dataclass
from rclpy.node import Node
from bayes_curiosity_ros.nodes.parameters import declare
from bayes_curiosity_ros.nodes.run import run_node

@dataclass(frozen=True)
class Config:
    rate: float = 1.0

class Failing(Node):
    def __init__(self):
        super().__init__("failing")
        declare(self, Config())
        raise KeyError("bug")

sys.exit(run_node(Failing))
"""


def run(*words, **environment):
    command = [sys.executable, "-c", FAILING, "--ros-args", *words]
    return subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["-r", "__ns:=/a b"], 2, "ROS does not start: failed to initialize rcl"),
        (["--params-file", "/proc/nope"], 2, "ROS does not start: failed to initialize rcl"),
        (["-p", "rate:=fast"], 2, "Trying to set parameter 'rate' to 'fast' of type 'STRING'"),
        ([], 1, "KeyError: 'bug'; a bug of ours. Please send us"),
    ],
)
def test_what_goes_wrong_is_one_line(words, code, said, tmp_path):
    done = run(*words, TMPDIR=str(tmp_path), HOME="/proc/nope")
    assert done.returncode == code, done.stderr
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("home", ["", "/proc/nope"])
def test_without_a_home_ros_logs_to_a_temporary_folder(home, monkeypatch, tmp_path):
    for name in ("ROS_LOG_DIR", "ROS_HOME"):
        monkeypatch.setenv(name, "")  # to be restored
        monkeypatch.delenv(name)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("HOME", home)
    if not home:
        monkeypatch.delenv("HOME")
    have_a_log_folder()
    assert os.environ["ROS_LOG_DIR"].startswith(str(tmp_path))


def test_work_that_a_signal_cut_short_ends_with_its_code_but_under_launch(monkeypatch):
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        ending = Ending()
        assert ending.code == 0
        os.kill(os.getpid(), signal.SIGTERM)
        assert ending.code == 128 + signal.SIGTERM
        monkeypatch.setenv(DIE_WITH_PARENT, "1")
        assert ending.code == 0
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
