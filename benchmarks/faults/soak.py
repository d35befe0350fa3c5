"""A long recorded run, watched: memory of each node, steps per second of processor time."""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from pathlib import Path

from bayes_curiosity_ros.nodes.memory import GIVE_BACK_S
from benchmarks._report import report
from benchmarks.faults.fixed_work import FixedWork
from benchmarks.faults.ledger import Ledger, Trial
from benchmarks.faults.stack import Run

SAMPLE_S = 30.0
# The learner stands still for so long in [s] before memory is looked at: all that was on its way
# has then come, and what nodes have freed they have given back.
STILL_S = 3.0 * GIVE_BACK_S
LEARNER = "learner"
# Before that every node is held up so many times, for so long, with so much time after it in [s].
# Python keeps the pages that its worst moment took: without a bad moment early, growth would tell
# when that moment came.
HOLD_UPS, HELD_UP_S, RECOVERY_S = 3, 2.0, 3.0
FIRST_STEPS, FIRST_STEPS_S = 1000, 120.0  # of a stack, and the time for them in [s]
WARM_UP_S = 300.0
BAR_MB_PER_HOUR = 1.0
BAR_DRIFT = 0.03
ENDLESS = 100_000_000
SHARED_MEMORY, OF_FAST_DDS = Path("/dev/shm"), "fastrtps_*"


@dataclass(frozen=True)
class Sample:
    """A node at a moment.

    Attributes:
        time_s: time since the run began.
        node: name of the node.
        private_kb: memory that is the node's alone and was written to, while nothing is under way.
        cpu_s: processor time that it has used.
        steps: control steps of the run so far.
        work_s: processor time that a fixed piece of work takes us at this moment: neighbours
            slow a processor down, and the nodes are not to blame for that.
    """

    time_s: float
    node: str
    private_kb: int
    cpu_s: float
    steps: int
    work_s: float = 1.0


def hold_up(run: Run) -> None:
    """Give every node some bad moments."""
    run.wait_for_steps(FIRST_STEPS, time.monotonic() + FIRST_STEPS_S)
    for _ in range(HOLD_UPS):
        for pid in run.pids().values():
            with standing_still(pid, HELD_UP_S):
                pass
            time.sleep(RECOVERY_S)


def samples(run: Run, began: float, seconds: float, work: FixedWork) -> Iterator[Sample]:
    """Look at all nodes now and then, until so long after the run began."""
    while (now := time.monotonic() - began) < seconds and run.code is None:
        steps, work_s, pids = run.steps(), work.cpu_s(), run.pids()
        used = {node: cpu_s(pid) for node, pid in pids.items() if Path(f"/proc/{pid}").exists()}
        with standing_still(pids.get(LEARNER), STILL_S):
            for node, pid in pids.items():
                with suppress(OSError, ValueError, KeyError):
                    yield Sample(now, node, private_kb(pid), used[node], steps, work_s)
        time.sleep(max(began + now + SAMPLE_S - time.monotonic(), 0.0))


