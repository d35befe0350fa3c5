"""Whole numbers that users type: one within bounds, or several as "3", "0-9", "0,3-8"."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from bayes_curiosity_ros.errors import ConfigError

MOST = 1_000_000
MOST_SEED = 2**63 - 1  # what a parameter of ROS takes
MOST_STEPS = 10**12  # a century at 300 steps a second
WHOLE = re.compile(r"[0-9]{1,20}")
PART = re.compile(r"\s*([0-9]{1,20})\s*(?:-\s*([0-9]{1,20})\s*)?")


def parse_whole(text: str, what: str, least: int = 0, most: int = MOST) -> int:
    """A whole number as it is typed: digits, no sign.

    Args:
        text: what was typed.
        what: the option to name in an error, such as "--seed".
        least, most: bounds.

    Raises:
        ConfigError: not a number, or out of its bounds.
    """
    if WHOLE.fullmatch(text) is None or not least <= int(text) <= most:
        shown = text if len(text) <= 40 else f"{text[:40]}…"
        raise ConfigError(f"{what} = {shown!r} must be a whole number from {least} to {most}")
    return int(text)


def whole(what: str, least: int = 0, most: int = MOST) -> Callable[[str], int]:
    """The `type` of an option that takes a whole number."""
    return partial(parse_whole, what=what, least=least, most=most)


SEED = whole("--seed", 0, MOST_SEED)
STEPS = whole("--timesteps", 1, MOST_STEPS)


def parse_ranges(text: str, what: str) -> list[int]:
    """The numbers that a text like "0,3-8" names, each once, in its order.

    Args:
        text: single numbers and ranges, separated by commas.
        what: the option to name in an error, such as "--seeds".

    Raises:
        ConfigError: not such a list, or an empty one.
    """
    numbers: list[int] = []
    for part in text.split(","):
        match = PART.fullmatch(part)
        if match is None:
            raise ConfigError(f"{what} {text!r} is not like 3, 0-9 or 0,3-8")
        first = parse_whole(match[1], what, most=MOST_SEED)
        span = range(first, parse_whole(match[2] or match[1], what, most=MOST_SEED) + 1)
        if len(span) > MOST:
            raise ConfigError(f"{what} {part!r} names {len(span)} numbers; at most {MOST}")
        numbers += span
    if not numbers:
        raise ConfigError(f"{what} {text!r} names no number")
    return list(dict.fromkeys(numbers))
