"""Several processes that live and die together, but for those that may come back."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from bayes_curiosity_ros.environment import SIGNALS, die_with_parent

POLL_S = 0.05
GRACE_S = 8.0
TAIL_LINES = 20
# A process is not started again after so many times in a row that brought nothing: one that the
# others need brought nothing if the run is where it was, any other if it lived shorter than so.
MAX_RESTARTS = 3
SHORT_LIFE_S = 10.0


@dataclass(frozen=True)
class Ended:
    """The first process that ended.

    Attributes:
        name: name of the process; empty when a signal to us came first.
        code: exit code of the process; 128 + n where signal n asked it, or us, to end.
    """

    name: str
    code: int

    @property
    def signal(self) -> str:
        """Name of the signal that asked for the end; empty if none did."""
        names = {128 + number: number.name for number in SIGNALS}
        return names.get(self.code, "")


@dataclass(frozen=True)
class Respawn:
    """How a process is started again.

    Attributes:
        missed: whether the others go on without it where it is not started again any more. One
            that they need is started again only if it was killed: an error would come again.
        words: words added to its command line.
    """

    missed: bool = True
    words: Sequence[str] = ()


@dataclass
class _Started:
    """A process, and how to start it again."""

    command: Sequence[str]
    environment: Mapping[str, str]
    respawn: Respawn | None
    process: subprocess.Popen[bytes]
    began_s: float = field(default_factory=time.monotonic)
    progress: object = None
    restarts: int = 0
    useless: int = 0
    lost: bool = False


class ProcessGroup:
    """Starts processes; when one ends or a signal comes, ends them all, last ones first.

    One that may respawn is started again instead, unless it ends again and again; then the others
    end, too, or go on without it, and `troubles` says so.

    Args:
        log_folder: folder with a file per process for what it prints.
        loud: names of the processes that print to the terminal instead.
        progress: something that changes as the processes get on with their work.
    """

    def __init__(
        self,
        log_folder: Path,
        loud: Collection[str] = (),
        progress: Callable[[], object] = time.monotonic,
    ) -> None:
        self._folder = log_folder
        self._loud = loud
        self._progress = progress
        self._started: dict[str, _Started] = {}
        self._signal = 0

    def start(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        respawn: Respawn | None = None,
    ) -> None:
        """Start one more process; it is not started again where `respawn` is None."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self.log(name).unlink(missing_ok=True)
        process = self._spawn(name, command, environment)
        self._started[name] = _Started(command, environment, respawn, process)

    def wait(self) -> Ended:
        """Wait until one ends that may not, or SIGINT or SIGTERM comes."""
        while not self._signal:
            for name, started in self._started.items():
                code = started.process.poll()
                if code is None:
                    continue
                if not self._restarted(name, started, code):
                    return Ended(name, code)
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

    def _restarted(self, name: str, started: _Started, code: int) -> bool:
        """Whether a process that ended was started again, or is not needed."""
        respawn = started.respawn
        if respawn is None or (code >= 0 and not respawn.missed):
            return False
        if started.lost:
            return True
        now_s, progress = time.monotonic(), self._progress()
        lasted = now_s - started.began_s >= SHORT_LIFE_S
        useful = lasted if respawn.missed else progress != started.progress
        started.useless = 1 if useful else started.useless + 1
        if started.useless > MAX_RESTARTS:
            started.lost = True
            print(self._lost(name), file=sys.stderr, flush=True)
            return respawn.missed
        started.restarts += 1
        started.began_s, started.progress = now_s, progress
        print(f"{name} ended and is started again; see {self.log(name)}", file=sys.stderr)
        command = [*started.command, *respawn.words]
        started.process = self._spawn(name, command, started.environment)
        return True

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

    def troubles(self) -> list[str]:
        """A sentence for each process that was lost, or had to be started again."""
        found = []
        for name, started in self._started.items():
            often = f"{name} ended and was started again {started.restarts} times"
            if started.lost:
                found.append(self._lost(name))
            elif started.restarts and started.respawn and started.respawn.missed:
                found.append(f"{often}: what it did meanwhile is missing; see {self.log(name)}")
            elif started.restarts:
                found.append(f"{often}, and the run went on as if it had not")
        return found

    def _lost(self, name: str) -> str:
        return (
            f"{name} ended {MAX_RESTARTS + 1} times in a row and was not started again: from then "
            f"on the run had no {name}; see {self.log(name)}"
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
        self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        self.end()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._signal = self._signal or number
