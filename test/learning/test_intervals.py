"""Shares with intervals, and what they say of a run."""

import pytest

from bayes_curiosity_ros.learning.episode_log import EpisodeRow
from bayes_curiosity_ros.learning.intervals import Share, by_step, ends, judged


def run_of(*outcomes: tuple[int, bool]) -> list[EpisodeRow]:
    """Episodes of so many steps, successful or not."""
    rows, steps = [], 0
    for number, (length, success) in enumerate(outcomes, start=1):
        steps += length
        outcome = "success" if success else "time_limit"
        rows.append(EpisodeRow(number, steps, length, outcome, 0.0, 0.0, 0.0))
    return rows


FAILURE, SLOW, FAST = (50, False), (40, True), (10, True)


@pytest.mark.parametrize(
    ("episodes", "verdict"),
    [
        ([FAILURE] * 60 + [FAST] * 60, "learnt"),
        ([SLOW] * 60 + [FAST] * 60, "learnt"),  # all succeed, sooner
        ([FAST] * 60 + [FAILURE] * 60, "worse than at first"),
        ([FAILURE] * 60 + [FAILURE] * 59 + [FAST], "not told apart"),  # luck
        ([FAILURE] * 5 + [FAST], "not told apart"),
        ([FAST], "not told apart"),
    ],
)
def test_a_run_has_learnt_where_intervals_of_its_ends_do_not_meet(episodes, verdict):
    assert judged(run_of(*episodes)).startswith(verdict)


def test_ten_lucky_episodes_are_not_learning():
    """The windows of ten that were compared before: 0.013 against 0.017 was "learnt"."""
    start = [FAILURE, SLOW] * 30
    assert judged(run_of(*start, *([FAILURE, SLOW, SLOW] * 10))) == "not told apart"


@pytest.mark.parametrize(("count", "window"), [(2000, 200), (300, 50), (61, 30), (1, 0)])
def test_the_ends_of_a_run_are_a_tenth_but_neither_few_nor_meeting(count, window):
    first, last = ends(run_of(*[FAST] * count))
    assert len(first) == len(last) == window
    assert not window or (first[0].episode, last[-1].episode) == (1, count)


def test_success_per_step_is_of_steps():
    assert by_step(run_of(FAILURE, FAST)) == Share(1, 60)
