"""What is wrong around a stack: full and read-only disks, a second stack, foreign participants."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.files import load_state
from bayes_curiosity_ros.learning.checkpoint import CHECKPOINT
from benchmarks._report import report
from benchmarks.faults.kills import reference
from benchmarks.faults.ledger import Ledger, Trial
from benchmarks.faults.remains import Remains, remains_of
from benchmarks.faults.stack import TRACEBACK, Plan, Run

SKIPPED = "skipped"


def namespaces() -> str:
    """Why no file system can be mounted for one process alone; empty where one can."""
    words = ["unshare", "--mount", "true"]
    if shutil.which("unshare") is None:
        return "there is no unshare"
    return "" if subprocess.call(words, stderr=subprocess.DEVNULL) == 0 else "not allowed to mount"


def mounted(words: list[str], output: Path, options: str) -> list[str]:
    """The command line that runs another where `output` is a file system of its own."""
    place = shlex.quote(str(output))
    script = f"mount -t tmpfs -o {options} tmpfs {place} && exec {shlex.join(words)}"
    return ["unshare", "--mount", "sh", "-c", script]


def judged(run: Run, code: int | None, deadline_s: float) -> tuple[str, str]:
    """Outcome and note of a run that had every reason to end: with a line, never a traceback."""
    lines = [line for line in run.log.read_text(errors="replace").splitlines() if line.strip()]
    note = f"exit code {code}; {' | '.join(lines[-3:])[:400]}"
    if TRACEBACK in run.said():
        return "traceback", note
    if code is None:
        return f"hung for {deadline_s:.0f} s", note
    return ("refused" if code else "went on"), note


def disk(plan: Plan, folder: Path, name: str, options: str) -> Trial:
    """A run whose output is on a disk that takes nothing, or not much."""
    why = namespaces()
    if why:
        return Trial("", "", 1, SKIPPED, 0, why)
    output = folder / f"disk_{name}"
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    log = output.with_suffix(".log")
    log.unlink(missing_ok=True)
    # The folder is seen by the run alone: what it leaves is copied out before it is gone.
    kept = folder / f"disk_{name}_kept"
    shutil.rmtree(kept, ignore_errors=True)
    inner = [*plan.words(output)]
    script = f"{shlex.join(inner)}; code=$?; cp -r {shlex.quote(str(output))} "
    script += f"{shlex.quote(str(kept))}; exit $code"
    with Run(mounted(["sh", "-c", script], output, options), kept, log) as run:
        code = run.wait(time.monotonic() + plan.timeout_s)
        outcome, note = judged(run, code, plan.timeout_s)
    return Trial("", "", 1, _with_checkpoint(outcome, kept), 0, note)


def _with_checkpoint(outcome: str, output: Path) -> str:
    """The outcome, or that the checkpoint is damaged."""
    path = output / CHECKPOINT
    if not path.exists():
        return outcome
    try:
        load_state(path)
    except BayesCuriosityError as error:
        return f"damaged: {error}"
    return outcome


def unusable(plan: Plan, folder: Path, name: str, make: Callable[[Path], None]) -> Trial:
    """A run whose output folder is none."""
    output, log = folder / f"unusable_{name}", folder / f"unusable_{name}.log"
    _remove(output)
    _remove(log)
    make(output)
    with Run(plan.words(output), output, log) as run:
        code = run.wait(time.monotonic() + plan.timeout_s)
        outcome, note = judged(run, code, plan.timeout_s)
    return Trial("", "", 1, outcome, 0, note)


def _a_file(output: Path) -> None:
    output.write_text("no folder\n")


def two_stacks(plan: Plan, folder: Path, same_folder: bool) -> Trial:
    """A second stack beside a first: each has the results it has alone, or is refused."""
    second = replace(plan, seed=plan.seed + 1)
    wanted = [reference(each, folder) for each in (plan, second)]
    outputs = [folder / "stack_one", folder / ("stack_one" if same_folder else "stack_two")]
    logs = [folder / f"stacks_{same_folder}_{number}.log" for number in (1, 2)]
    for path in (*outputs, *logs):
        _remove(path)
    deadline = time.monotonic() + plan.timeout_s
    with Run(plan.words(outputs[0]), outputs[0], logs[0]) as one:
        one.wait_for_nodes(deadline)
        with Run(second.words(outputs[1]), outputs[1], logs[1]) as two:
            codes = one.wait(deadline), two.wait(deadline)
            tracebacks = one.traceback or two.traceback
    last = logs[1].read_text(errors="replace").strip().splitlines()[-1:]
    note = f"exit codes {codes[0]} and {codes[1]}; the second said: {' '.join(last)[:300]}"
    if tracebacks or None in codes:
        return Trial("", "", 1, "traceback" if tracebacks else "hung", 0, note)
    if codes[0] != 0:
        return Trial("", "", 1, "the first ended", 0, note)
    runs = zip(("first", "second"), codes, outputs, wanted, strict=True)
    differ = [
        f"{name}: {each}"
        for name, code, output, alone in runs
        if code == 0
        for each in _differ(output, alone)
    ]
    return Trial("", "", 1, f"differs: {', '.join(differ)}" if differ else "identical", 0, note)


def _differ(output: Path, wanted: Remains) -> list[str]:
    try:
        return remains_of(output).differences(wanted)
    except (BayesCuriosityError, OSError) as error:
        return [f"unreadable: {error}"]


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def strangers(plan: Plan, folder: Path) -> Trial:
    """Another arm and another curiosity join a run's domain."""
    wanted, output = reference(plan, folder), folder / "strangers"
    shutil.rmtree(output, ignore_errors=True)
    log = output.with_suffix(".log")
    log.unlink(missing_ok=True)
    deadline = time.monotonic() + plan.timeout_s
    started: list[subprocess.Popen[bytes]] = []
    with Run(plan.words(output), output, log) as run:
        run.wait_for_nodes(deadline)
        try:
            for node in ("arm", "curiosity", "camera"):
                words = [sys.executable, "-m", f"bayes_curiosity_ros.nodes.{node}_node"]
                with log.with_name(f"stranger_{node}.log").open("wb") as file:
                    started.append(subprocess.Popen(words, cwd=folder, stdout=file, stderr=file))
            code = run.wait(deadline)
        finally:
            for process in started:
                process.terminate()
            for process in started:
                process.wait(30)
        traceback = run.traceback
    if traceback or code is None:
        return Trial("", "", 1, "traceback" if traceback else "hung", 0, f"exit code {code}")
    if code:
        lines = log.read_text(errors="replace").strip().splitlines()
        return Trial("", "", 1, "refused", 0, f"exit code {code}; {' '.join(lines[-2:])[:300]}")
    differ = _differ(output, wanted)
    outcome = f"differs: {', '.join(differ)}" if differ else "identical"
    return Trial("", "", 1, outcome, 0, f"exit code {code}")


