"""The one notation for several whole numbers: "3", "0-9", "0,3-8"."""

from __future__ import annotations

import re

from bayes_curiosity_ros.errors import ConfigError

MOST = 1_000_000
PART = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")


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
        span = range(int(match[1]), int(match[2] or match[1]) + 1)
        if len(span) > MOST:
            raise ConfigError(f"{what} {part!r} names {len(span)} numbers; at most {MOST}")
        numbers += span
    if not numbers:
        raise ConfigError(f"{what} {text!r} names no number")
    return list(dict.fromkeys(numbers))
