"""From `main` to a spinning node, and to a clean end on any signal."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from collections.abc import Callable

import rclpy
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from bayes_curiosity_ros.environment import (
    DIE_WITH_PARENT,
    SIGNALS,
    end_with_starter,
    have_a_log_folder,
)
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.failures import complain, steady_streams
from bayes_curiosity_ros.nodes.executor import one_thread
from bayes_curiosity_ros.nodes.loopback import bind_to_loopback, require_loopback

# What ROS raises for arguments that it does not take, and where it cannot log.
REFUSALS = (
    rclpy_implementation.RCLError,
    rclpy_implementation.UnknownROSArgsError,
)
# A signal is seen at the latest after this time in [s].
WAKE_S = 0.1
# Callbacks under way in other threads when a node ends are waited for so long in [s].
LAST_CALLBACKS_S = 10.0
# For timers that guard something: with use_sim_time, a node's own clock stands while nobody
# publishes /clock, and its timers with it.
STEADY_CLOCK = Clock(clock_type=ClockType.STEADY_TIME)


def run_node(make: Callable[[], Node], arguments: list[str] | None = None) -> int:
    """Spin until SIGINT or SIGTERM; 0 then, 2 where a parameter or file was wrong.

    Signals are handled here and not by ROS, which would take the graph away at once: `close`
    of a `Guarded` node still can publish and call, and a second signal while it does is harmless.
    Traffic stays on this machine unless ROS_AUTOMATIC_DISCOVERY_RANGE says otherwise.
    """
    steady_streams()
    ending = Ending()
    node: Node | None = None
    executor: Executor | None = None
    failure: Exception | None = None
    reason, code = "an error", 1
    try:
        join_graph(arguments)
        node = make()
        require_loopback()
        executor = node.make_executor() if isinstance(node, Guarded) else one_thread()
        executor.add_node(node)
        while rclpy.ok() and not ending.wanted:
            try:
                executor.spin_once(timeout_sec=WAKE_S)
            except rclpy_implementation.RCLError as error:
                # A lifecycle transition that there is none of now must not end the node.
                node.get_logger().error(f"not served: {error}")
            if isinstance(node, Guarded):
                node.go_on()
        reason, code = ending.wanted or "the graph was shut down", 0
    except (KeyboardInterrupt, ExternalShutdownException):
        reason, code = "the graph was shut down", 0
    except Exception as error:
        reason, failure = str(error), error
    finally:
        closed = _closed(node, reason)  # before anything that takes time is done
        if failure is not None:
            code = complain(failure, _program())
        if not closed:
            code = 1
        if executor is not None:
            executor.shutdown(LAST_CALLBACKS_S)  # while there is a context to let go of
        rclpy.try_shutdown()
        for number in SIGNALS:  # a late one must not meet an interpreter that is going down
            signal.signal(number, signal.SIG_IGN)
    return code


def join_graph(arguments: list[str] | None = None) -> None:
    """Let ROS take its arguments, in a process that handles signals by itself.

    Raises:
        ConfigError: it does not take them, or cannot start in this environment.
    """
    bind_to_loopback()
    have_a_log_folder()
    try:
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    except REFUSALS as error:
        words = " ".join(str(error).split())
        raise ConfigError(f"ROS does not start: {words.partition(', at /')[0]}") from error


class Guarded:
    """What a node with an orderly end adds to `Node`."""

    def make_executor(self) -> Executor:
        """What to spin it with."""
        return one_thread()

    def go_on(self) -> None:
        """Called between callbacks, from which no error ends a node.

        Raises:
            BayesCuriosityError: the node cannot go on; the process ends with code 2, or with 1 if
                it cannot close either.
        """

    def close(self, reason: str) -> None:
        """Bring everything to rest; the graph is still there.

        Raises:
            BayesCuriosityError: that was not possible; the process ends with code 1.
        """


def _closed(node: Node | None, reason: str) -> bool:
    """Whether a node could bring everything to rest."""
    try:
        if isinstance(node, Guarded):
            node.close(reason)
    except Exception as error:
        complain(error, _program())
        return False
    return True


def _program() -> str:
    return os.path.basename(sys.argv[0])


class Ending:
    """Remembers the first SIGINT or SIGTERM instead of dying of it.

    A launch system that is killed says goodbye to nobody. Where it asks for it, by the environment
    variable BAYES_CURIOSITY_DIE_WITH_PARENT, its end counts as SIGTERM to us.

    Attributes:
        wanted: the signal's name; empty while none came.
    """

    def __init__(self) -> None:
        self.wanted = ""
        # Python's last collections go through all of torch: five times the work of ending without
        # them, and `ros2 launch` waits for five seconds only.
        atexit.register(gc.freeze)
        for number in SIGNALS:
            signal.signal(number, self._note)
        end_with_starter()

    @property
    def code(self) -> int:
        """Exit code of work that the signal cut short; launch would take any but 0 for a death."""
        cut_short = self.wanted and DIE_WITH_PARENT not in os.environ
        return 128 + signal.Signals[self.wanted] if cut_short else 0

    def _note(self, number: int, frame: object) -> None:
        self.wanted = signal.Signals(number).name
