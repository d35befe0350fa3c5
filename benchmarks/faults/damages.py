"""Damage to a file's bytes, as disks, crashes and people do it."""

from __future__ import annotations

import random
from collections.abc import Callable

BLOCK = 512


def _flip(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _zero(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data))
    size = min(BLOCK, len(data) - start)
    return data[:start] + bytes(size) + data[start + size :]


def _noise(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data))
    size = min(rng.randint(1, BLOCK), len(data) - start)
    return data[:start] + rng.randbytes(size) + data[start + size :]


def _gone(data: bytes, rng: random.Random) -> bytes:
    """A stretch in the middle is missing."""
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.randint(1, BLOCK) :]


def _doubled(data: bytes, rng: random.Random) -> bytes:
    """What comes after a place comes again."""
    return data + data[rng.randrange(len(data)) :]


# Single bits are the ones that are hardest to notice: half of all damages.
DAMAGES: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "flip": _flip,
    "cut": _cut,
    "zero": _zero,
    "noise": _noise,
    "gone": _gone,
    "doubled": _doubled,
}
NAMES = ("flip",) * 5 + tuple(name for name in DAMAGES if name != "flip")
SWAPPED = "swapped"


def damaged(data: bytes, rng: random.Random, others: list[bytes]) -> tuple[str, bytes]:
    """A damaged copy, and what was done to it.

    Args:
        data: the file.
        rng: says what, and where.
        others: files of other kinds, one of which may be in its place.
    """
    if others and rng.random() < 0.05:
        return SWAPPED, rng.choice(others)
    name = rng.choice(NAMES)
    return name, DAMAGES[name](data, rng)
