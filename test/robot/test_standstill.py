"""Standstill is measured over a window, and old, repeated or late joint states are no news."""

import numpy as np
import pytest

from bayes_curiosity_ros.robot.arms.driver_states import Lateness
from bayes_curiosity_ros.robot.arms.standstill import Sample, Standstill

LIMIT_S = 0.3


def fed(*samples) -> Standstill:
    still = Standstill(window_s=0.2, tolerance_rad=0.002)
    for time_s, angle in samples:
        still.add(sample(time_s, time_s, angle))
    return still


def sample(earliest_s, latest_s, angle=1.0) -> Sample:
    return Sample(earliest_s, latest_s, np.array([0.0, angle]))


def test_one_state_says_nothing():
    assert not fed().measured
    assert not fed((0.0, 1.0)).measured


def test_it_takes_a_whole_window():
    assert not fed((0.0, 1.0), (0.19, 1.0)).measured
    assert fed((0.0, 1.0), (0.1, 1.0), (0.2, 1.0)).measured


@pytest.mark.parametrize("late", [sample(0.01, 0.3), sample(0.0, 0.3)])
def test_an_answer_that_was_long_on_its_way_is_not_of_when_it_came(late):
    """An arm that moves is in nearly the same place when it is asked twice within a moment."""
    still = fed((0.0, 1.0))
    still.add(late)
    assert not still.measured
    still.add(sample(0.31, 0.31))
    assert still.measured


@pytest.mark.parametrize("speed_rad_s", [0.02, 0.1, -0.115])
def test_a_slow_motion_is_one(speed_rad_s):
    times = np.arange(0.0, 1.0, 0.02)
    assert not fed(*((time_s, speed_rad_s * time_s) for time_s in times)).measured


def test_noise_and_full_turns_are_none():
    assert fed((0.0, np.pi - 1e-4), (0.1, -np.pi + 1e-4), (0.2, np.pi - 1e-4)).measured


def test_the_same_state_counts_once():
    assert not fed(*[(0.0, 1.0)] * 20).measured


def test_what_was_long_ago_does_not_count():
    assert not fed((0.0, 1.0), (10.0, 1.0)).measured
    still = fed((0.0, 1.0), (0.2, 1.0))
    still.forget()
    assert not still.measured


def test_it_was_moving_and_stands_now():
    moving = [(0.02 * step, 0.01 * step) for step in range(10)]
    assert not fed(*moving, (0.3, 0.1), (0.4, 0.1)).measured
    assert fed(*moving, (0.3, 0.1), (0.4, 0.1), (0.5, 0.1)).measured


def doubts(stamps, now=lambda index: 100.0 + 0.1 * index):
    lateness = Lateness()
    return [
        lateness.doubt(stamp, now(index), 0.1 * index, LIMIT_S)
        for index, stamp in enumerate(stamps)
    ]


def test_states_that_say_nothing_of_their_time_are_news():
    assert doubts([0.0] * 5) == [""] * 5


def test_a_repeated_state_is_no_news():
    first, *others = doubts([50.0] * 5)
    assert first == ""
    assert all("do not advance" in doubt for doubt in others)
    assert doubts([50.0, 50.1, 50.05, 50.2])[1:] == [
        "",
        "their stamps do not advance: somebody repeats an old one",
        "",
    ]


def test_clocks_need_not_agree():
    assert not any(doubts([3.0 + 0.1 * index for index in range(50)]))
    drifting = [3.0 + 0.10005 * index for index in range(5000)]
    assert not any(doubts(drifting))
    slower = [3.0 + 0.09995 * index for index in range(50_000)]  # 2.5 s in an hour and more
    assert not any(doubts(slower))


def test_states_that_come_late_are_no_news():
    stamps = [3.0 + 0.1 * index for index in range(30)]
    answers = doubts(stamps, now=lambda index: 100.0 + 0.1 * index + (index >= 10))
    assert not any(answers[:10])
    assert all("1.00 s late, more than 0.3 s" in doubt for doubt in answers[10:12])


def test_a_clock_that_was_set_back_begins_anew():
    assert not any(doubts([50.0, 50.1, 0.1, 0.2, 0.3]))
