"""A run of `bayes-curiosity up` whose nodes can be found, disturbed and ended one by one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bayes_curiosity_ros.learning.episode_log import LOG
from bayes_curiosity_ros.learning.preparation import PreparedFiles

NODES = "bayes_curiosity_ros.nodes."
LOOK_S = 0.02
END_S = 60.0
TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True)
class Plan:
    """What every run of a campaign has in common.

    Attributes:
        prepared: model and policy that each run starts from.
        timesteps: control steps of a run.
        seed: seed of a run.
        timeout_s: time after which a run counts as hung, in [s].
    """

    prepared: PreparedFiles
    timesteps: int
    seed: int = 1
    timeout_s: float = 600.0

    def words(self, output: Path, *more: str) -> list[str]:
        """The command line of a recorded run of reach."""
        return [
            *(sys.executable, "-m", "bayes_curiosity_ros.cli", "up", "--task", "reach"),
            *("--record", "--seed", str(self.seed), "--timesteps", str(self.timesteps)),
            *("--model", str(self.prepared.model), "--policy", str(self.prepared.policy)),
            *("--params-file", str(output.parent / PARAMETERS), "--output", str(output)),
            *more,
        ]


PARAMETERS = "parameters.yaml"
# Several iterations, so that there is something to resume from.
ITERATIONS = "/**/learner:\n  ros__parameters:\n    iteration_steps: 300\n"


def make_plan(folder: Path, timesteps: int, seed: int = 1) -> Plan:
    """Prepare what every run starts from, once."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PARAMETERS).write_text(ITERATIONS)
    prepared = PreparedFiles.within((folder / "prepared").resolve())
    if not (prepared.model.exists() and prepared.policy.exists()):
        words = [sys.executable, "-m", "bayes_curiosity_ros.cli", "prepare", "reach"]
        words += ["--output", str(prepared.model.parent)]
        words += ["--demonstrations", "1000", "--embedding-epochs", "2"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return Plan(prepared, timesteps, seed)


class Run:
    """A stack in a process of its own.

    Args:
        words: its command line.
        output: folder of the run.
        log: file that all it prints is appended to.
    """

    def __init__(self, words: Sequence[str], output: Path, log: Path) -> None:
        self.output = output
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        return self.process.poll()

    def pids(self) -> dict[str, int]:
        """Process ids of its nodes, by name."""
        found = {}
        for pid in children(self.process.pid):
            with suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
                module = next((word for word in words if word.startswith(NODES)), "")
                found[module.removeprefix(NODES).removesuffix("_node")] = pid
        found.pop("", None)
        return found

    def steps(self) -> int:
        """Control steps so far."""
        return steps_of(self.output)

    def wait_for_nodes(self, deadline: float) -> None:
        """Wait until the learner was started, which is the last."""
        while "learner" not in self.pids() and self.code is None and time.monotonic() < deadline:
            time.sleep(LOOK_S)

    def wait_for_steps(self, steps: int, deadline: float) -> bool:
        """Wait until so many control steps were made; whether they were."""
        while self.steps() < steps:
            if self.code is not None or time.monotonic() > deadline:
                return False
            time.sleep(LOOK_S)
        return True

    def signal(self, number: int) -> None:
        """Send a signal to it and to its nodes."""
        for pid in (self.process.pid, *self.pids().values()):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def wait(self, deadline: float) -> int | None:
        """Wait until it ends by itself; its exit code, None if it did not."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(max(deadline - time.monotonic(), 0.0))
        return self.code

    def end(self) -> None:
        """End it, its nodes with it: in order if it can be."""
        nodes = list(self.pids().values())
        for number, wait_s in ((signal.SIGINT, END_S), (signal.SIGKILL, 10.0)):
            if self.code is None:
                self.process.send_signal(number)
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(wait_s)
        for pid in nodes:
            wait_until_gone(pid, 10.0)

    def said(self) -> str:
        """All that it and its nodes printed."""
        logs = sorted((self.output / "log").glob("*.log"))
        return "\n".join(path.read_text(errors="replace") for path in [self.log, *logs])

    @property
    def traceback(self) -> bool:
        """Whether a traceback was printed."""
        return TRACEBACK in self.said()


def children(pid: int) -> list[int]:
    """Process ids of a process's children."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(word) for word in path.read_text().split()]
    return found


def steps_of(output: Path) -> int:
    """Control steps of the run in a folder, as its log says so far."""
    with suppress(OSError, ValueError, IndexError):
        with (output / LOG).open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - 400, 0))
            last = file.read().decode(errors="replace").split("\n")[-2]
        return int(last.split(",")[1])
    return 0


def wait_until_gone(pid: int, timeout_s: float) -> None:
    """Wait for a process that is no child of ours; kill it if it stays."""
    deadline = time.monotonic() + timeout_s
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