@contextmanager
def standing_still(pid: int | None, seconds: float) -> Iterator[None]:
    """Stop a process, wait for so long, and go on with it in the end.

    A recorder holds some MB more or less from one moment to the next: over half an hour that alone
    makes slopes of several MB/h, up or down. When nobody sends, its memory is the same to some kB.
    """
    with suppress(ProcessLookupError):
        if pid is not None:
            os.kill(pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
        yield
    finally:
        with suppress(ProcessLookupError):
            if pid is not None:
                os.kill(pid, signal.SIGCONT)


def private_kb(pid: int) -> int:
    """Memory that a process has for itself and has written to, in [kB]."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Private_Dirty:"):
            return int(line.split()[1])
    raise ValueError(f"no Private_Dirty for process {pid}")


def cpu_s(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def mb_per_hour(rows: list[Sample]) -> float:
    """Growth of a node's memory: the median slope between two samples (Theil and Sen)."""
    slopes = [
        (b.private_kb - a.private_kb) / 1024 / (b.time_s - a.time_s) * 3600
        for a, b in combinations(rows, 2)
    ]
    return statistics.median(slopes) if slopes else 0.0


def drift(rows: list[Sample]) -> float:
    """Change of steps per processor time, of the last third against the first.

    Processor time is counted in pieces of the fixed work: a machine's own speed changes by more
    in half an hour than a stack's may.
    """
    third = len(rows) // 3
    before, after = (_steps_per_work(part) for part in (rows[: third + 1], rows[-third - 1 :]))
    return after / before - 1.0 if before else 0.0


def _steps_per_work(rows: list[Sample]) -> float:
    pairs = list(pairwise(rows))
    pieces = sum((b.cpu_s - a.cpu_s) / (0.5 * (a.work_s + b.work_s)) for a, b in pairs)
    return (rows[-1].steps - rows[0].steps) / pieces if pieces else 0.0


def together(rows: list[Sample]) -> list[Sample]:
    """All nodes as one: their memory and processor time at each moment."""
    moments: dict[float, list[Sample]] = {}
    for row in rows:
        moments.setdefault(row.time_s, []).append(row)
    most = max(map(len, moments.values()), default=0)
    return [
        replace(
            some[0],
            node="all",
            private_kb=sum(row.private_kb for row in some),
            cpu_s=sum(row.cpu_s for row in some),
        )
        for some in moments.values()
        if len(some) == most
    ]


def trial(words: list[str], output: Path, seconds: float, warm_up_s: float) -> list[Trial]:
    """Soak once: a row per node, one for all, one for what is left in shared memory."""
    shutil.rmtree(output, ignore_errors=True)
    log = output.with_suffix(".log")
    before = shared_memory_files()
    with FixedWork() as work, Run([*words, "--output", str(output)], output, log) as run:
        began = time.monotonic()
        hold_up(run)
        seen = list(samples(run, began, seconds, work))
        ended = run.code
        if ended is None:
            run.process.send_signal(signal.SIGINT)
            run.wait(time.monotonic() + 60.0)
    _keep(seen, output.with_suffix(".csv"))
    warm = [row for row in seen if row.time_s >= warm_up_s]
    left = sorted(shared_memory_files() - before)
    rows = []
    for node in dict.fromkeys(row.node for row in warm):
        mine = [row for row in warm if row.node == node]
        growth = mb_per_hour(mine)
        rows.append(Trial("soak", node, 1, f"{growth:.2f}", seconds, f"{drift(mine):+.4f}"))
    every = together(warm)
    steps = every[-1].steps - every[0].steps if every else 0
    note = f"{steps} steps after the warm-up; exit code {ended if ended is not None else 'none'}"
    slower = drift(every) if every else -1.0
    rows.append(Trial("soak", "all", 1, f"{slower:+.4f}", seconds, note))
    rows.append(Trial("soak", "shared memory", 1, str(len(left)), seconds, " ".join(left)[:500]))
    return rows


def shared_memory_files() -> set[str]:
    """Names of the files that Fast DDS has in shared memory."""
    return {path.name for path in SHARED_MEMORY.glob(OF_FAST_DDS)}


def _keep(rows: list[Sample], path: Path) -> None:
    lines = [
        f"{r.time_s:.1f},{r.node},{r.private_kb},{r.cpu_s},{r.steps},{r.work_s}" for r in rows
    ]
    path.write_text("\n".join(["time_s,node,private_kb,cpu_s,steps,work_s", *lines]) + "\n")


def campaign(ledger: Ledger, folder: Path, minutes: float) -> None:
    """Soak, and report.

    Args:
        ledger: keeps the trials.
        folder: folder of the run.
        minutes: how long.
    """
    if not ledger.of("soak"):
        words = [sys.executable, "-m", "bayes_curiosity_ros.cli", "up", "--scratch", "--record"]
        words += ["--task", "parked_reach", "--dynamics", "kinematic", "--timesteps", str(ENDLESS)]
        warm_up_s = min(WARM_UP_S, minutes * 60.0 / 3.0)
        for row in trial(words, folder / "soak", minutes * 60.0, warm_up_s):
            ledger.add(row)
    tell(ledger.of("soak"))


def tell(trials: list[Trial]) -> None:
    """Print the part's figures."""
    special = ("all", "shared memory")
    growth = {t.name: float(t.outcome) for t in trials if t.name not in special}
    worst = max(growth.values(), default=0.0)
    note = ", ".join(f"{node} {rate:.1f}" for node, rate in growth.items())
    report(
        "faults/soak/mb_per_hour", max(worst, 0.01), BAR_MB_PER_HOUR, unit="MB/h",
        higher_is_better=False, note=f"the node that grows most; {note}; peer: the bar",
    )  # fmt: skip
    for t in trials:
        if t.name == "all":
            report(
                "faults/soak/steps_per_cpu_s", max(abs(float(t.outcome)), 1e-4), BAR_DRIFT,
                unit="relative change", higher_is_better=False,
                note=f"last third against the first: {t.outcome}; {t.note}; peer: the bar",
            )  # fmt: skip
        if t.name == "shared memory":
            report(
                "faults/soak/shared_memory_files", 1 + int(t.outcome), 1, unit="1 + files",
                higher_is_better=False, note="left behind by the stack; bar: 0",
            )  # fmt: skip
