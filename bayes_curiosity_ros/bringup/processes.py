"""Several processes that live and die together, but for those that may come back."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from bayes_curiosity_ros.environment import die_with_parent

POLL_S = 0.05
GRACE_S = 8.0
TAIL_LINES = 20
MAX_RESTARTS = 3
NEVER = -1


@dataclass(frozen=True)
class Ended:
    """The first process that ended.

    Attributes:
        name: name of the process; empty when a signal came first.
        code: exit code of the process; 128 + n for signal n.
    """

    name: str
    code: int


@dataclass
class _Started:
    """A process, and how to start it again."""

    command: Sequence[str]
    environment: Mapping[str, str]
    process: subprocess.Popen[bytes]
    restarts_left: int


class ProcessGroup:
    """Starts processes; when one ends or a signal comes, ends them all, last ones first.

    One that may respawn is started again instead, a few times, and then missed.

    Args:
        log_folder: folder with a file per process for what it prints.
        loud: names of the processes that print to the terminal instead.
    """

    def __init__(self, log_folder: Path, loud: Collection[str] = ()) -> None:
        self._folder = log_folder
        self._loud = loud
        self._started: dict[str, _Started] = {}
        self._signal = 0

    def start(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        respawn: bool = False,
    ) -> None:
        """Start one more process."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self.log(name).unlink(missing_ok=True)
        process = self._spawn(name, command, environment)
        restarts = MAX_RESTARTS if respawn else NEVER
        self._started[name] = _Started(command, environment, process, restarts)

    def wait(self) -> Ended:
        """Wait until one ends that may not, or SIGINT or SIGTERM comes."""
        while not self._signal:
            for name, started in self._started.items():
                code = started.process.poll()
                if code is None:
                    continue
                if started.restarts_left == NEVER:
                    return Ended(name, code)
                self._restart(name, started)
            time.sleep(POLL_S)
        return Ended("", 128 + self._signal)

    def end(self) -> dict[str, int]:
        """End those that still run, last ones first; returns everyone's exit code."""
        processes = {name: started.process for name, started in self._started.items()}
        for process in reversed(processes.values()):
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(GRACE_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        return {name: process.returncode for name, process in processes.items()}

    def _restart(self, name: str, started: _Started) -> None:
        if started.restarts_left == 0:
            return
        started.restarts_left -= 1
        print(f"{name} ended and is started again; see {self.log(name)}", file=sys.stderr)
        started.process = self._spawn(name, started.command, started.environment)

    def _spawn(
        self, name: str, command: Sequence[str], environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        with contextlib.ExitStack() as stack:
            output = None
            if name not in self._loud:
                output = stack.enter_context(self.log(name).open("ab"))
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if output else None,
                env=dict(environment),
                # Ctrl-C reaches us alone, and we pass it on in order.
                start_new_session=True,
                preexec_fn=die_with_parent,
            )

    def log(self, name: str) -> Path:
        """File that a process's output goes to."""
        return self._folder / f"{name}.log"

    def tail(self, name: str) -> str:
        """The last lines that a process printed."""
        path = self.log(name)
        if name in self._loud or not path.exists():
            return ""
        return "\n".join(path.read_text(errors="replace").splitlines()[-TAIL_LINES:])

    def __enter__(self) -> ProcessGroup:
        self._before = {
            number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)
        }
        return self

    def __exit__(self, *error: object) -> None:
        self.end()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._signal = self._signal or number
