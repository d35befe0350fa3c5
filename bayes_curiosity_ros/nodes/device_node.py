"""What the arm node and the camera node share: a lifecycle around one device, and diagnostics."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.callback_groups import CallbackGroup
from rclpy.executors import Executor, MultiThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn

from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.nodes.door import CheckedInputs
from bayes_curiosity_ros.nodes.executor import one_thread
from bayes_curiosity_ros.nodes.run import STEADY_CLOCK, Guarded

DIAGNOSTICS_S = 1.0


class PatientExecutor(MultiThreadedExecutor):
    """Ends when callbacks under way have; rclpy's own says so, but takes ROS away from them."""

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._work_tracker.wait(timeout_sec)
        return super().shutdown(timeout_sec)


class DeviceNode(Guarded, CheckedInputs, LifecycleNode):
    """Connects its device when it is activated, and lets go of it however it ends.

    Args:
        name: name of the node.

    Attributes:
        threads: threads that serve callbacks; a real driver's come while another one waits.
    """

    threads = 1

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)

    @abstractmethod
    def connect(self) -> None:
        """Make the device ready; raise BayesCuriosityError with what to check."""

    @abstractmethod
    def let_go(self, reason: str) -> None:
        """Bring the device to rest and disconnect it; harmless when it is not connected.

        Raises:
            BayesCuriosityError: it is not at rest, and still connected.
        """

    def create_guard(
        self, period_s: float, call: Callable[[], None], group: CallbackGroup | None = None
    ) -> None:
        """A timer that goes on whatever becomes of /clock."""
        self.create_timer(period_s, call, callback_group=group, clock=STEADY_CLOCK)

    def make_executor(self) -> Executor:
        if self.threads == 1:
            return one_thread()
        return PatientExecutor(num_threads=self.threads)

    def close(self, reason: str) -> None:
        self.let_go(reason)

    def start(self) -> None:
        """Configure and activate, as nobody is there to ask for it."""
        self.trigger_configure()
        if self.trigger_activate() != TransitionCallbackReturn.SUCCESS:
            self.get_logger().error("not active; repair, then activate this node")

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        try:
            self.connect()
        except BayesCuriosityError as error:
            self.get_logger().error(f"cannot activate: {error}")
            return TransitionCallbackReturn.FAILURE
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        if not self._lets_go("deactivated"):
            return TransitionCallbackReturn.FAILURE
        return super().on_deactivate(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        if not self._lets_go("shut down"):
            return TransitionCallbackReturn.FAILURE
        return super().on_shutdown(state)

    def _lets_go(self, reason: str) -> bool:
        try:
            self.let_go(reason)
        except BayesCuriosityError as error:
            self.get_logger().error(f"cannot let go: {error}")
            return False
        return True

    def publish_diagnostics(
        self,
        level: bytes,
        device: str,
        message: str,
        values: Mapping[str, object],
        hardware: str = "",
    ) -> None:
        """Say on /diagnostics how the device is."""
        status = DiagnosticStatus(
            level=level,
            name=f"{self.get_fully_qualified_name()}: {device}",
            message=message,
            hardware_id=hardware,
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)
