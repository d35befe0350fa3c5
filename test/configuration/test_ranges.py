"""One notation for several whole numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayes_curiosity_ros.configuration.ranges import parse_ranges
from bayes_curiosity_ros.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("3", [3]), ("0-3", [0, 1, 2, 3]), ("0,3-5", [0, 3, 4, 5]), ("2, 1, 2", [2, 1])],
)
def test_numbers_and_ranges(text, numbers):
    assert parse_ranges(text, "--seeds") == numbers


@given(st.lists(st.integers(0, 50), min_size=1))
def test_a_list_is_itself(numbers):
    assert parse_ranges(",".join(map(str, numbers)), "--seeds") == list(dict.fromkeys(numbers))


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "1--2", "1,,2", "0x3"])
def test_anything_else_is_refused(text):
    with pytest.raises(ConfigError, match=r"--seeds '.*' is not like 3, 0-9 or 0,3-8"):
        parse_ranges(text, "--seeds")


def test_an_empty_range_names_no_number():
    with pytest.raises(ConfigError, match="names no number"):
        parse_ranges("5-3", "--seeds")


def test_a_range_of_millions_is_a_mistake():
    with pytest.raises(ConfigError, match="names 10000000000 numbers; at most 1000000"):
        parse_ranges("3,0-9999999999", "--seeds")
