"""Nodes that are killed or hang at random moments of a recorded run; then all must be as ever."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from bayes_curiosity_ros.errors import BayesCuriosityError
from benchmarks._report import report
from benchmarks.faults.ledger import Ledger, Trial
from benchmarks.faults.remains import Remains, remains_of
from benchmarks.faults.stack import LOOK_S, Plan, Run, steps_of, wait_until_gone

NODES = ("arm", "camera", "curiosity", "description", "recorder", "learner")
BACK_S = 60.0  # for a node to be there again
MOST_RESUMES = 20
MOST_RUNS = 2  # for each disturbance that is wanted


@dataclass(frozen=True)
class Disturbance:
    """What is done to a node.

    Attributes:
        name: part of the campaign that it is.
        strike: does it to a process.
        together: how many may share a run.
    """

    name: str
    strike: Callable[[int], None]
    together: int


def kill(pid: int) -> None:
    """End a process as a crash would."""
    os.kill(pid, signal.SIGKILL)
    wait_until_gone(pid, BACK_S)


def hang(pid: int, seconds: float) -> None:
    """Have a process stand still for a while."""
    os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def killing() -> Disturbance:
    return Disturbance("kill", kill, 5)


def hanging(seconds: float = 8.0) -> Disturbance:
    return Disturbance("hang", partial(hang, seconds=seconds), 5)


class Disturbed:
    """A run of which one node is disturbed again and again, and that is resumed where it ended.

    Args:
        plan: what the run is.
        output: its folder, which is made anew.
        node: name of the node.
        rng: says when.

    Attributes:
        struck: how often the node was disturbed.
        resumes: how often the run had to be resumed by hand.
    """

    def __init__(self, plan: Plan, output: Path, node: str, rng: random.Random) -> None:
        shutil.rmtree(output, ignore_errors=True)
        self._plan, self._output, self._node, self._rng = plan, output, node, rng
        self._deadline = time.monotonic() + plan.timeout_s
        self._log = output.with_suffix(".log")
        self._log.unlink(missing_ok=True)
        self.struck = self.resumes = 0

    def disturb(self, disturbance: Disturbance, times: int) -> int | None:
        """Run to the end; its exit code, None if it hung."""
        last = 0.9 * self._plan.timesteps
        moments = sorted(self._rng.uniform(0.0, last) for _ in range(times))
        run = Run(self._plan.words(self._output), self._output, self._log)
        try:
            for moment in moments:
                run = self._strike(run, disturbance, int(moment))
            return self._finished(run)
        finally:
            run.end()

    def _strike(self, run: Run, disturbance: Disturbance, moment: int) -> Run:
        run = self._reach(run, moment)
        pid = run.pids().get(self._node)
        if pid is not None:
            disturbance.strike(pid)
            self.struck += 1
        return run

    def _reach(self, run: Run, moment: int) -> Run:
        """Wait for a moment of the run at which the node is there, whoever has to start it.

        A run does not wait for who only watches it: it may be over before that one is back.
        """
        while time.monotonic() < self._deadline:
            run = self._going(run)
            if run.code == 0:
                return run
            if run.steps() >= moment and self._node in run.pids():
                time.sleep(self._rng.uniform(0.0, 0.2))  # anywhere in an episode
                return run
            time.sleep(LOOK_S)
        return run

    def _going(self, run: Run) -> Run:
        """The run, or the one that goes on with it where it has ended."""
        if run.code is None or run.code == 0 or self.resumes >= MOST_RESUMES:
            return run
        self.resumes += 1
        begun = steps_of(self._output) and (self._output / "checkpoint.pt").exists()
        words = self._plan.words(self._output, *(("--resume",) if begun else ("--restart",)))
        return Run(words, self._output, self._log)

    def _finished(self, run: Run) -> int | None:
        while run.wait(self._deadline) not in (0, None) and self.resumes < MOST_RESUMES:
            run = self._going(run)
        run.end()
        return run.code


@cache
def reference(plan: Plan, folder: Path) -> Remains:
    """What an undisturbed run leaves; made once."""
    output = folder / f"undisturbed_{plan.timesteps}_{plan.seed}"
    if steps_of(output) < plan.timesteps:
        disturbed = Disturbed(plan, output, "", random.Random(0))
        code = disturbed.disturb(killing(), 0)
        if code != 0 or disturbed.resumes:
            raise RuntimeError(f"the undisturbed run ended with {code}; see {output}.log")
    return remains_of(output)


def trial(plan: Plan, folder: Path, disturbance: Disturbance, node: str, run: int) -> Trial:
    """One run, and whether anything in it differs from the undisturbed one."""
    wanted = reference(plan, folder)
    seed = f"{disturbance.name} {node} {run}"
    output = folder / seed.replace(" ", "_")
    disturbed = Disturbed(plan, output, node, random.Random(seed))
    code = disturbed.disturb(disturbance, disturbance.together)
    try:
        left = remains_of(output)
        differ, missing = left.differences(wanted), left.missing(wanted)
    except (BayesCuriosityError, OSError, IndexError, KeyError) as error:
        differ, missing = [f"unreadable: {error}"], []
    by = f"resumed {disturbed.resumes} times" if disturbed.resumes else "by itself"
    note = f"{by}; exit code {code}; episodes lost in the bag: {missing or 'none'}"
    if not differ and code == 0:
        shutil.rmtree(output, ignore_errors=True)
    outcome = f"differs: {', '.join(differ)}" if differ else "identical"
    return Trial("", "", disturbed.struck, outcome if code == 0 else f"ended with {code}", 0, note)


def campaign(
    ledger: Ledger, plan: Plan, folder: Path, disturbance: Disturbance, each: int, nodes: list[str]
) -> None:
    """Disturb each node `each` times, several in one run, and report.

    Args:
        ledger: keeps the trials.
        plan: what a run is.
        folder: folder of the runs.
        disturbance: what is done.
        each: how often to each node.
        nodes: names of the nodes.
    """
    together = min(disturbance.together, each)
    struck = Disturbance(disturbance.name, disturbance.strike, together)
    for node in nodes:
        for run in range(MOST_RUNS * each):
            if _struck(ledger.of(disturbance.name), node) >= each:
                break
            job = partial(trial, plan, folder, struck, node, run)
            ledger.work(disturbance.name, [(f"{node}/{run}", job)])
    tell(disturbance.name, ledger.of(disturbance.name))


def _struck(trials: list[Trial], node: str) -> int:
    """How often a node was disturbed so far."""
    return sum(t.count for t in trials if t.name.startswith(f"{node}/"))


def tell(part: str, trials: list[Trial]) -> None:
    """Print the part's figures."""
    total = sum(t.count for t in trials)
    good = sum(t.count for t in trials if t.outcome == "identical")
    alone = sum(t.count for t in trials if t.note.startswith("by itself"))
    report(
        f"faults/{part}/identical", good, total, unit="disturbances", higher_is_better=True,
        note="in runs with the rows, policy and posterior of the undisturbed one; peer: all",
    )  # fmt: skip
    report(
        f"faults/{part}/by_itself", alone, total, unit="disturbances", higher_is_better=True,
        note="in runs that nobody had to resume; peer: all",
    )  # fmt: skip
    others = [t for t in trials if not t.name.startswith("recorder")]
    lost = sum("episodes lost in the bag: none" not in t.note for t in others)
    report(
        f"faults/{part}/bags_with_losses", 1 + lost, 1, unit="1 + runs", higher_is_better=False,
        note=f"{lost} of {len(others)} runs, those with a disturbed recorder left out; bar: 0",
    )  # fmt: skip
