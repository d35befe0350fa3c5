"""A process beside the arm node that ends a motion when the node can not: how it is started, heard
and sent away. What it guards, and how, its own module says."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys

from bayes_curiosity_ros.robot.arms.arm import ArmError

START_S, END_S = 20.0, 3.0
READY = b"ready\n"
GUARD_DIED = "the arm's guard has died: nothing would stop the arm if this process died, too"


class GuardProcess:
    """The arm node's side of one guard.

    The guard's standard input is a pipe that breaks with the node, however the node dies.

    Args:
        module: what it runs, as `python -m`.
        words: the rest of its command line.
    """

    def __init__(self, module: str, *words: str) -> None:
        self._command = [sys.executable, "-m", module, *words]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def lives(self) -> bool:
        """Whether it was started, and neither ended nor died since."""
        return self._process is not None and self._process.poll() is None

    def start(self, told: bytes = b"") -> None:
        """Start it unless it lives, and wait until it is ready.

        Args:
            told: what it is told first.

        Raises:
            ArmError: it is not ready; the message has what it said instead.
        """
        if self.lives:
            return
        self.end()
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        self.tell(told)
        said = self.heard(START_S)
        if said != READY:
            self.end()
            raise ArmError(f"the arm's guard did not start: {said.decode().strip() or 'no word'}")

    def tell(self, words: bytes) -> None:
        """Write to it; nothing happens where it is dead."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(words)

    def heard(self, timeout_s: float) -> bytes:
        """What it said until now, at most a line or two; empty if it said nothing."""
        if self._process is None or self._process.stdout is None:
            return b""
        said = self._process.stdout.fileno()
        return os.read(said, 4096) if select.select([said], [], [], timeout_s)[0] else b""

    def end(self) -> None:
        """Break the pipe, and give the guard a while to go; it may first have an arm to stop."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
        process.stdout.close()


def say(words: bytes) -> None:
    """In the guard: tell the node, if there still is one."""
    with contextlib.suppress(OSError):
        os.write(1, words)


def outlive() -> None:
    """In the guard: ignore signals, as it ends with its node and not before."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
