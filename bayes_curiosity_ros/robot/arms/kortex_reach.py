"""One joint goal at a time, driven by the Kortex arm's own trajectory, ended by notification."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

import numpy as np

from bayes_curiosity_ros.robot.arms.arm import ArmError
from bayes_curiosity_ros.robot.arms.kortex_calls import KortexCalls, in_words

LOOK_S = 0.02


class ReachAction:
    """A motion under way.

    Args:
        calls: how to call the arm.
        client: its BaseClient.
        joints: (J,) goal in [rad].
        duration_s: duration of the motion; without it the arm would go as fast as it can.
    """

    def __init__(
        self, calls: KortexCalls, client: Any, joints: np.ndarray, duration_s: float
    ) -> None:
        self._calls = calls
        self._client = client
        self._duration_s = duration_s
        self._ended = threading.Event()
        self._aborted: int | None = None
        # Before the motion: the end of a short one could come before we listen.
        self._handle = calls.subscribe(client.OnNotificationActionTopic, self._note)
        try:
            calls(client.ExecuteAction, self._message(joints))
        except ArmError:
            self._unsubscribe()
            raise

    def wait(self, interrupt: threading.Event, beyond_s: float) -> None:
        """Until the arm is there, or `interrupt` is set.

        Args:
            beyond_s: how much longer than asked for it may take.

        Raises:
            ArmError: aborted, or no end in time; the arm may still move.
        """
        deadline = time.monotonic() + self._duration_s + beyond_s
        try:
            while not self._ended.wait(LOOK_S) and not interrupt.is_set():
                if time.monotonic() > deadline:
                    raise ArmError(
                        f"the arm reported no end of a motion of {self._duration_s:.1f} s, "
                        f"{beyond_s} s after it was due"
                    )
        finally:
            self._unsubscribe()
        if self._aborted is not None and not interrupt.is_set():
            raise ArmError(f"the arm aborted its motion: {in_words(self._aborted)}")

    def _message(self, joints: np.ndarray) -> Any:
        messages = self._calls.api.base_messages
        action = messages.Action()
        action.name = "bayes_curiosity"
        reach = action.reach_joint_angles
        for index, angle in enumerate(np.degrees(joints) % 360.0):
            joint = reach.joint_angles.joint_angles.add()
            joint.joint_identifier, joint.value = index, float(angle)
        reach.constraint.type = messages.JOINT_CONSTRAINT_DURATION
        reach.constraint.value = self._duration_s
        return action

    def _note(self, notification: Any) -> None:
        """Note how the motion ended; called on the API's receive thread, which must not wait."""
        messages, event = self._calls.api.base_messages, notification.action_event
        if event in (messages.ACTION_ABORT, messages.ACTION_PREPROCESS_ABORT):
            self._aborted = int(notification.abort_details)
            self._ended.set()
        elif event == messages.ACTION_END:
            self._ended.set()

    def _unsubscribe(self) -> None:
        with contextlib.suppress(ArmError):
            self._calls(self._client.Unsubscribe, self._handle)