def disks(ledger: Ledger, plan: Plan, folder: Path) -> None:
    """Disks that are full or read-only, outputs that are no folders; and report."""
    jobs = [
        (f"full {size}", partial(disk, plan, folder, f"full_{size}", f"size={size}"))
        for size in ("64k", "256k", "1m", "2m", "4m")
    ]
    jobs.append(("read-only", partial(disk, plan, folder, "read_only", "ro,size=1m")))
    jobs.append(("a file", partial(unusable, plan, folder, "a_file", _a_file)))
    trials = ledger.work("disk", jobs)
    _tell("disk", trials, ("refused", "went on", SKIPPED))


def stacks(ledger: Ledger, plan: Plan, folder: Path) -> None:
    """Two stacks, and strangers, in one domain; and report."""
    jobs = [
        ("two in one domain", partial(two_stacks, plan, folder, False)),
        ("two in one folder", partial(two_stacks, plan, folder, True)),
        ("strangers", partial(strangers, plan, folder)),
    ]
    _tell("stacks", ledger.work("stacks", jobs), ("identical", SKIPPED))


def _tell(part: str, trials: list[Trial], good: tuple[str, ...]) -> None:
    bad = [f"{t.name}: {t.outcome}" for t in trials if t.outcome not in good]
    report(
        f"faults/{part}/bad_ends", 1 + len(bad), 1, unit="1 + trials", higher_is_better=False,
        note=f"{'; '.join(bad)[:400] or 'none'} of {len(trials)}; bar: 0",
    )  # fmt: skip
