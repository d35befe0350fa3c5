"""A process beside the arm node that ends a stream of velocities when the node can not.

A forward velocity controller executes the last velocities for ever, over the death of whoever sent
them. The guard hears the same topic; where a stream falls silent with the joints in motion, it
sends the zeros that are missing.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
import time

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from bayes_curiosity_ros.robot.arms.arm import ArmError

# Velocities that are not renewed for so long are ended, in [s]; they come every hundredth.
SILENCE_S = 0.1
LOOK_S = 0.01
# How long a guard stays whose node has gone, in [s].
DUTY_S = 2.0
START_S, END_S = 20.0, 5.0
READY = b"ready\n"


class StreamGuard:
    """The arm node's side: starts the process, and sends it away when the arm is let go of.

    Args:
        topic: the controller's topic, its whole name.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process unless it runs, and wait until it hears.

        Raises:
            ArmError: it did not start.
        """
        if self._process is not None and self._process.poll() is None:
            return
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, self._topic],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdout is not None
        readable = select.select([self._process.stdout], [], [], START_S)[0]
        if not readable or os.read(self._process.stdout.fileno(), len(READY)) != READY:
            self.end()
            raise ArmError(f"the guard of {self._topic} did not start")

    def end(self) -> None:
        """Send the guard away; what it hears as motion it still ends."""
        process, self._process = self._process, None
        if process is None:
            return
        with process:  # closes the pipes, which tells it to go, and waits
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()


class Watch:
    """The guard's own side: what was last heard, and when."""

    def __init__(self, node: Node, topic: str) -> None:
        self._lock = threading.Lock()
        self._heard: tuple[float, list[float]] = (0.0, [])
        self._publisher = node.create_publisher(Float64MultiArray, topic, 10)
        node.create_subscription(Float64MultiArray, topic, self._hear, 10)

    def look(self) -> None:
        """Send zeros where a stream fell silent in motion."""
        with self._lock:
            heard_s, values = self._heard
        if any(values) and time.monotonic() - heard_s > SILENCE_S:
            self._publisher.publish(Float64MultiArray(data=[0.0] * len(values)))

    def _hear(self, message: Float64MultiArray) -> None:
        """Our own zeros too: then the stream has ended."""
        with self._lock:
            self._heard = time.monotonic(), list(message.data)


def main(topic: str) -> None:
    """Watch until the node that started us is gone, and a little longer."""
    rclpy.init()
    node = rclpy.create_node("stream_guard")
    watch = Watch(node, topic)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    sys.stdout.buffer.write(READY)
    sys.stdout.buffer.flush()
    deadline_s = float("inf")
    try:
        while time.monotonic() < deadline_s:
            executor.spin_once(timeout_sec=LOOK_S)
            watch.look()
            if deadline_s == float("inf") and _gone():
                deadline_s = time.monotonic() + DUTY_S
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        rclpy.try_shutdown()


def _gone() -> bool:
    """Whether the other end of our standard input was closed: nothing is ever written to it."""
    return bool(select.select([sys.stdin], [], [], 0.0)[0])


if __name__ == "__main__":
    main(sys.argv[1])
