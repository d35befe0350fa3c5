"""An arm and what chooses its actions come before other work of the machine."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
import yaml

from bayes_curiosity_ros.learning.asynchronous import Asynchronous
from bayes_curiosity_ros.nodes.priority import run_first
from bayes_curiosity_ros.resources import find
from support.learners import Identity, make_algorithm
from support.python import run_python

# Two threads, one of them behind the other; what each is scheduled as, and a thread started later.
PROGRAM = """
import os, threading
from bayes_curiosity_ros.environment import come_first
over, said = threading.Event(), []
learning = threading.Thread(target=over.wait)
learning.start()
come_first(7, [learning.native_id])
later = threading.Thread(target=lambda: said.append(os.sched_getscheduler(0)))
later.start()
later.join()
print(os.sched_getscheduler(0), os.sched_getparam(0).sched_priority, said[0],
      os.sched_getscheduler(learning.native_id),
      os.sched_getparam(learning.native_id).sched_priority)
over.set()
"""


def permitted() -> bool:
    """Whether this user may ask for such priorities."""
    code = "import os; os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))"
    return subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL).returncode == 0


class Told:
    """Keeps what a node would log."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def get_logger(self):
        return self

    def warning(self, words: str) -> None:
        self.warnings.append(words)


@pytest.mark.skipif(not permitted(), reason="this user has no real-time priority")
def test_all_threads_come_first_and_the_named_ones_after_the_others():
    first = str(os.SCHED_RR)
    assert run_python(PROGRAM).split() == [first, "7", first, first, "1"]


def test_without_permission_a_warning_says_what_to_do(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    node = Told()
    run_first(node, 20)
    (warning,) = node.warnings
    assert "real_time_priority = 20" in warning
    assert "rtprio in /etc/security/limits.conf" in warning


def test_priority_0_asks_for_nothing(monkeypatch):
    monkeypatch.setattr(os, "sched_setscheduler", lambda *_: pytest.fail("asked"))
    run_first(Told(), 0)


def test_the_thread_that_learns_is_known():
    learner = Asynchronous(make_algorithm("sac", Identity(), 0), most_due=10)
    assert learner.thread_id in {thread.native_id for thread in threading.enumerate()}
    assert learner.thread_id != threading.get_native_id()


def test_real_arms_ask_for_it():
    said = yaml.safe_load(find("config/bringup", "real.yaml").read_text())
    for node in ("arm", "learner"):
        assert said[f"/**/{node}"]["ros__parameters"]["real_time_priority"] > 0
