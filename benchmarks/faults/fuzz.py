"""Hostile messages at every input of every node: it must live, answer, and be unchanged."""

from __future__ import annotations

import random
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from rclpy.impl.implementation_singleton import rclpy_implementation

from bayes_curiosity_ros.nodes.background import BackgroundNode, ServiceTimeoutError
from benchmarks._report import report
from benchmarks.faults.hostile import broken
from benchmarks.faults.learner import LEARNER, learner_trial
from benchmarks.faults.ledger import Ledger, Trial
from benchmarks.faults.stack import TRACEBACK, Plan
from benchmarks.faults.target import Input, NoAnswerError, Target
from benchmarks.faults.targets import TARGETS
from support.graph import parameters
from support.processes import started_processes
from support.waiting import wait_for

EVERY = 1000  # messages between two legitimate requests
ALIVE_S = 60.0
# Messages are sent no faster, in [1/s]: those that a full queue drops test nothing.
RATE = 500.0
# A hostile request may be left unanswered, for so long in [s] and so often.
HOSTILE_S = 3.0
MOST_UNANSWERED = 20


class Fuzz:
    """Fires at one node.

    Args:
        target: the node.
        process: its process; when it has ended, there is nothing to fire at.
        rng: says what.

    Attributes:
        sent: messages sent.
        unanswered: services that did not answer a hostile request.
    """

    def __init__(self, target: Target, process: subprocess.Popen[str], rng: random.Random) -> None:
        self._target, self._process, self._rng = target, process, rng
        self._inputs = target.inputs()
        self.sent = self.unanswered = 0

    def fire(self, count: int) -> None:
        """Send so many hostile messages, not faster than they can be taken."""
        began = time.monotonic()
        for number in range(1, count + 1):
            if self._process.poll() is not None or self.unanswered >= MOST_UNANSWERED:
                return
            self._send(self._rng.choice(self._inputs))
            self.sent += 1
            ahead = began + number / RATE - time.monotonic()
            if ahead > 0.01:
                time.sleep(ahead)

    def _send(self, chosen: Input) -> None:
        if chosen.harmless is None:
            with suppress(UnicodeError):
                self._call(chosen)
            return
        publisher = self._target.publisher(chosen.kind, chosen.name, chosen.qos)
        raw = self._rng.random() < 0.5
        make = chosen.harmless if raw else chosen.hostile
        message = make(self._rng)
        # What the middleware refuses to send reaches nobody.
        with suppress(rclpy_implementation.RCLError, UnicodeError):
            publisher.publish(broken(message, self._rng) if raw else message)

    def _call(self, chosen: Input) -> None:
        try:
            self._target.call(chosen.kind, chosen.name, chosen.hostile(self._rng), HOSTILE_S)
        except ServiceTimeoutError:
            self.unanswered += 1


@contextmanager
def under_fire(name: str, folder: Path) -> Iterator[tuple[Target, subprocess.Popen[str]]]:
    """Start a node, and something that can fire at it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with BackgroundNode("stranger") as background, started_processes() as start:
        target = TARGETS[name](background, folder)
        for each in target.companions:
            drain(start(module_of(each)), folder / f"log_{each}")
        process = start(module_of(name), *parameters(**target.parameters))
        drain(process, folder / "log")
        for each in target.inputs():
            if each.harmless is not None:
                target.publisher(each.kind, each.name, each.qos)
        yield target, process


def module_of(name: str) -> str:
    """Where a node's program is."""
    return f"bayes_curiosity_ros.nodes.{name}_node"


def drain(process: subprocess.Popen[str], log: Path) -> None:
    """Keep what the process prints in a file: a full pipe would block it."""

    def copy() -> None:
        assert process.stdout is not None
        with log.open("w") as file:
            for line in process.stdout:
                file.write(line)
                file.flush()

    threading.Thread(target=copy, daemon=True).start()


def trial(name: str, count: int, folder: Path) -> Trial:
    """Fire at one node, and tell what became of it."""
    with under_fire(name, folder) as (target, process):
        wait_for(lambda: _answers(target), f"{name} that answers", ALIVE_S)
        before, fuzz = target.probe(), Fuzz(target, process, random.Random(name))
        outcome = _fire(fuzz, target, process, count, before)
    log = (folder / "log").read_text(errors="replace")
    note = f"{fuzz.unanswered} hostile requests unanswered; tracebacks in the log: "
    return Trial("", "", fuzz.sent, outcome, 0, note + str(log.count(TRACEBACK)))


def _fire(
    fuzz: Fuzz, target: Target, process: subprocess.Popen[str], count: int, before: object
) -> str:
    """Fire, with a legitimate request now and then; what came of it, in words."""
    while fuzz.sent < count:
        fuzz.fire(min(EVERY, count - fuzz.sent))
        if process.poll() is not None:
            return f"death: exit code {process.returncode}"
        if fuzz.unanswered >= MOST_UNANSWERED:
            return f"no answer: {fuzz.unanswered} hostile requests"
        try:
            after = target.probe()
        except (NoAnswerError, AssertionError, ServiceTimeoutError) as error:
            died = process.poll() is not None
            return "death" if died else f"no answer: {str(error)[:200]}"
        if after != before:
            return f"state changed: {str(before)[:150]} to {str(after)[:150]}"
    return "unharmed"


def _answers(target: Target) -> bool:
    try:
        target.probe()
    except (NoAnswerError, AssertionError, ServiceTimeoutError):
        return False
    return True


def campaign(
    ledger: Ledger,
    folder: Path,
    count: int,
    nodes: list[str],
    plan: Callable[[], tuple[Plan, Path]],
) -> None:
    """Fire at each node, and report.

    Args:
        ledger: keeps the trials.
        folder: folder for what the nodes write.
        count: messages for each node.
        nodes: names of the nodes.
        plan: tells what a run of the stack is, and its folder; for the learner, which needs one.
    """
    jobs = [
        (
            name,
            partial(learner_trial, plan, count)
            if name == LEARNER
            else partial(trial, name, count, folder / f"fuzz_{name}"),
        )
        for name in nodes
    ]
    tell(ledger.work("fuzz", jobs))


def tell(trials: list[Trial]) -> None:
    """Print the part's figures."""
    total = sum(t.count for t in trials)
    for figure, word in (("deaths", "death"), ("state_changes", "state"), ("silent", "no answer")):
        hit = [t.name for t in trials if t.outcome.startswith(word)]
        report(
            f"faults/fuzz/{figure}", 1 + len(hit), 1, unit="1 + nodes", higher_is_better=False,
            note=f"{', '.join(hit) or 'none'} of {len(trials)} after {total} messages; bar: 0",
        )  # fmt: skip
