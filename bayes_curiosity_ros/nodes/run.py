"""From `main` to a spinning node, and to a clean end on any signal."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from collections.abc import Callable

import rclpy
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from bayes_curiosity_ros.environment import end_with_starter, stay_on_this_machine
from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.nodes.executor import one_thread

# A signal is seen at the latest after this time in [s].
WAKE_S = 0.1
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_node(make: Callable[[], Node], arguments: list[str] | None = None) -> int:
    """Spin until SIGINT or SIGTERM; 0 then, 2 where a parameter or file was wrong.

    Signals are handled here and not by ROS, which would take the graph away at once: `close`
    of a `Guarded` node still can publish and call, and a second signal while it does is harmless.
    Traffic stays on this machine unless ROS_AUTOMATIC_DISCOVERY_RANGE says otherwise.
    """
    stay_on_this_machine()
    rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    ending = Ending()
    node: Node | None = None
    executor: Executor | None = None
    reason, code = "an error", 1
    try:
        node = make()
        executor = node.make_executor() if isinstance(node, Guarded) else one_thread()
        executor.add_node(node)
        # A timer of the node's wakes the executor for less than a timeout of every wait would.
        node.create_timer(WAKE_S, lambda: None)
        while not ending.wanted:
            executor.spin_once()
        reason, code = ending.wanted, 0
    except (KeyboardInterrupt, ExternalShutdownException):
        reason, code = "the graph was shut down", 0
    except BayesCuriosityError as error:
        reason, code = str(error), 2
        print(f"{os.path.basename(sys.argv[0])}: {error}", file=sys.stderr)
    finally:
        if isinstance(node, Guarded):
            node.close(reason)
        if executor is not None:
            executor.shutdown()  # while there is a context to let go of
        rclpy.try_shutdown()
        for number in SIGNALS:  # a late one must not meet an interpreter that is going down
            signal.signal(number, signal.SIG_IGN)
    return code


class Guarded:
    """What a node with an orderly end adds to `Node`."""

    def make_executor(self) -> Executor:
        """What to spin it with."""
        return one_thread()

    def close(self, reason: str) -> None:
        """Bring everything to rest; the graph is still there."""


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

    def _note(self, number: int, frame: object) -> None:
        self.wanted = signal.Signals(number).name
