"""Hostile messages: values that nobody expects, and bytes that are no message."""

from __future__ import annotations

import array
import random
import struct
from collections.abc import Callable
from importlib import import_module
from typing import Any

from rclpy.serialization import serialize_message

NUMBERS = (float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 1e7, -1e7, 5e-324, -1.0)
SINGLES = (float("nan"), float("inf"), -float("inf"), 3e38, -3e38, -1.0)
LENGTHS = (0, 1, 2, 5, 7, 8, 10, 100, 4097)
HUGE_TEXT = "x" * 1_000_000
TEXTS = (
    "",
    "x" * 300,
    "../../../hostile",
    "/etc/passwd",
    "/dev/zero",
    "~",
    "%s%n{0}{}",
    "a\nb\r\x1b[2J",
    "\u202e\u0000é😈",
    "nan",
)
BITS = {"boolean": 1, "octet": 8, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}
SIGNED = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
CODES = {"double": "d", "float": "f", "uint8": "B", "octet": "B", "int32": "i", "uint32": "I"}


def spoil(message: Any, rng: random.Random, most: int = 3) -> Any:
    """Put hostile values into some fields of a message, and return it."""
    places = list(_places(message))
    for owner, name, form in rng.sample(places, min(rng.randint(1, most), len(places))):
        value = _hostile(form, rng)
        if value is not None:
            setattr(owner, name, value)
    return message


def spoil_numbers(message: Any, names: tuple[str, ...], rng: random.Random) -> Any:
    """Make one of these fields of numbers one that may not be: not finite, or of other length."""
    name = rng.choice(names)
    value = getattr(message, name)
    if isinstance(value, float):
        setattr(message, name, rng.choice(NUMBERS[:3]))
        return message
    numbers = array.array("d", value) or array.array("d", [0.0])
    if rng.random() < 0.5:
        numbers[rng.randrange(len(numbers))] = rng.choice(NUMBERS[:5])
    else:
        lengths = [length for length in LENGTHS if length != len(numbers)]
        numbers = array.array("d", [0.0] * rng.choice(lengths))
    setattr(message, name, numbers)
    return message


def broken(message: Any, rng: random.Random) -> bytes:
    """The bytes of a message, damaged on the way."""
    data = serialize_message(message)
    return rng.choice(BREAKS)(data, rng) or b"\0"


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _flipped(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _random(data: bytes, rng: random.Random) -> bytes:
    return data[:4] + rng.randbytes(rng.randrange(200))


def _noise(data: bytes, rng: random.Random) -> bytes:
    return rng.randbytes(rng.randrange(1, 200))


def _long(data: bytes, rng: random.Random) -> bytes:
    """A length that is far longer than the message."""
    changed, count = bytearray(data), len(data) // 4
    length = rng.choice((0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0x10000000, 65536))
    struct.pack_into("<I", changed, 4 * rng.randrange(1, max(count, 2)), length)
    return bytes(changed)


BREAKS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _cut,
    _flipped,
    _random,
    _noise,
    _long,
)


def _places(message: Any) -> Any:
    """Every field that is no message itself: the message it is in, its name and type."""
    for name, form in message.get_fields_and_field_types().items():
        value = getattr(message, name)
        if hasattr(value, "get_fields_and_field_types"):
            yield from _places(value)
        else:
            yield message, name, form


def _hostile(form: str, rng: random.Random) -> Any:
    """A value of this type that is seldom sent; None where we know of none."""
    if form.startswith("sequence<"):
        return _many(form.removeprefix("sequence<").partition(",")[0].rstrip(">"), rng)
    if "[" in form:
        return None
    if form in ("string", "wstring"):
        return HUGE_TEXT if rng.random() < 0.005 else rng.choice(TEXTS)
    if form in ("double", "float"):
        return rng.choice(NUMBERS if form == "double" else SINGLES)
    if form == "boolean":
        return rng.random() < 0.5
    if form in SIGNED:
        top = 1 << (SIGNED[form] - 1)
        return rng.choice((0, -1, top - 1, -top, rng.randrange(-top, top)))
    if form in BITS:
        top = 1 << BITS[form]
        return rng.choice((0, 1, top - 1, top // 2, rng.randrange(top)))
    return None


def _many(form: str, rng: random.Random) -> Any:
    count = rng.choice(LENGTHS)
    if form in CODES:
        values = [_hostile(form, rng) for _ in range(min(count, 16))] or [0]
        return array.array(CODES[form], (values * (count // len(values) + 1))[:count])
    if form == "string":
        return [rng.choice(TEXTS) for _ in range(min(count, 100))]
    if "/" in form:
        package, name = form.split("/")
        kind = getattr(import_module(f"{package}.msg"), name)
        return [spoil(kind(), rng) for _ in range(min(count, 8))]
    return None
