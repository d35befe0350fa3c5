"""An arm for supervisors that remembers what it was told, and a clock that only waits move."""

import numpy as np

from bayes_curiosity_ros.robot.arms.arm import ArmError, ArmState, ArmStoppedError, Executed
from bayes_curiosity_ros.robot.safety import Change


class RecordingArm:
    """Remembers what it was told; fails when asked to."""

    joint_names = ("joint_1", "joint_2")
    state_topic = ""

    def __init__(self):
        self.calls = []
        self.failure = None
        self.stopped = ""
        self.fault = ""
        self.moves = False
        self.stop_trouble = ""
        self.unseen = ""

    def connect(self, timeout_s):
        self.calls.append("connect")

    def disconnect(self):
        self.calls.append("disconnect")

    def state(self, timeout_s):
        if self.fault:
            raise ArmError(self.fault)
        zeros = np.zeros(2)
        return ArmState(0.0, zeros, zeros, np.zeros(0), 0.0, frozenset())

    def move(self, deltas, gripper, timeout_s):
        if self.stopped:
            raise ArmStoppedError(self.stopped)
        if self.failure:
            raise self.failure if isinstance(self.failure, Exception) else ArmError(self.failure)
        self.calls.append("move")
        return Executed(deltas, Change.NONE, "", self.state(timeout_s))

    def rehearse(self, deltas, gripper, timeout_s):
        self.calls.append("rehearse")
        words = "joint_2 within 0.015 m of the table"
        return Executed(0.0 * deltas, Change.COLLISION, words, self.state(timeout_s))

    def home(self, timeout_s):
        self.calls.append("home")
        return self.state(timeout_s)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def stop(self, reason):
        self.stopped = reason
        self.calls.append("stop")
        if self.stop_trouble:
            raise ArmError(self.stop_trouble)

    def keep_alive(self):
        pass

    def is_still(self):
        if self.unseen:
            raise ArmError(self.unseen)
        return not self.moves

    def release(self):
        self.stopped = ""
        self.calls.append("release")

    def clear_faults(self):
        self.calls.append("clear_faults")


class Clock:
    now = 0.0

    def __call__(self):
        return self.now

    def pause(self, duration_s):
        self.now += duration_s


def act(supervisor, episode=1, step=0, deltas=(0.1, 0.1), gripper=0.0):
    return supervisor.act(episode, step, np.array(deltas), gripper)
