"""Messages and bytes that nobody should be sent."""

from __future__ import annotations

import array
import importlib
import math
import struct
from collections.abc import Iterator

import numpy as np
from rclpy.serialization import serialize_message

from bayes_curiosity_ros.nodes.bounds import FLOATS, Field
from bayes_curiosity_ros.nodes.descriptions import description_of

NUMBERS = (math.nan, math.inf, -math.inf, 1e300, -1e300)
TEXTS = ("x" * 5000, "ä" * 300, "../../etc/passwd", "line\nline", "")
LENGTHS = (0, 1, 7, 65, 1001)
TYPECODES = {"float": "f", "double": "d", "uint8": "B", "octet": "B"}
BITS = {"boolean": 1, "octet": 8}


def set_field(message: object, name: str, value: object) -> None:
    """Set a field of a message, or of a message in it, without rclpy's own checks."""
    *path, last = name.split(".")
    for part in path:
        message = getattr(message, part)
    setattr(message, f"_{last}", value)


def hostile(kind: type, rng: np.random.Generator, fields: int = 3) -> object:
    """A message with extremes in some of its fields."""
    message, described = kind(), description_of(kind).fields
    for index in rng.integers(len(described), size=fields if described else 0):
        field = described[index]
        set_field(message, field.name, _value(field, rng))
    return message


def _value(field: Field, rng: np.random.Generator) -> object:
    if not field.many:
        return _element(field.element, rng)
    if "[" in field.form:
        return np.full(int(field.form.split("[")[1][:-1]), rng.choice(NUMBERS))
    values = [_element(field.element, rng) for _ in range(int(rng.choice(LENGTHS)))]
    if field.element not in TYPECODES:
        return values
    return array.array(TYPECODES[field.element], values)


def _element(form: str, rng: np.random.Generator) -> object:
    if form in FLOATS:
        return float(rng.choice(NUMBERS[:3] if form == "float" else NUMBERS))
    if form == "string":
        return str(rng.choice(TEXTS))
    if "/" in form:
        package, name = form.split("/")
        return getattr(importlib.import_module(f"{package}.msg"), name)()
    if form == "boolean":
        return bool(rng.integers(2))
    bits = BITS.get(form) or int(form.lstrip("uint"))
    top = 2**bits - 1 if form.startswith("u") or form in BITS else 2 ** (bits - 1) - 1
    return int(rng.choice(np.array([0, 1, top // 2, top], dtype=object)))


def broken(message: object, rng: np.random.Generator) -> Iterator[bytes]:
    """Bytes that nearly are this message."""
    whole = serialize_message(message)
    yield from (b"", b"\x00", whole[:3], whole[:4], rng.bytes(64), b"\x00\x01\x00\x00")
    yield b"\x07\x07\x07\x07" + whole[4:]
    for cut in rng.integers(4, max(len(whole), 5), size=4):
        yield whole[:cut]
    for at in rng.integers(1, max(len(whole) // 4, 2), size=8):
        length = struct.pack("<I", int(rng.choice([0xFFFFFFFF, 0x7FFFFFFF, 1 << 20, 3])))
        yield whole[: 4 * at] + length + whole[4 * at + 4 :]
