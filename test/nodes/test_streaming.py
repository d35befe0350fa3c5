"""Streams of positions whose process is held up: no step comes all at once, none comes late."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from bayes_curiosity_ros.robot.arms.commands import Step
from bayes_curiosity_ros.robot.arms.streaming import HELD_UP_S, ForwardPosition
from bayes_curiosity_ros.robot.arms.trajectory_config import TrajectoryConfig
from support.waiting import wait_for

HZ = 100.0
WAY = Step(np.zeros(1), np.ones(1), np.ones(1), duration_s=1.0)


@pytest.fixture
def told():
    """Angles that the controller was told, the last one last."""
    return []


@pytest.fixture
def stream(told):
    publisher = SimpleNamespace(publish=lambda message: told.append(message.data[0]))
    node = SimpleNamespace(create_publisher=lambda *_: publisher)
    config = TrajectoryConfig("command", "state", "forward_position", stream_hz=HZ)
    return ForwardPosition(node, config, ("joint_1",))


def held_up(stream, duration_s):
    """What SIGSTOP, or a machine that is too busy, does to the thread of a stream."""
    with stream._lock:
        time.sleep(duration_s)


def test_a_step_that_was_held_up_goes_on_from_where_it_was(stream, told):
    stream.step(WAY)
    for _ in range(3):
        held_up(stream, HELD_UP_S / 2)
        known = len(told)
        wait_for(lambda known=known: len(told) > known or stream._step is None, "a setpoint")
    assert np.diff(told, prepend=0.0).max() <= 2.0 / HZ + 1e-9


def test_after_long_it_is_not_gone_on_with(stream, told):
    stream.step(WAY)
    held_up(stream, 2 * HELD_UP_S)
    known = list(told)
    wait_for(lambda: stream._step is None, "end of the step")
    assert told == known
    stream.step(WAY)
    wait_for(lambda: len(told) > len(known) + 1, "setpoints of the next step")
