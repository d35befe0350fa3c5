"""A signal at any moment of a node's start ends it with code 0 and without a traceback."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bayes_curiosity_ros.environment import PASSED_ON_S
from support.processes import die_with_parent, output_of
from support.waiting import wait_for

ROOT = Path(__file__).parents[2]
NODES = "bayes_curiosity_ros.nodes"
holds_signals = pytest.mark.skipif(
    subprocess.run(["env", "--block-signal=INT", "true"], check=False).returncode != 0,
    reason="this env cannot hold signals back",
)
# A Python that is slow enough for a signal to come before anything of ours.
SLOW = """#!{python}
import os, pathlib, signal, sys, time
pathlib.Path({mark!r}).touch()
while not signal.sigpending():
    time.sleep(0.01)
os.execv({python!r}, [{python!r}, *sys.argv[1:]])
"""


def started(*words):
    return subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=die_with_parent,
    )


def imported(process, module):
    """Read what Python says of its imports, up to this one."""
    for line in process.stdout:
        if line.startswith("import time:") and line.rpartition("|")[2].strip() == module:
            return
    pytest.fail(f"{module} is never imported")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("node", "moment"),
    [("arm", NODES), ("arm", "mujoco"), ("learner", "numpy"), ("learner", "torch")],
)
def test_a_node_that_imports_ends_quietly(node, moment, sent):
    process = started(sys.executable, "-X", "importtime", "-m", f"{NODES}.{node}_node")
    imported(process, moment)
    process.send_signal(sent)
    said = [line for line in output_of(process).splitlines() if "import time:" not in line]
    assert process.returncode == 0, said
    assert said == []


@holds_signals
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_all_imports_waits_for_them(tmp_path, sent):
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib/package").mkdir(parents=True)
    python, mark = tmp_path / "bin/python3", tmp_path / "python_is_there"
    python.write_text(SLOW.format(python=sys.executable, mark=str(mark)))
    python.chmod(0o755)
    link = tmp_path / "lib/package/arm"
    link.symlink_to(ROOT / "resource/executables/arm")
    process = started(link)
    wait_for(mark.exists, "Python")
    process.send_signal(sent)
    assert output_of(process) == ""
    assert process.returncode == 0


def test_under_launch_a_node_waits_for_the_signal_to_be_passed_on(monkeypatch):
    """launch sends Ctrl-C again to who has it already, and takes one that is gone for dead."""
    monkeypatch.setenv("BAYES_CURIOSITY_DIE_WITH_PARENT", str(os.getpid()))
    process = started(sys.executable, "-X", "importtime", "-m", f"{NODES}.arm_node")
    imported(process, NODES)
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(PASSED_ON_S / 4)
    process.send_signal(signal.SIGINT)
    output_of(process)
    assert process.returncode == 0


def test_whoever_imports_a_node_keeps_their_own_handlers():
    code = (
        "import signal; kinds = signal.SIGINT, signal.SIGTERM; "
        "before = [signal.getsignal(kind) for kind in kinds]; "  # a background job's differ
        f"import {NODES}; assert [signal.getsignal(kind) for kind in kinds] == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
