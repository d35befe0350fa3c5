"""When the machine itself stands still: how late it wakes a program that does nothing.

A virtual machine's host, or its kernel, can hold up even what comes before all else. One watcher
for each core sleeps and wakes, before every node; as a program, `python -m benchmarks._stalls
CORE`, it prints when it woke late, until it is ended.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

SLEEP_NS, LATE_NS = 2_000_000, 500_000
PRIORITY = 40  # above that of a real arm's nodes


class Stall(NamedTuple):
    """A time, in [ns] of the system's clock, in which a core ran nothing that asked for it."""

    began_ns: int
    ended_ns: int


def watch(core: int) -> None:
    """Print the stalls of a core, one per line, for ever."""
    os.sched_setaffinity(0, {core})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    while True:
        due_ns = time.time_ns() + SLEEP_NS
        time.sleep(SLEEP_NS * 1e-9)
        now_ns = time.time_ns()
        if now_ns - due_ns > LATE_NS:
            print(due_ns, now_ns, flush=True)


@contextmanager
def watched(folder: Path) -> Iterator[list[Stall]]:
    """Watch all cores meanwhile; the stalls are there at the end.

    None are seen where this user may not have such a priority: a program that comes behind others
    would take their work for a stall.

    Args:
        folder: for what the watchers print.
    """
    stalls: list[Stall] = []
    paths = {core: folder / f"stalls_{core}" for core in sorted(os.sched_getaffinity(0))}
    with ExitStack() as stack:
        for core, path in paths.items():
            file = stack.enter_context(path.open("w"))
            words = [sys.executable, "-m", "benchmarks._stalls", str(core)]
            process = subprocess.Popen(words, stdout=file, stderr=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield stalls
    for path in paths.values():
        stalls += [Stall(*map(int, line.split())) for line in path.read_text().splitlines()]


def stalled_ns(stalls: Sequence[Stall], began_ns: int, ended_ns: int) -> int:
    """How much of a time the machine stood still, on one core or another."""
    total_ns, until_ns = 0, began_ns
    for stall in sorted(stalls):
        first_ns, last_ns = max(stall.began_ns, until_ns), min(stall.ended_ns, ended_ns)
        if last_ns > first_ns:
            total_ns, until_ns = total_ns + last_ns - first_ns, last_ns
    return total_ns


if __name__ == "__main__":
    watch(int(sys.argv[1]))
