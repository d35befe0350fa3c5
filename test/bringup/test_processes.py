"""Processes that live and die together."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from bayes_curiosity_ros.bringup.processes import (
    MAX_RESTARTS,
    Ended,
    ProcessGroup,
    Respawn,
)
from bayes_curiosity_ros.environment import DIE_WITH_PARENT, node_environment
from support.waiting import WAIT_S, wait_for

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


def program(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.fixture
def group(tmp_path):
    with ProcessGroup(tmp_path) as group:
        yield group


def test_when_one_ends_all_are_ended(group):
    group.start("sleeper", SLEEP, node_environment())
    group.start("ender", program("print('over and out'); raise SystemExit(3)"), node_environment())
    assert group.wait() == Ended("ender", 3)
    assert group.end() == {"sleeper": -signal.SIGTERM, "ender": 3}
    assert group.tail("ender") == "over and out"


def test_one_that_may_respawn_ends_nobody(group, tmp_path, capsys):
    marks = tmp_path / "marks"
    group.start(
        "camera",
        program(f"open({str(marks)!r}, 'a').write('x')"),
        node_environment(),
        respawn=Respawn(),
    )
    often = 1 + MAX_RESTARTS
    waits = f"""
import pathlib, time
marks = pathlib.Path({str(marks)!r})
while not marks.exists() or len(marks.read_text()) < {often}: time.sleep(0.05)
time.sleep(0.5)  # one start too many would show
"""
    group.start("learner", program(waits), node_environment())
    assert group.wait() == Ended("learner", 0)
    assert marks.read_text() == "x" * often
    said = capsys.readouterr().err
    assert said.count("camera ended and is started again") == MAX_RESTARTS
    lost = f"camera ended {often} times in a row and was not started again: from then on the run"
    assert said.count(lost) == 1
    assert [lost in trouble for trouble in group.troubles()] == [True]


def test_a_restart_is_told_of_at_the_end(group, tmp_path):
    mark = tmp_path / "mark"
    once = f"""
import os, time
if os.path.exists({str(mark)!r}): time.sleep(60)
open({str(mark)!r}, "w")
"""
    group.start("recorder", program(once), node_environment(), respawn=Respawn())
    waits = f"""
import os, time
while not os.path.exists({str(mark)!r}): time.sleep(0.05)
time.sleep(0.5)  # to be started again
"""
    group.start("learner", program(waits), node_environment())
    assert group.wait() == Ended("learner", 0)
    (trouble,) = group.troubles()
    assert "recorder ended and was started again 1 times" in trouble


def test_one_that_is_needed_and_killed_comes_back_while_the_run_gets_on(tmp_path):
    """As often as it takes; with the words that say that it was started again."""
    marks = tmp_path / "marks"
    dies = f"""
import os, signal, sys
with open({str(marks)!r}, 'a') as file: print(*sys.argv[1:], file=file)
done = len(open({str(marks)!r}).readlines()) == {MAX_RESTARTS + 3}
sys.exit(0) if done else os.kill(os.getpid(), signal.SIGKILL)
"""
    with ProcessGroup(tmp_path / "log", progress=lambda: marks.stat().st_size) as group:
        group.start("arm", program(dies), node_environment(), Respawn(False, ["again"]))
        assert group.wait() == Ended("arm", 0)
    assert marks.read_text().split() == ["again"] * (MAX_RESTARTS + 2)


def test_one_that_is_needed_and_brings_nothing_ends_all(tmp_path):
    marks = tmp_path / "marks"
    dies = f"""
import os, signal
open({str(marks)!r}, 'a').write('x')
os.kill(os.getpid(), signal.SIGKILL)
"""
    with ProcessGroup(tmp_path / "log", progress=lambda: 0) as group:
        group.start("arm", program(dies), node_environment(), Respawn(missed=False))
        assert group.wait() == Ended("arm", -signal.SIGKILL)
    assert len(marks.read_text()) == 1 + MAX_RESTARTS


def test_an_error_of_one_that_is_needed_ends_all_at_once(group):
    words = program("print('no such file'); raise SystemExit(2)")
    group.start("curiosity", words, node_environment(), Respawn(missed=False))
    assert group.wait() == Ended("curiosity", 2)
    assert group.tail("curiosity") == "no such file"


def test_a_signal_is_passed_on(group):
    group.start("sleeper", SLEEP, node_environment())
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
    assert group.wait() == Ended("", 128 + signal.SIGTERM)
    assert group.end() == {"sleeper": -signal.SIGTERM}


def runs(pid: int) -> bool:
    """Whether it does; a dead one that nobody has asked about does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_nobody_outlives_a_parent_that_is_killed(tmp_path):
    code = (
        "import sys, pathlib\n"
        "from bayes_curiosity_ros.bringup.processes import ProcessGroup\n"
        "from bayes_curiosity_ros.environment import node_environment\n"
        f"group = ProcessGroup(pathlib.Path({str(tmp_path)!r}))\n"
        f"group.start('sleeper', {SLEEP!r}, node_environment())\n"
        "print(group._started['sleeper'].process.pid, flush=True)\n"
        "group.wait()\n"
    )

    parent = subprocess.Popen(program(code), stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    wait_for(lambda: not runs(child), "end of the child")


def test_a_node_ends_in_order_when_its_launch_system_is_killed(tmp_path):
    """`ros2 launch` passes SIGINT on, but not SIGTERM."""
    node = (
        "import sys, time\n"
        "from bayes_curiosity_ros.nodes.run import Ending\n"
        "ending = Ending()\n"
        "print('ready', flush=True)\n"
        "while not ending.wanted: time.sleep(0.01)\n"
        f"open({str(tmp_path / 'ended')!r}, 'w').write(ending.wanted)\n"
    )
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {node!r}])"
    environment = {**os.environ, DIE_WITH_PARENT: "1"}
    parent = subprocess.Popen(program(code), env=environment, stdout=subprocess.PIPE, text=True)
    assert parent.stdout.readline() == "ready\n"
    parent.kill()
    assert parent.stdout.read() == ""  # until the node has ended too
    assert (tmp_path / "ended").read_text() == "SIGTERM"
    parent.wait()


def test_a_node_whose_launch_system_is_gone_before_it_can_listen_ends_too():
    gone = subprocess.Popen(program("pass"))
    gone.wait()
    environment = {**os.environ, DIE_WITH_PARENT: str(gone.pid)}
    code = "import bayes_curiosity_ros.nodes\nimport time\ntime.sleep(600)"
    node = subprocess.run(program(code), env=environment, timeout=WAIT_S, check=False)
    assert node.returncode == -signal.SIGTERM
