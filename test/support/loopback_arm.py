"""An arm of the Gen3 class behind TCP on loopback: it moves on its own, and fails on demand.

`support/vendor/kortex_api` is what talks to it, from this process or from another.
"""

from __future__ import annotations

import contextlib
import json
import queue
import socket
import socketserver
import sys
import threading
import time
from pathlib import Path

import numpy as np

VENDOR = Path(__file__).parent / "vendor"
PASSWORD = "right"
ACTION_END, ACTION_ABORT = 1, 2
TICK_S = 0.005


class LoopbackArm:
    """Six joints whose speeds persist until they are replaced or stopped; degrees.

    A session that is silent for its connection_inactivity_timeout has its movements stopped, as
    the vendor documents it; a session that ends has not.

    Attributes:
        silent: requests are lost: neither carried out nor answered.
        loses: names of calls whose requests alone are lost.
        delay_s: how late requests arrive, all of them in order.
        refuses: names of calls that are answered with an error.
        unreachable: no connection is accepted.
        frozen: feedback repeats the joints of when this was set.
        forgives_silence: the session's inactivity counts for nothing.
        track: (steady time, joint angles in degrees) of the arm itself.
    """

    def __init__(self, positions_deg):
        self.lock = threading.RLock()
        self.positions = [float(position) for position in positions_deg]
        self.speeds = [0.0] * 6
        self.torques = [0.0] * 6
        self.fault = 0
        self.emergency = self.silent = self.unreachable = False
        self.forgives_silence = False
        self.frozen = None
        self.delay_s = 0.0
        self.refuses, self.loses = set(), set()
        self.sessions = self.connections = self.stops = 0
        self.mode = None
        self.has_gripper = False
        self.gripper_percent = 0.0
        self.gripper_commands = []
        self.listeners = 0
        self.goal = self.goal_timer = None
        self.durations = []
        self.under_way = threading.Event()
        self.abort_code, self.never_ends = 0, False
        self.track = []
        self._clients, self._gone = set(), set()
        self._ended = threading.Event()
        self._last = time.monotonic()

    def __enter__(self):
        robot = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                robot.serve(Client(robot, self.request, self.wfile), self.rfile)

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = daemon_threads = True
            block_on_close = False

            def verify_request(self, request, client_address):
                return not robot.unreachable

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        for target in (self._server.serve_forever, self._move):
            threading.Thread(target=target, daemon=True).start()
        return self

    def __exit__(self, *error):
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()
        self.drop()
        if self.goal_timer is not None:
            self.goal_timer.cancel()

    def drop(self):
        """Cut every connection, as a switch that loses power."""
        for client in list(self._clients):
            with contextlib.suppress(OSError):
                client.socket.shutdown(socket.SHUT_RDWR)

    def serve(self, client, lines):
        with self.lock:
            self._clients.add(client)
            self.connections += 1
        inbox = queue.SimpleQueue()
        threading.Thread(target=self._work, args=(client, inbox), daemon=True).start()
        try:
            for line in lines:
                inbox.put((time.monotonic() + self.delay_s, line))
        except OSError:
            pass
        finally:
            inbox.put(None)
            with self.lock:
                self._clients.discard(client)
                self._gone.add(client)  # what it set in motion moves on
                self.connections -= 1
                self.sessions -= client.in_session
                client.in_session = False

    def _work(self, client, inbox):
        """What is on its way when a connection breaks still arrives."""
        while (arrival := inbox.get()) is not None:
            due_s, line = arrival
            time.sleep(max(due_s - time.monotonic(), 0.0))
            number, name, arguments = json.loads(line)
            if not self.silent and name not in self.loses:
                client.heard_s = time.monotonic()
                client.send(number, self._answer(client, name, arguments))

    def _answer(self, client, name, arguments):
        if name in self.refuses:
            return {"error": [3, 21]}
        if self.emergency and name in ("SendJointSpeedsCommand", "ExecuteAction"):
            return {"error": [3, 25]}
        with self.lock:
            return getattr(self, f"_do_{name}")(client, arguments)

    def _do_CreateSession(self, client, info):  # noqa: N802
        if info["password"] != PASSWORD:
            return {"error": [3, 15]}
        client.in_session, self.sessions = True, self.sessions + 1
        client.patience_s = info["connection_inactivity_timeout"] / 1000
        return None

    def _do_CloseSession(self, client, arguments):  # noqa: N802
        self.sessions -= client.in_session
        client.in_session = False

    def _do_KeepAlive(self, client, arguments):  # noqa: N802
        return None

    def _do_SetServoingMode(self, client, mode):  # noqa: N802
        self.mode = mode

    def _do_SendJointSpeedsCommand(self, client, speeds):  # noqa: N802
        self.advance()
        self.speeds, client.moves = speeds, any(speeds)

    def _do_OnNotificationActionTopic(self, client, arguments):  # noqa: N802
        client.listens, self.listeners = True, self.listeners + 1

    def _do_Unsubscribe(self, client, arguments):  # noqa: N802
        self.listeners -= 1

    def _do_ExecuteAction(self, client, arguments):  # noqa: N802
        self.advance()
        self._reach(*arguments)

    def _do_SendGripperCommand(self, client, value):  # noqa: N802
        self.gripper_commands.append(value)

    def _do_Stop(self, client, arguments):  # noqa: N802
        self.stop()
        self.stops += 1

    def _do_ClearFaults(self, client, arguments):  # noqa: N802
        self.fault = 0

    def _do_RefreshFeedback(self, client, arguments):  # noqa: N802
        self.advance()
        positions = self.positions if self.frozen is None else self.frozen
        actuators = list(zip(positions, self.speeds, self.torques, strict=True))
        motors = [self.gripper_percent] if self.has_gripper else []
        return {"actuators": actuators, "gripper": motors, "fault": self.fault}

    def freeze(self):
        """From now on feedback tells of where the joints are now."""
        self.frozen = list(self.positions)

    def stop(self):
        """Stand still; aborts a motion under way."""
        self.advance()
        self.speeds = [0.0] * 6
        if self.goal is not None:
            if self.goal_timer is not None:
                self.goal_timer.cancel()
            self.goal = None
            self._later(0.0, self._notify, ACTION_ABORT, 0)

    def advance(self):
        now = time.monotonic()
        elapsed, self._last = now - self._last, now
        self.positions = [
            (position + speed * elapsed) % 360.0
            for position, speed in zip(self.positions, self.speeds, strict=True)
        ]

    def _move(self):
        while not self._ended.wait(TICK_S):
            with self.lock:
                self._lose_patience()
                self.advance()
                self.track.append((time.monotonic(), list(self.positions)))

    def _lose_patience(self):
        now_s = time.monotonic()
        for client in self._clients | self._gone:
            if client.moves and now_s - client.heard_s > client.patience_s:
                client.moves = False
                if not self.forgives_silence:
                    self.stop()

    def _reach(self, angles, duration_s):
        """Go there in a straight line, then say so; or abort, or never say anything."""
        ways = [
            (a - b + 180.0) % 360.0 - 180.0 for a, b in zip(angles, self.positions, strict=True)
        ]
        self.durations.append(duration_s)
        if self.abort_code:
            self._later(0.01, self._notify, ACTION_ABORT, self.abort_code)
            return
        self.goal, self.speeds = list(angles), [way / duration_s for way in ways]
        self.under_way.set()
        if not self.never_ends:
            self._later(duration_s, self._arrive)

    def _later(self, delay_s, call, *arguments):
        self.goal_timer = threading.Timer(delay_s, call, arguments)
        self.goal_timer.daemon = True
        self.goal_timer.start()

    def _arrive(self):
        with self.lock:
            if self.goal is None:
                return
            self.advance()
            self.positions, self.speeds, self.goal = self.goal, [0.0] * 6, None
        self._notify(ACTION_END, 0)

    def _notify(self, event, details):
        for client in list(self._clients):
            if client.listens:
                client.send(0, [event, details])


class Client:
    """One connection to the arm."""

    def __init__(self, robot, connection, answers):
        self.socket = connection
        self.in_session = self.listens = self.moves = False
        self.patience_s = np.inf
        self.heard_s = time.monotonic()
        self._answers = answers
        self._lock = threading.Lock()

    def send(self, number, answer):
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._answers.write(json.dumps([number, answer]).encode() + b"\n")
            self._answers.flush()


def forget_vendor() -> None:
    """Let the next import look for the package anew."""
    for name in [name for name in sys.modules if name.split(".")[0] == "kortex_api"]:
        del sys.modules[name]
