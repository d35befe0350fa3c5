"""Numbers that mostly follow each other, kept as stretches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayes_curiosity_ros.spans import Spans

LARGEST = 2**64 - 1
NUMBERS = st.one_of(st.integers(0, 30), st.integers(LARGEST - 30, LARGEST))


def test_spans_join():
    spans = Spans((5, 3, 9, 4, 3, 8, 1))
    assert list(spans) == [(1, 1), (3, 5), (8, 9)]
    assert [number for number in range(11) if number in spans] == [1, 3, 4, 5, 8, 9]


@given(st.lists(NUMBERS))
def test_they_are_the_set_of_the_numbers(numbers):
    spans = Spans(numbers)
    assert len(spans) == len(set(numbers))
    np.testing.assert_array_equal(spans.array(), np.array(sorted(set(numbers)), np.uint64))
    assert Spans.of(spans.array()) == spans


def test_numbers_in_a_row_take_no_room():
    assert len(list(Spans(range(10_000)))) == 1


@pytest.mark.parametrize("numbers", [[2, 1], [1, 1], [[1]], [-1, 2], [0.5]])
def test_other_arrays_are_refused(numbers):
    with pytest.raises(ValueError, match="rising order"):
        Spans.of(np.array(numbers) if np.min(numbers) < 1 else np.array(numbers, np.uint64))
