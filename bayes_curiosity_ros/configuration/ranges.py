"""The one notation for several whole numbers: "3", "0-9", "0,3-8"."""

from __future__ import annotations

from bayes_curiosity_ros.errors import ConfigError


def parse_ranges(text: str, what: str) -> list[int]:
    """The numbers that a text like "0,3-8" names, each once, in its order.

    Args:
        text: single numbers and ranges, separated by commas.
        what: the option to name in an error, such as "--seeds".

    Raises:
        ConfigError: not such a list, or an empty one.
    """
    numbers: list[int] = []
    try:
        for part in text.split(","):
            first, _, last = part.partition("-")
            numbers += range(int(first), int(last or first) + 1)
    except ValueError:
        raise ConfigError(f"{what} {text!r} is not like 3, 0-9 or 0,3-8") from None
    if not numbers:
        raise ConfigError(f"{what} {text!r} names no number")
    return list(dict.fromkeys(numbers))
