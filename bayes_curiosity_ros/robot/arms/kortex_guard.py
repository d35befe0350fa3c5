"""A process beside the arm node that stops a Kortex arm when the node can not.

Joint speeds of the Kortex API persist over the death of whoever sent them. The guard has a session
of its own. The node beats on a pipe; where the pipe breaks or the beats cease while the arm may
move, the guard stops the arm, again and again until the arm has answered.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict

from bayes_curiosity_ros.robot.arms.arm import ArmError
from bayes_curiosity_ros.robot.arms.kortex_calls import ConnectionLostError, KortexCalls, load_api
from bayes_curiosity_ros.robot.arms.kortex_link import KortexLink, LinkConfig

# No beat for so long while the arm may move: the guard stops it. In [s].
SILENCE_S = 0.2
BEAT_S = 0.05
STOP_S = 0.15
# How long a guard whose node is dead tries to stop the arm, in [s].
DUTY_S = 60.0
START_S, END_S = 20.0, 3.0
OPEN_S, REOPEN_S = 2.0, 0.4
MOVES, RESTS, ENDS = b"m", b"r", b"q"
READY, STOPPED = b"ready\n", b"stopped\n"
# After so many stops in a row that were not accepted the guard opens a new connection.
PATIENCE = 3


class Guard:
    """The arm node's side: starts the process, beats, and knows whether it lives."""

    def __init__(self, config: LinkConfig) -> None:
        self._config = config
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._sent_s = 0.0
        self._moves = False
        self._trouble = ""

    def start(self) -> None:
        """Start the process unless it runs, and wait until it has a session.

        Raises:
            ArmError: it could not get one; the message says why.
        """
        self._trouble = ""
        if self._process is not None and self._process.poll() is None:
            return
        self.end()
        process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        self._process = process
        _write(process, json.dumps(asdict(self._config)).encode() + b"\n")
        said = _read(process, START_S)
        if said != READY:
            self.end()
            raise ArmError(f"the arm's guard did not start: {said.decode().strip() or 'no word'}")

    def beat(self, moves: bool | None = None) -> None:
        """Say that the node lives, and whether the arm may move where that has changed.

        Raises:
            ArmError: the guard has died, or has stopped the arm; until it is started again.
        """
        with self._lock:
            changed = moves is not None and moves != self._moves
            self._moves = self._moves if moves is None else moves
            due = changed or time.monotonic() - self._sent_s >= BEAT_S
            if self._process is not None and due:
                self._sent_s = time.monotonic()
                self._exchange(self._process)
            if self._trouble:
                raise ArmError(self._trouble)

    def end(self) -> None:
        """Send the guard away; it stops nothing any more."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):  # it may be dead already
            _write(process, ENDS)
        with process:  # closes the pipes and waits for its end
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()

    def _exchange(self, process: subprocess.Popen[bytes]) -> None:
        try:
            _write(process, MOVES if self._moves else RESTS)
        except OSError:
            self._trouble = (
                "the arm's guard has died: nothing would stop the arm if this process died, too"
            )
            return
        if _read(process, 0.0):
            self._trouble = (
                f"the guard stopped the arm: this process was held up for more than {SILENCE_S} s"
            )


def _write(process: subprocess.Popen[bytes], words: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(words)


def _read(process: subprocess.Popen[bytes], timeout_s: float) -> bytes:
    """What the guard said until now, at most a line or two; empty if it said nothing."""
    assert process.stdout is not None
    said = process.stdout.fileno()
    return os.read(said, 4096) if select.select([said], [], [], timeout_s)[0] else b""


class Watch:
    """The guard's own side: reads beats from a pipe and stops the arm when they cease."""

    def __init__(self, config: LinkConfig) -> None:
        self._config = config
        self._api = load_api()
        self._calls = KortexCalls(self._api, STOP_S)
        self._link: KortexLink | None = None
        self._failures = 0
        self._open(OPEN_S)

    def run(self, beats: int) -> None:
        """Until the node sends the guard away, or has died and the arm was stopped."""
        moves = False
        while True:
            readable, _, _ = select.select([beats], [], [], SILENCE_S)
            words = os.read(beats, 4096) if readable else b"-"
            if not words:
                self._stop_for_sure()
                return
            if ENDS in words:
                return
            if not readable and moves:
                self._stop()
                os.write(1, STOPPED)
            elif readable:
                moves = words[-1:] == MOVES

    def close(self) -> None:
        """End the guard's session."""
        if self._link is not None:
            self._link.close()
        self._link = None

    def _stop_for_sure(self) -> None:
        deadline_s = time.monotonic() + DUTY_S
        while not self._stop() and time.monotonic() < deadline_s:
            time.sleep(BEAT_S)

    def _stop(self) -> bool:
        """Whether the arm has accepted a stop."""
        try:
            if self._link is None:
                self._open(REOPEN_S)
            assert self._link is not None
            self._calls(self._link.base.Stop)
        except ArmError as error:
            self._failures += 1
            if isinstance(error, ConnectionLostError) or self._failures % PATIENCE == 0:
                self.close()
            return False
        self._failures = 0
        return True

    def _open(self, timeout_s: float) -> None:
        self._link = KortexLink(self._api, self._calls, self._config, timeout_s)


def main() -> None:
    """The guard's process: its settings are the first line that it is told, then come beats."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends with its node, and not before
    settings = b""
    while (letter := os.read(0, 1)) not in (b"", b"\n"):
        settings += letter
    try:
        watch = Watch(LinkConfig(**json.loads(settings)))
    except ArmError as error:
        print(error, flush=True)
        return
    os.write(1, READY)
    watch.run(0)
    watch.close()


if __name__ == "__main__":
    main()
