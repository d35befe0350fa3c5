"""A process beside the arm node that stops a Kortex arm when the node can not.

Joint speeds of the Kortex API persist over the death of whoever sent them. The guard has a session
of its own. The node beats on a pipe; where the pipe breaks or the beats cease while the arm may
move, the guard stops the arm, again and again until the arm has answered.
"""

from __future__ import annotations

import json
import os
import select
import threading
import time
from dataclasses import asdict

from bayes_curiosity_ros.robot.arms.arm import ArmError
from bayes_curiosity_ros.robot.arms.guard_process import (
    GUARD_DIED,
    READY,
    GuardProcess,
    outlive,
    say,
)
from bayes_curiosity_ros.robot.arms.kortex_calls import ConnectionLostError, KortexCalls, load_api
from bayes_curiosity_ros.robot.arms.kortex_link import KortexLink, LinkConfig

# No beat for so long while the arm may move: the guard stops it. In [s].
SILENCE_S = 0.2
BEAT_S = 0.05
STOP_S = 0.15
# How long a guard whose node is dead tries to stop the arm, in [s].
DUTY_S = 60.0
OPEN_S, REOPEN_S = 2.0, 0.4
MOVES, RESTS, ENDS = b"m", b"r", b"q"
STOPPED = b"stopped\n"
# After so many stops in a row that were not accepted the guard opens a new connection.
PATIENCE = 3


class Guard:
    """The arm node's side: starts the process, beats, and knows whether it lives."""

    def __init__(self, config: LinkConfig) -> None:
        self._settings = json.dumps(asdict(config)).encode() + b"\n"
        self._process = GuardProcess(__name__)
        self._lock = threading.Lock()
        self._sent_s = 0.0
        self._moves = self._started = False
        self._trouble = ""

    def start(self) -> None:
        """Start the process unless it lives, and wait until it has a session.

        Raises:
            ArmError: it could not get one; the message says why.
        """
        self._trouble = ""
        self._process.start(self._settings)
        self._started = True

    def beat(self, moves: bool | None = None) -> None:
        """Say that the node lives, and whether the arm may move where that has changed.

        Raises:
            ArmError: the guard has died, or has stopped the arm; until it is started again.
        """
        with self._lock:
            changed = moves is not None and moves != self._moves
            self._moves = self._moves if moves is None else moves
            due = changed or time.monotonic() - self._sent_s >= BEAT_S
            if self._started and due:
                self._sent_s = time.monotonic()
                self._exchange()
            if self._trouble:
                raise ArmError(self._trouble)

    def end(self) -> None:
        """Send the guard away; it goes at once where the arm rests, else once it was stopped."""
        with self._lock:
            self._started = False
            if not self._moves:
                self._process.tell(ENDS)
        self._process.end()

    def _exchange(self) -> None:
        self._process.tell(MOVES if self._moves else RESTS)
        if not self._process.lives:
            self._trouble = GUARD_DIED
        elif self._process.heard(0.0):
            self._trouble = (
                f"the guard stopped the arm: this process was held up for more than {SILENCE_S} s"
            )


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
                say(STOPPED)
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
    outlive()
    settings = b""
    while (letter := os.read(0, 1)) not in (b"", b"\n"):
        settings += letter
    try:
        watch = Watch(LinkConfig(**json.loads(settings)))
    except ArmError as error:
        say(str(error).encode())
        return
    say(READY)
    watch.run(0)
    watch.close()


if __name__ == "__main__":
    main()
